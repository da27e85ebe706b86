import pytest

from rumpus.checker.exclusion.overdue import BOUND_NS, check_overdue
from rumpus.checker.timeline.holds import Words
from rumpus.checker.timeline.ownership import Ownership, ServerView
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded

WORDS = Words()
NODE = "/l/a-contender-0000000001"
LATE = BOUND_NS // MS


def waited(until, outcome="fail"):
    """c0 calls at 100 ms; its node owns on the server from 1000 ms on."""
    recorded = Recorded().session(0, 0, "connected", session="0x1")
    return recorded.add(100, 0, "invoke", "acquire").add(until, 0, outcome, "acquire")


def kinds(recorded, *, end=None, turns=True):
    owner = Ownership(
        path=NODE, session="0x1", czxid=5, created=110 * MS, start=1000 * MS, grant=7, end=end
    )
    view = ServerView(owners=[owner], turns={NODE: owner.start} if turns else {})
    return [
        a.kind
        for a in check_overdue(laid_out(recorded.history(), servers=view, words=WORDS)).anomalies
    ]


@pytest.mark.parametrize("outcome", ["ok", "fail", "info"])
def test_who_waits_on_long_after_its_turn_came_is_stuck(outcome):
    assert kinds(waited(1000 + LATE, outcome)) == []
    assert kinds(waited(1001 + LATE, outcome)) == ["stuck-waiter"]


def test_nothing_is_judged_without_the_servers_whole_logs():
    assert (
        check_overdue(laid_out(waited(9000).history(), servers=None, words=WORDS)).anomalies == []
    )
    assert kinds(waited(9000), turns=False) == []


def test_a_wait_ends_when_the_node_is_gone():
    assert kinds(waited(9000), end=1500 * MS) == []
    assert kinds(waited(9000), end=(1001 + LATE) * MS) == ["stuck-waiter"]


def test_a_node_of_an_earlier_attempt_is_nobodys_turn():
    recorded = Recorded().session(0, 0, "connected", session="0x1")
    recorded.add(100, 0, "invoke", "acquire").add(200, 0, "fail", "acquire")
    recorded.add(300, 0, "invoke", "acquire").add(9000, 0, "fail", "acquire")
    assert kinds(recorded) == []


def test_time_counts_from_when_the_last_hindrance_was_over():
    def fault(recorded, start, stop):
        recorded.add(start, "nemesis", "invoke", "start", {"id": 1, "kind": "kill"})
        recorded.add(start + 1, "nemesis", "info", "start", {"id": 1, "kind": "kill"})
        recorded.add(stop - 1, "nemesis", "invoke", "stop", {"id": 1, "kind": "kill"})
        return recorded.add(stop, "nemesis", "info", "stop", {"id": 1, "kind": "kill"})

    until = 1500 + LATE
    assert kinds(waited(until)) == ["stuck-waiter"]
    assert kinds(fault(waited(until), 500, 1400)) == ["stuck-waiter"]
    assert kinds(fault(waited(until), 500, 1600)) == []
    assert kinds(fault(waited(until), 1700, 1800)) == []
    assert kinds(waited(until).session(1600, 0, "suspended")) == []
    again = waited(until).session(1600, 0, "suspended")
    assert kinds(again.session(1700, 0, "connected", session="0x1")) == []
    assert kinds(waited(until).session(1600, 0, "paused").session(1700, 0, "resumed")) == []
