"""A host that was late, and the promises about time that failed meanwhile."""

import pytest

from rumpus.checker.every_run.late_host import leave_undecided
from rumpus.checker.every_run.timeouts import OVERDUE_CALL
from rumpus.checker.exclusion.mutual_exclusion import SPLIT_BRAIN
from rumpus.checker.timeline.host import Host, measure_host
from rumpus.checker.verdict import Anomaly, CheckResult
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

S = 10**9


def history(*windows):
    """Of each window: its start and end in s, how late the host was in ms, and its queue."""
    recorded = Recorded()
    for start, end, late, *queue in windows:
        value = {"since": start * S, "late_ms": late, "queue": queue[0] if queue else None}
        recorded.add(end * 1000, "control", "info", "host", value)
    return recorded.history()


def overdue(start, end, kind="overdue-call", length_ms=None):
    anomaly = Anomaly(kind=kind, description="it went on", start=start * S, end=end * S)
    anomaly.length_ms = length_ms
    return anomaly


CALM = (0, 10, 3.0), (10, 20, 60.0), (20, 30, 9.0)
LATE = (0, 10, 3.0, 1.0), (10, 11, 180.0, 4.0), (11, 12, 30.0, 16.5), (12, 30, 9.0, 1.0)


KINDS = {each.name: each for each in (OVERDUE_CALL, SPLIT_BRAIN)}


def left(run, *anomalies, promised=tuple(KINDS)):
    check = CheckResult(name="timeouts", anomalies=list(anomalies), kinds=KINDS)
    leave_undecided(laid_out(run), [check], promised)
    return check


@pytest.mark.parametrize(
    ("windows", "anomaly", "undecided"),
    [
        (LATE, overdue(10, 12), True),
        (LATE, overdue(12, 13), True),  # the second before counts
        (LATE, overdue(9, 13), True),
        (LATE, overdue(9, 14), False),  # late for less than a fifth of its time
        (LATE, overdue(20, 22), False),
        (CALM, overdue(10, 12), False),
        ((), overdue(10, 12), False),
        (((0, 30, 500.0, 20.0),), overdue(0, 21), False),  # no host explains that
        (((0, 30, 500.0, 20.0),), overdue(0, 21, length_ms=2000.0), True),
        (LATE, overdue(10, 12, "split-brain"), False),  # no promise about time
    ],
)
def test_what_a_late_host_explains(windows, anomaly, undecided):
    check = left(history(*windows), anomaly)
    assert check.anomalies == ([] if undecided else [anomaly])
    assert len(check.unknown) == undecided


def test_it_says_how_many_and_by_how_much():
    check = left(history(*LATE), overdue(10, 12), overdue(11, 12), overdue(20, 22))
    assert [each.start for each in check.anomalies] == [20 * S]
    (why,) = check.unknown
    assert "2 overdue-call while the host was too busy" in why
    assert why.endswith("the first: it went on")


def test_hazards_stay_hazards():
    check = left(history(*LATE), overdue(10, 12), promised=())
    assert len(check.anomalies) == 1
    assert check.unknown == []


def measured(*windows):
    return measure_host(laid_out(history(*windows)).host)


def test_how_the_host_did():
    assert measured() is None
    assert measured(*LATE) == Host(late_s=2.0, measured_s=30.0, worst_ms=180.0, queue=1.6)
    assert measured((0, 5, 1.0)).queue is None
