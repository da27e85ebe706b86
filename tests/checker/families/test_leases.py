import pytest

from rumpus.checker.families.leases import check_leases
from rumpus.checker.servers.server_truth import SessionLife
from rumpus.checker.timeline.clock import WallClock
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

CLOCK = WallClock([(0, 0), (100_000_000_000, 100_000_000_000)])


class Truth:
    """The servers' logs: session 0x1 ended after so many milliseconds."""

    def __init__(self, closed_ms):
        self.life = SessionLife("0x1", 1, 0, 2000, 9, closed_ms, expired=True)

    def sessions(self):
        return {"0x1": self.life}


def found(*, called, cached=True, events=(), ended=None, timeout=2.0):
    story = Recorded(2)
    records = sorted([*events, (called, "read")])
    for ms, f in records:
        if f == "read":
            story.add(ms, 0, "invoke", "read", {"key": "a"})
            story.add(ms + 1, 0, "ok", "read", {"key": "a", "cached": cached, "session": "0x1"})
        else:
            story.session(ms, 0, f)
    truth = None if ended is None else Truth(ended)
    result = check_leases(
        laid_out(
            story.end(9999).history(),
            truth=truth,
            clock=CLOCK if truth else None,
            session_timeout=timeout,
        )
    )
    assert result.stats == {"calls_on_handles": 1}
    return [each.kind for each in result.anomalies]


LOST = [(0, "connected"), (1000, "suspended")]


def test_a_cached_answer_without_a_lease_is_found():
    assert found(called=3500, events=LOST) == ["jeopardy-call"]


@pytest.mark.parametrize(
    "harmless",
    [
        {"called": 2500, "events": LOST},
        {"called": 3500, "events": [*LOST, (3400, "connected")]},
        {"called": 3500, "events": LOST, "cached": False},
        {"called": 3500, "events": LOST, "timeout": 0.0},
        {"called": 3500},
    ],
)
def test_an_answer_under_a_lease_is_well(harmless):
    assert found(**harmless) == []


def test_loss_counts_from_when_the_connection_was_lost():
    assert found(called=3500, events=[*LOST, (3300, "lost")]) == ["jeopardy-call"]


@pytest.mark.parametrize(("ended", "kinds"), [(3000, ["expired-handle"]), (3450, []), (4000, [])])
def test_a_call_on_a_handle_of_an_ended_session_is_found(ended, kinds):
    assert found(called=3500, cached=False, ended=ended) == kinds
