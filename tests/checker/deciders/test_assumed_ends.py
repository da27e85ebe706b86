"""Holds that nobody released, in sessions that may have ended, or are known to."""

from itertools import chain

import pytest

import rumpus
from rumpus.checker.deciders.registry import MODELS

LOCKS = {
    "mutex": None,
    "reentrant-mutex": None,
    "semaphore": 1,
    "fenced-mutex": None,
    "leader-election": None,
}


def call(process, f, answer=None, value=None):
    return [
        {"process": process, "type": "invoke", "f": f, "value": value},
        {"process": process, "type": "ok", "f": f, "value": answer},
    ]


def acquire(process, session, token=None):
    return call(process, "acquire", {"session": session} | ({"token": token} if token else {}))


def told(f, session=None, client=0):
    """What a client learned of its session."""
    value = {"client": client} | ({"session": session} if session else {})
    return [{"process": "session", "type": "info", "f": f, "value": value}]


def outcome(model, *parts):
    return rumpus.check([*chain(*parts)], model, initial=LOCKS.get(model))


BOTH = (acquire(0, "0x1", 1), acquire(1, "0x2", 2), call(0, "work"), call(1, "work"))


@pytest.mark.parametrize("model", LOCKS)
def test_a_hold_that_nobody_released_is_not_taken_to_have_ended(model):
    found = outcome(model, *BOTH)
    assert found.outcome == "unknown"
    assert "session 0x1 of process 0" in found.reasons[0]
    assert "else it is a violation: " in found.reasons[0]


@pytest.mark.parametrize("model", LOCKS)
@pytest.mark.parametrize(
    "ending",
    [
        told("lost", "0x1"),
        told("closed", "0x1"),
        told("connected", "0x1") + told("exited"),
        told("connected", "0x1") + told("connected", "0x3"),
        call(0, "work", {"session": "0x3"}),
    ],
)
def test_a_session_that_is_known_to_have_ended_took_its_hold_along(model, ending):
    assert outcome(model, *BOTH, ending).outcome == "valid"


@pytest.mark.parametrize("model", LOCKS)
def test_a_session_that_is_named_later_had_not_ended(model):
    alive = call(0, "work", {"session": "0x1"})
    assert outcome(model, *BOTH, alive).outcome == "violation"
    assert outcome(model, *BOTH, alive, told("lost", "0x1")).outcome == "violation"


@pytest.mark.parametrize("model", ["mutex", "leader-election"])
def test_a_second_grant_without_a_session_does_not_end_the_first(model):
    found = outcome(model, acquire(0, "0x1"), call(0, "acquire"))
    assert found.outcome == "unknown"
    assert "session 0x1" in found.reasons[0]


def test_the_end_of_another_session_says_nothing():
    assert outcome("mutex", *BOTH, told("lost", "0x2", client=1)).outcome == "unknown"
    assert outcome("mutex", *BOTH, told("connected", "0x1")).outcome == "unknown"


def test_a_session_that_another_process_goes_on_in_has_not_ended():
    shared = [*acquire(0, "0x1"), *call(0, "work", {"session": "0x3"})]
    alive = call(2, "work", {"session": "0x1"})
    assert outcome("mutex", shared, acquire(1, "0x2")).outcome == "valid"
    assert outcome("mutex", shared, alive, acquire(1, "0x2")).outcome == "unknown"


def test_a_leader_that_learned_of_its_end():
    leads = call(0, "campaign", {"session": "0x1"}), call(1, "campaign", {"session": "0x2"})
    assert outcome("leader-election", *leads).outcome == "unknown"
    assert outcome("leader-election", *leads, call(0, "lost")).outcome == "valid"


def test_members_of_a_barrier_vanish_with_sessions_that_ended():
    enters = [
        {"process": process, "type": kind, "f": "enter", "value": {"session": f"0x{process}"}}
        for kind in ("invoke", "ok")
        for process in (0, 1)
    ]
    left = [*enters, *call(0, "leave")]
    assert rumpus.check(left, "double-barrier", initial=2).outcome == "unknown"
    left += told("lost", "0x1", client=1)
    assert rumpus.check(left, "double-barrier", initial=2).outcome == "valid"


def test_released_holds_need_no_end_of_a_session():
    held = [*acquire(0, "0x1", 1), *call(0, "release"), *acquire(1, "0x2", 2)]
    for model in LOCKS:
        assert outcome(model, held).outcome == "valid"


def test_every_model_that_knows_expiry_is_held_to_it():
    expiring = {name for name, entry in MODELS.items() if entry.expires}
    assert expiring == {*LOCKS, "read-write-lock", "double-barrier"}


@pytest.mark.parametrize("model", LOCKS)
@pytest.mark.parametrize("ending", [told("closed", "0x1"), told("lost", "0x1")])
def test_a_session_that_is_used_after_its_end_was_told_has_not_ended(model, ending):
    """Whoever tells it: an answer that names the session later shows that it lived."""
    assert outcome(model, ending, *BOTH).outcome == "unknown"
    assert outcome(model, BOTH[0], ending, *BOTH[1:]).outcome == "valid"


RESUMED = (
    told("connected", "0x1"),
    *BOTH[:2],
    told("suspended", "0x1"),
    told("connected", "0x1"),
    call(1, "release"),
)


@pytest.mark.parametrize("model", LOCKS)
def test_a_session_that_is_resumed_had_not_ended_before(model):
    """It is lost much later, which does not excuse the grant to another before."""
    held = RESUMED[:5] if model == "leader-election" else RESUMED
    found = outcome(model, *held, told("lost", "0x1"))
    assert found.outcome == "unknown"
    assert "connected again in sessions" in found.reasons[0]
    assert "(0x1)" in found.reasons[0]


@pytest.mark.parametrize("model", LOCKS)
def test_a_resumed_session_may_end_later(model):
    before = told("suspended", "0x1"), told("connected", "0x1"), told("lost", "0x1")
    parts = acquire(0, "0x1", 1), *before, acquire(1, "0x2", 2)
    assert outcome(model, told("connected", "0x1"), *parts).outcome == "valid"


def test_of_each_lock_a_resumed_session_is_known():
    def of(key, *parts):
        return [{**r, "value": {**(r["value"] or {}), "key": key}} for r in chain(*parts)]

    again = told("suspended", "0x1"), told("connected", "0x1"), told("lost", "0x1")
    connected, other = told("connected", "0x1"), of("b", acquire(0, "0x1"), call(0, "release"))
    held = of("a", acquire(0, "0x1"), acquire(1, "0x2"), call(1, "release"))
    assert outcome("mutex", connected, held, other, *again).outcome == "unknown"
    assert outcome("mutex", connected, held[:2], other, *again, held[2:]).outcome == "valid"


@pytest.mark.parametrize("model", LOCKS)
@pytest.mark.parametrize("before", [[], told("connected", "0x1")])
def test_another_client_cannot_tell_the_end_of_a_session(model, before):
    lost = told("lost", "0x1", client=1)
    assert outcome(model, before, *BOTH, lost).outcome == "unknown"
