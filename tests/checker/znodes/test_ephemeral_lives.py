import pytest

from rumpus.checker.servers.server_truth import SessionLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.znodes.ephemeral_lives import check_ephemerals
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


class Truth:
    def __init__(self, **closed_ms):
        self._closed = closed_ms

    def sessions(self):
        return {
            session: SessionLife(session, 1, 0, 2000, closed_ms=closed)
            for session, closed in self._closed.items()
        }


CLOCK = WallClock([(0, 0)])


def op(recorded, start, end, process, f, value=None, *, outcome="ok", result=None):
    recorded.add(start, process, "invoke", f, value)
    return recorded.add(end, process, outcome, f, result)


def created(recorded, at=10, process=0, name="e", session="s0"):
    made = {"name": name, "session": session}
    return op(recorded, at, at + 1, process, "create", {"name": name}, result=made)


def looked(recorded, at=1000, process=1, session="s1", **owners):
    return op(recorded, at, at + 5, process, "look", result={"owners": owners, "session": session})


def kinds(recorded, **closed_ms):
    truth = Truth(**closed_ms) if closed_ms else None
    result = check_ephemerals(laid_out(recorded.end(9000).history(), truth=truth, clock=CLOCK))
    return [anomaly.kind for anomaly in result.anomalies]


def test_a_node_that_is_there_while_its_session_lives():
    assert kinds(looked(created(Recorded()), e="s0"), s0=None, s1=None) == []


def test_a_node_that_is_gone_while_its_session_lives():
    recorded = looked(created(Recorded()))
    assert kinds(recorded, s0=None, s1=None) == ["early-removal"]
    assert kinds(recorded, s0=1200, s1=None) == ["early-removal"]


@pytest.mark.parametrize("closed", [500, 1000, 1040])
def test_a_node_that_is_gone_when_its_session_is_or_may_be(closed):
    assert kinds(looked(created(Recorded())), s0=closed, s1=None) == []


def test_without_the_servers_logs_only_who_looks_is_known_to_live():
    assert kinds(looked(created(Recorded()))) == []
    assert kinds(looked(created(Recorded()), session="s0")) == ["early-removal"]


@pytest.mark.parametrize(("later", "found"), [(1006, ["early-removal"]), (1004, [])])
def test_without_the_servers_logs_an_answer_shows_that_its_session_lived_till_the_call(
    later, found
):
    recorded = looked(created(Recorded()))
    assert kinds(looked(recorded, later, 0, session="s0")) == found


def test_a_node_in_whose_place_stands_anothers():
    recorded = looked(created(Recorded()), e="s1")
    assert kinds(recorded, s0=None, s1=None) == ["early-removal"]


def test_a_node_that_another_could_make_again():
    recorded = created(created(Recorded()), at=500, process=1, session="s1")
    assert kinds(recorded, s0=None, s1=None) == ["early-removal"]
    assert kinds(recorded, s0=500, s1=None) == []


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_a_node_that_its_client_removed_or_may_have(outcome):
    recorded = created(Recorded())
    op(recorded, 20, 30, 0, "remove", {"name": "e"}, outcome=outcome)
    assert kinds(looked(recorded), s0=None, s1=None) == []


def test_a_removal_that_was_refused_is_none():
    recorded = created(Recorded())
    op(recorded, 20, 30, 0, "remove", {"name": "e"}, outcome="fail")
    assert kinds(looked(recorded), s0=None, s1=None) == ["early-removal"]


def test_a_node_that_was_made_while_somebody_looked():
    recorded = Recorded()
    recorded.add(1000, 1, "invoke", "look")
    created(recorded, at=1001)
    recorded.add(1005, 1, "ok", "look", {"owners": {}, "session": "s1"})
    assert kinds(recorded, s0=None, s1=None) == []


def test_a_node_that_is_there_after_its_session():
    recorded = looked(created(Recorded()), e="s0")
    assert kinds(recorded, s0=500, s1=None) == ["lingering-ephemeral"]
    assert kinds(recorded, s0=980, s1=None) == [], "the clocks may differ by as much"


def test_a_node_that_is_nobodys():
    assert kinds(looked(Recorded(), e=None)) == ["lingering-ephemeral"]


def test_what_is_answered_in_a_session_that_had_ended():
    assert "revived-session" in kinds(created(Recorded(), at=800), s0=500)
    assert kinds(created(Recorded(), at=800), s0=790) == []
    assert "revived-session" in kinds(looked(Recorded()), s1=500)
