"""What the servers' logs tell of jobs: who made an effect, and who lost or removed a claim."""

from rumpus.checker.families.job_effects import check_freed_claims, effect_makers, expired_claims
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

CLOCK = WallClock([(0, 0)])


class Truth:
    """The lives of znodes below /jobs."""

    def __init__(self, *lives):
        self._lives = lives

    def znodes(self, path):
        return [life for life in self._lives if life.path.startswith(path)]


EMPTY = Recorded().history()


def effect(name, session="0x1"):
    return ZnodeLife(f"/jobs/effects{name}", 1, 1000, session, None, b"")


def claim(name, how, by=None, owner="0x1"):
    return ZnodeLife(f"/jobs/board/claims{name}", 1, 1000, "0x1", owner, b"", 2, 2000, by, how)


def test_each_effect_has_the_session_that_made_it():
    truth = Truth(effect(""), effect("/j:001"), effect("/k:002", "0x2"), effect("/j:003", "0x3"))
    assert effect_makers(laid_out(EMPTY, truth=truth, path="/jobs")) == {
        "j": ["0x1", "0x3"],
        "k": ["0x2"],
    }
    assert effect_makers(laid_out(EMPTY)) is None


def test_claims_that_went_with_their_sessions_are_counted():
    truth = Truth(claim("", None, owner=None), claim("/j", "expired"), claim("/k", "multi", "0x1"))
    assert expired_claims(laid_out(EMPTY, truth=truth, path="/jobs")) == 1
    assert expired_claims(laid_out(EMPTY)) is None


def test_a_claim_that_another_removed_is_freed():
    history = (
        Recorded(2)
        .session(1, 0, "connected", session="0x1")
        .session(1, 1, "connected", session="0x2")
        .end(5000)
        .history()
    )

    def freed(by):
        found = check_freed_claims(
            laid_out(history, truth=Truth(claim("/j", "deleted", by)), clock=CLOCK, path="/jobs")
        )
        return [anomaly.kind for anomaly in found.anomalies]

    assert freed("0x2") == ["freed-live-holder"]
    assert freed("0x1") == []
    assert check_freed_claims(laid_out(history, truth=None, clock=None, path="/jobs")) is None
