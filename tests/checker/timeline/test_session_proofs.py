"""Grants prove that sessions lived, and no more than they prove."""

from rumpus.checker.exclusion.mutual_exclusion import judge_exclusion
from rumpus.checker.timeline.holds import Words, extract_holds
from rumpus.checker.timeline.session_proofs import lives_by_grants
from tests.checker.recorded import Recorded


def node(number):
    return f"/lock/x-{number:010d}"


def both_at_once():
    recorded = Recorded(2)
    recorded.acquire(1, 2, 0, node=node(1), token=1).acquire(1, 3, 1, node=node(2), token=2)
    return recorded.release(8, 9, 0).release(8, 9, 1)


def found(recorded):
    history = recorded.end(90).history()
    holds = extract_holds(history, Words())
    result = judge_exclusion(history, holds, lives_by_grants(holds))
    return [anomaly.kind for anomaly in result.anomalies], len(result.unknown)


def test_two_who_hold_at_once_and_are_granted_again_in_their_sessions_both_lived():
    recorded = both_at_once().acquire(10, 11, 0, node=node(3), token=3).release(12, 13, 0)
    recorded.acquire(14, 15, 1, node=node(4), token=4).release(16, 17, 1)
    assert found(recorded) == (["split-brain"], 0)


def test_without_another_grant_nobody_can_tell():
    assert found(both_at_once()) == ([], 1)
    recorded = both_at_once().acquire(10, 11, 0, node=node(3), token=3).release(12, 13, 0)
    assert found(recorded) == ([], 1)


def test_a_grant_in_another_session_or_of_the_same_node_proves_nothing():
    for again in (
        {"node": node(4), "token": 4, "session": "0xffff"},
        {"node": node(2), "token": 2},
        {"node": None, "token": 4},
    ):
        recorded = both_at_once().acquire(10, 11, 0, node=node(3), token=3).release(12, 13, 0)
        recorded.acquire(14, 15, 1, **again).release(16, 17, 1)
        assert found(recorded) == ([], 1), again


def test_what_is_known_ends_with_the_last_call():
    recorded = both_at_once().acquire(10, 11, 0, node=node(3), token=3)
    view = lives_by_grants(extract_holds(recorded.end(90).history(), Words()))
    assert view.tells("0x1", 9_999_999)
    assert not view.tells("0x1", 10_000_000)
    assert not view.tells("0x3", 0)
