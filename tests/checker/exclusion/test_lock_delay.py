"""Which grant comes after a failed holder's, where the parent was made again in between."""

import pytest
from msgspec.structs import replace

from rumpus.checker.exclusion.lock_delay import check_lock_delay
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.holds import Words, extract_holds
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

FIRST, LAST = "/l/n-0000000001", "/l/n-0000000007"


class Truth:
    def __init__(self, *lives):
        self._lives = lives

    def znodes(self, _path):
        return list(self._lives)


@pytest.mark.parametrize(
    ("failed", "other", "found"),
    [
        ((LAST, 50), (FIRST, 60), ["early-grant"]),  # a new line
        ((FIRST, 60), (LAST, 50), []),  # its acquire of the old line returned late
    ],
)
def test_the_younger_node_is_the_successor(failed, other, found):
    (node, czxid), (after, token) = failed, other
    recorded = Recorded(2).acquire(0, 10, 0, node=node, token=czxid)
    recorded.acquire(20, 3_000, 1, node=after, token=token)
    assert judged(recorded, node, czxid) == found


@pytest.mark.parametrize(("asked", "found"), [(1.0, []), (3.0, ["early-grant"])])
def test_a_holder_may_have_asked_for_another_delay(asked, found):
    recorded = Recorded(2).acquire(0, 10, 0, node=FIRST, token=1, delay=asked)
    recorded.ops = [replace(op, index=op.index + 7) for op in recorded.ops]
    recorded.acquire(20, 3_000, 1, node=LAST, token=2)
    assert judged(recorded, FIRST, 1) == found


def judged(recorded, node, czxid):
    life = ZnodeLife(node, czxid, 5, "0x1", "0x1", None, 99, 1_000, "0x1", "expired")
    history = recorded.end(9_000).history()
    holds = extract_holds(history, Words())
    result = check_lock_delay(
        laid_out(
            history,
            lock_delay=5,
            holds=holds,
            truth=Truth(life),
            clock=WallClock([(0, 0)]),
            path="/l",
        )
    )
    return [anomaly.kind for anomaly in result.anomalies]
