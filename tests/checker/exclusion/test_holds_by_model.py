"""Holds by a model: what certainly overlaps is refused, and no hold outlives its session."""

import pytest

from rumpus.checker.deciders.agreement.leader_election import LEADER_ELECTION
from rumpus.checker.deciders.locks.fenced_mutex import FENCED_MUTEX
from rumpus.checker.deciders.locks.mutex import MUTEX
from rumpus.checker.deciders.locks.read_write_lock import READ_WRITE_LOCK
from rumpus.checker.deciders.locks.semaphore import SEMAPHORE
from rumpus.checker.exclusion.holds_by_model import judge_holds_by_model
from rumpus.checker.timeline.holds import Words, extract_holds
from tests.checker.recorded import Recorded


def found(recorded, entry=MUTEX, **options):
    history = recorded.end(90).history()
    return judge_holds_by_model(history, extract_holds(history, Words()), entry, **options)


def kinds(recorded, entry=MUTEX, **options):
    return [anomaly.kind for anomaly in found(recorded, entry, **options).anomalies]


def node(number):
    return {"node": f"/lock/x-{number:010d}", "token": number}


def both_at_once(mode=None, session="0x1"):
    """c0 and c1 hold from 3 to 8, and are granted once more, c0 in another session if given."""
    recorded = Recorded(2)
    for process, called, returned in ((0, 1, 2), (1, 1, 3)):
        value = None if mode is None else {"mode": mode}
        recorded.add(called, process, "invoke", "acquire", value)
        granted = {"session": f"0x{process + 1}", **node(process + 1)}
        recorded.add(returned, process, "ok", "acquire", granted)
    recorded.release(8, 9, 0).release(8, 9, 1)
    recorded.acquire(10, 11, 0, session=session, **node(3)).release(12, 13, 0)
    return recorded.acquire(14, 15, 1, **node(4)).release(16, 17, 1)


@pytest.mark.parametrize("entry", [MUTEX, FENCED_MUTEX, LEADER_ELECTION, SEMAPHORE])
def test_two_who_hold_at_once_in_sessions_that_live_on_are_split_brain(entry):
    (anomaly,) = found(both_at_once(), entry, tokens=True).anomalies
    assert anomaly.kind == "split-brain"
    assert anomaly.clients == [0, 1]
    assert "c0" in anomaly.description
    assert "process" not in anomaly.description


def test_as_many_may_hold_as_there_are_permits():
    assert kinds(both_at_once(), SEMAPHORE, permits=2) == []


def test_readers_hold_beside_each_other_and_writers_do_not():
    assert kinds(both_at_once("read"), READ_WRITE_LOCK) == []
    assert kinds(both_at_once("write"), READ_WRITE_LOCK) == ["split-brain"]


def test_a_session_that_gives_no_sign_of_life_may_have_ended_before():
    assert kinds(both_at_once(session="0x9")) == []


def test_a_hold_that_its_client_lost_is_held_no_longer_though_nobody_released_it():
    recorded = Recorded(2).acquire(1, 2, 0, **node(1)).session(5, 0, "doubts")
    recorded.release(7, 8, 0, "fail").acquire(3, 6, 1, **node(2)).release(9, 10, 1)
    recorded.acquire(11, 12, 0, **node(3)).release(13, 14, 0)
    assert kinds(recorded.acquire(15, 16, 1, **node(4))) == []


def test_a_client_that_died_holds_no_longer():
    recorded = Recorded(2).acquire(1, 2, 0, **node(1)).session(5, 0, "exited")
    recorded.acquire(3, 6, 1, **node(2)).release(9, 10, 1)
    result = found(recorded.acquire(15, 16, 1, **node(4)).release(17, 18, 1))
    assert result.anomalies == []
    assert result.stats == {"model": "mutex", "holds": 3, "decided": True}


def test_a_grant_for_which_there_was_no_moment_is_refused_however_short_its_hold_was():
    recorded = Recorded(2).acquire(1, 2, 0, **node(1)).acquire(4, 5, 1, **node(2))
    recorded.release(8, 9, 0).acquire(10, 11, 0, **node(3))
    assert kinds(recorded) == ["split-brain"]


def test_a_lower_token_after_a_higher_one_is_a_regression():
    recorded = Recorded(2).acquire(1, 2, 0, **node(7)).release(3, 4, 0)
    recorded.acquire(5, 6, 1, **node(5)).release(7, 8, 1)
    assert kinds(recorded, MUTEX, tokens=True) == []
    assert kinds(recorded, FENCED_MUTEX, tokens=True) == ["token-regression"]


def test_a_grant_that_names_no_node_or_the_same_one_again_proves_nothing():
    recorded = Recorded(2).acquire(1, 2, 0, node=None).acquire(1, 3, 1, **node(2))
    recorded.release(8, 9, 0).release(8, 9, 1).acquire(10, 11, 0, node=None).release(12, 13, 0)
    recorded.acquire(14, 15, 1, **node(2)).release(16, 17, 1)
    result = found(recorded)
    assert result.anomalies == []
    assert result.stats["holds"] == 1
