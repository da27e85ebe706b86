"""A call ends within its timeout and a grace, as long as nothing is in its way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.every_run.timeouts import NEVER_RETURNED, check_timeouts
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded

DUE = 1000 + 200  # called at 1 s, with a timeout of 0.2 s


def waiting(recorded=None, until=9000):
    """c0 calls at 1 s with a timeout of 0.2 s, and the call ends at ``until``."""
    recorded = (recorded or Recorded(2)).session(0, 0, "connected", session="0x1")
    recorded.session(0, 1, "connected", session="0x2")
    recorded.add(1000, 0, "invoke", "acquire", {"timeout": 0.2})
    if until is not None:
        recorded.add(until, 0, "fail", "acquire", error="timed out")
    return recorded.end(12000)


def overdue(recorded, **more):
    return check_timeouts(laid_out(recorded.history()), **more).anomalies


def fault(recorded, begun, ended, kind="kill", target="n1"):
    value = {"id": len(recorded.ops), "kind": kind, "targets": [target], "verified": True}
    recorded.add(begun, "nemesis", "invoke", "start", value)
    recorded.add(begun + 1, "nemesis", "info", "start", value)
    recorded.add(ended - 1, "nemesis", "invoke", "stop", value)
    return recorded.add(ended, "nemesis", "info", "stop", value)


def test_a_call_may_take_its_timeout_and_the_grace():
    assert overdue(waiting(until=DUE + 2500)) == []
    (anomaly,) = overdue(waiting(until=DUE + 2501))
    assert (anomaly.kind, anomaly.clients, anomaly.length_ms) == ("overdue-call", [0], 2501)


def test_a_call_that_never_ended_is_overdue():
    assert len(overdue(waiting(until=None))) == 1


def test_only_calls_with_a_timeout_are_asked():
    recorded = Recorded().add(0, 0, "invoke", "release").add(9000, 0, "ok", "release")
    assert overdue(recorded.end(9000)) == []


@pytest.mark.parametrize(
    "disturb",
    [
        lambda r: fault(r, 1100, 8000),
        lambda r: fault(r, 1100, 8000, "client-partition", "c0"),
        lambda r: r.session(1100, 0, "paused").session(8000, 0, "resumed"),
        lambda r: r.session(1100, 0, "suspended").session(8000, 0, "connected", session="0x1"),
        lambda r: r.session(1100, 0, "lost"),
        lambda r: r.add(1100, "control", "info", "leader", {"leader": None}).add(
            8000, "control", "info", "leader", {"leader": "n1"}
        ),
    ],
    ids=["servers", "own link", "frozen", "suspended", "never back", "no leader"],
)
def test_what_was_in_the_way_excuses(disturb):
    assert overdue(disturb(waiting())) == []


@pytest.mark.parametrize("kind", ["client-partition", "client-pause", "client-kill"])
def test_a_fault_on_another_client_does_not(kind):
    assert len(overdue(fault(waiting(), 1100, 8000, kind, "c1"))) == 1


def test_a_calm_stretch_in_between_is_long_enough_to_give_up():
    recorded = fault(fault(waiting(), 1100, 3000), 5600, 8900)
    (anomaly,) = overdue(recorded)
    assert (anomaly.start, anomaly.end) == (3000 * MS, 5600 * MS)
    assert overdue(fault(fault(waiting(), 1100, 3000), 5500, 8900)) == []


def test_who_was_never_connected_waits_for_ever():
    recorded = Recorded(2).session(11000, 0, "connected", session="0x1")
    recorded.add(1000, 0, "invoke", "acquire", {"timeout": 0.2})
    assert overdue(recorded.add(9000, 0, "fail", "acquire").end(12000)) == []


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=5))
def test_the_longest_calm_stretch_is_that_of_the_definition(gaps_and_lengths):
    recorded, pauses, at = waiting(), [], 0
    for gap, length in gaps_and_lengths:
        pauses.append((at := at + gap, at := at + length))
        recorded.session(100 * pauses[-1][0], 0, "paused").session(100 * at, 0, "resumed")
    calm = [
        not any(100 * begun <= at < 100 * ended for begun, ended in pauses)
        for at in range(DUE, 9000, 100)
    ]
    longest = max(map(len, "".join("x" if c else " " for c in calm).split()), default=0)
    assert bool(overdue(recorded)) == (longest * 100 > 2500)


@pytest.mark.parametrize(
    ("until", "error", "early"),
    [
        (1000 + 100, "timed out", True),
        (1000 + 349, "timed out", True),
        (1000 + 351, "timed out", False),
        (1000 + 100, "not held", False),
    ],
)
def test_a_call_whose_time_was_up_has_taken_it(until, error, early):
    recorded = Recorded().add(1000, 0, "invoke", "acquire", {"timeout": 0.5})
    found = overdue(recorded.add(until, 0, "fail", "acquire", error=error).end(2000))
    assert [(anomaly.kind, anomaly.clients) for anomaly in found] == [
        ("early-timeout", [0])
    ] * early


def test_no_fault_makes_the_time_of_a_call_shorter():
    recorded = fault(waiting(until=1050), 900, 1100)
    assert [anomaly.kind for anomaly in overdue(recorded)] == ["early-timeout"]


def endless(recorded):
    recorded = recorded.session(0, 0, "connected", session="0x1").add(1000, 0, "invoke", "release")
    error = f"{NEVER_RETURNED} after 45 s"
    return recorded.add(46_000, 0, "info", "release", error=error).end(47_000)


def test_a_call_without_a_timeout_that_had_to_be_given_up_is_overdue():
    (anomaly,) = overdue(endless(Recorded(1)))
    assert (anomaly.kind, anomaly.clients, anomaly.length_ms) == ("overdue-call", [0], 45_000)
    assert "c0's release, called at 1.000 s, did not return" in anomaly.description


def test_what_was_in_the_way_of_an_endless_call_excuses_it():
    recorded = fault(Recorded(1).session(0, 0, "connected", session="0x1"), 15_000, 30_000)
    assert overdue(endless(recorded)) == []


def test_a_call_whose_client_a_fault_killed_is_not_endless():
    recorded = Recorded(1).session(0, 0, "connected", session="0x1")
    recorded.add(1000, 0, "invoke", "release")
    recorded.add(46_000, 0, "info", "release", error="the client was killed")
    assert overdue(recorded.end(47_000)) == []
