import pytest

from rumpus.checker.families.missed_changes import check_missed_changes
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

KEY = {"key": "a", "version": 3, "timeout": 10.0}


def run(*, version=4, written=1000, gave_up=8000, called=0, outcome="fail", seen=4, session=()):
    recorded = Recorded(2)
    recorded.session(0, 0, "connected")
    recorded.add(called, 0, "invoke", "await", KEY)
    events = [(written, "write"), *((ms, f) for ms, f in session)]
    for ms, f in sorted(events):
        if f == "write":
            recorded.add(ms - 1, 1, "invoke", "write", {"key": "a", "value": "x"})
            recorded.add(ms, 1, "ok", "write", {"key": "a", "version": version})
        else:
            recorded.session(ms, 0, f)
    told = {"key": "a", "version": seen} if outcome == "ok" else KEY
    error = "timed out" if outcome == "fail" else None
    recorded.add(gave_up, 0, outcome, "await", told, error=error)
    return [
        each.kind
        for each in check_missed_changes(
            laid_out(recorded.end(9000).history()), bound_s=5.0
        ).anomalies
    ]


def test_who_waits_on_long_after_the_change_has_missed_it():
    assert run() == ["missed-event"]


@pytest.mark.parametrize(
    "harmless",
    [
        {"version": 3},
        {"written": 4000},
        {"called": 4000},
        {"outcome": "ok"},
        {"outcome": "info"},
        {"session": [(5000, "suspended"), (5100, "connected")]},
        {"session": [(4000, "paused"), (6000, "resumed")]},
    ],
    ids=str,
)
def test_who_has_an_excuse_has_not(harmless):
    assert run(**harmless) == []


def test_a_connection_that_changed_long_before_is_no_excuse():
    assert run(session=[(1500, "suspended"), (2000, "connected")]) == ["missed-event"]


def test_who_is_told_of_a_change_that_was_not_made():
    assert run(outcome="ok", seen=3) == ["false-event"]
    assert run(outcome="ok", seen=5) == []
