"""Which mistake is decisive, and whose a mistake in a simulated run is."""

import msgspec
import pytest

from benchmarks.mistakes import MS, Told, decisive, failure_of, mistakes_told
from benchmarks.stories import CASES
from rumpus.campaigns.case import load_case
from rumpus.campaigns.trial_task import perform
from rumpus.checker.history import History, Op
from rumpus.checker.verdict import Anomaly
from rumpus.recipes.mistake import Mistake, made

CASE = CASES / "lock" / "refuses-reentry.case.json"


def test_a_listener_hears_client_and_time_in_a_simulated_run():
    case = load_case(CASE)
    case = msgspec.structs.replace(case, settings={**case.settings, "preemption": "none"})
    failure = failure_of(case)
    assert failure is not None
    act = failure.act
    assert act is not None
    assert act.client in failure.anomaly.clients
    called, returned = act.lasted
    assert called <= act.time <= returned
    assert act.operation.invoke.f == "acquire"


def test_a_run_is_the_same_whether_somebody_listens_or_not():
    """Countdown's mistake is a question of the clock, and to read one takes virtual time."""
    task = load_case(CASE.with_name("countdown.case.json")).task()
    with mistakes_told() as told:
        listened = perform(task)
    assert told
    assert listened.digest == perform(task).digest


def test_mistakes_outside_of_simulated_runs_are_refused():
    with mistakes_told(), pytest.raises(RuntimeError, match="simulated"):
        made()


def history(*operations):
    """Operations of two clients: process, when called, when returned (ms), what was returned."""
    ops = []
    for process, called, returned, value in operations:
        for time, kind in ((called, "invoke"), (returned, "ok")):
            given = value if kind == "ok" else None
            ops.append(Op(time=time * MS, process=process, type=kind, f="act", value=given))
    ordered = sorted(ops, key=lambda op: op.time)
    numbered = [msgspec.structs.replace(op, index=at) for at, op in enumerate(ordered)]
    return History(numbered, clients=2)


CALLS = history(
    (0, 10, 20, None), (1, 30, 40, "/lock/b"), (0, 50, 60, None), (1, 70, 80, None)
)  # records 0 and 1, 2 and 3, 4 and 5, 6 and 7


def told(client, time, *about, lasting=False, own=False):
    return Told(client, time * MS, Mistake(about, lasting, own))


def anomaly(start, end, *ops, clients=(), description=""):
    return Anomaly(
        kind="split-brain",
        description=description,
        ops=list(ops),
        clients=list(clients),
        start=start * MS,
        end=end * MS,
    )


@pytest.mark.parametrize(
    ("mistakes", "shown", "when"),
    [
        pytest.param([], anomaly(30, 80), None, id="none was told"),
        pytest.param(
            [told(0, 12), told(1, 35), told(0, 90)], anomaly(36, 80), 35, id="the last before it"
        ),
        pytest.param(
            [told(0, 12), told(1, 35), told(0, 55)],
            anomaly(36, 80),
            35,
            id="later than its start cannot have caused it",
        ),
        pytest.param(
            [told(1, 35), told(0, 55)], anomaly(30, 80, 2), 35, id="in an operation that it cites"
        ),
        pytest.param(
            [told(0, 12, "/lock/b"), told(1, 35)],
            anomaly(50, 80, description="/lock/b had two holders"),
            12,
            id="about what it names",
        ),
        pytest.param(
            [told(0, 12, "/lock/b"), told(0, 55)],
            anomaly(50, 80, 2, 3),
            12,
            id="about what its records name",
        ),
        pytest.param(
            [told(0, 12, "4"), told(0, 55, 4)],
            anomaly(50, 80, description="not 40, but after 4 s"),
            55,
            id="a number is no text",
        ),
        pytest.param(
            [told(0, 12, "held", lasting=True), told(0, 55, "held", lasting=True)],
            anomaly(70, 80),
            12,
            id="a lasting one counts at its first time",
        ),
        pytest.param(
            [told(0, 12, own=True), told(1, 35, own=True)],
            anomaly(70, 80, clients=[0]),
            12,
            id="one that can only harm its own client",
        ),
        pytest.param(
            [told(1, 35), told(0, 80.5)],
            anomaly(80, 80),
            35,
            id="not just after it, if another is before",
        ),
        pytest.param(
            [told(1, 35), told(0, 80.5, "/lock/b")],
            anomaly(80, 80, description="/lock/b had two holders"),
            80.5,
            id="just after it, as logs have milliseconds",
        ),
        pytest.param(
            [told(1, 35), told(0, 50)],
            anomaly(20, 50, 3, 4),
            35,
            id="not in an operation with which it ended",
        ),
        pytest.param([told(0, 90), told(0, 95)], anomaly(70, 80), 90, id="else the first after it"),
        pytest.param([told(0, 12), told(0, 55)], anomaly(0, 0), 55, id="without a time"),
    ],
)
def test_the_decisive_mistake(mistakes, shown, when):
    act = decisive(mistakes, CALLS, shown)
    assert (None if act is None else act.time) == (None if when is None else when * MS)


def test_a_mistake_in_an_operation_that_overlaps_with_a_cited_one():
    calls = history((0, 10, 30, None), (1, 20, 40, None), (0, 50, 60, None))
    act = decisive([told(1, 35), told(0, 55)], calls, anomaly(36, 80, 0, 1))
    assert act.operation.indices == [1, 3]


def test_of_two_operations_that_touch_the_cited_one_is_meant():
    calls = history((0, 10, 20, None), (0, 20, 30, None))
    first, second = calls.operations()
    mistakes = [told(0, 20)]
    assert decisive(mistakes, calls, anomaly(30, 40)).operation == second
    assert decisive(mistakes, calls, anomaly(30, 40, 0, 1)).operation == first
