"""Which call changed which znode."""

from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.timeline.clock import WallClock
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded


class Truth:
    def __init__(self, lives, committed=()):
        self._lives = lives
        self.committed = committed

    def znodes(self):
        return self._lives


def changes(recorded, *lives, committed=()):
    timeline = laid_out(
        recorded.history(), prevents=(), truth=Truth(lives, committed), clock=WallClock([(0, 0)])
    )
    return timeline.znodes


def of_two(*, made):
    """c0 releases until 10.3 ms, and acquires from 10.6 ms on; and before, without doubt."""
    recorded = Recorded(1).session(0, 0, "connected", session="0x1")
    recorded.acquire(1, 5, 0).release(9, 10.3, 0).acquire(10.6, 15, 0)
    first = ZnodeLife("/l/1", 1, 3, "0x1", "0x1", b"")
    return changes(recorded, first, ZnodeLife("/l/2", 2, made, "0x1", "0x1", b""))["/l/2"]


def test_of_two_calls_in_one_millisecond_the_usual_one_is_taken_and_time_is_not_before_it():
    (made,) = of_two(made=10)
    assert (made.how, made.client, made.call.invoke.f) == ("created", 0, "acquire")
    assert made.time == 10.6 * MS


def test_writes_and_ends_are_in_the_order_of_the_servers():
    recorded = Recorded(2).session(0, 0, "connected", session="0x1")
    recorded.session(0, 1, "connected", session="0x2")
    recorded.add(20, 1, "invoke", "write").add(25, 1, "ok", "write")
    life = ZnodeLife("/r", 1, 3, "0x1", None, b"", 9, 30, "0x2", "deleted")
    written = Txn(5, 2, 5, 21, 5, "setData", path="/r", data=b"x")
    first, second, last = changes(recorded, life, committed=[written])["/r"]
    assert [each.how for each in (first, second, last)] == ["created", "written", "deleted"]
    assert (second.client, second.call.invoke.f, second.data) == (1, "write", b"x")
    assert (last.client, last.call) == (1, None)


def test_nobody_asked_for_what_ends_with_a_session():
    recorded = Recorded(1).session(0, 0, "connected", session="0x1")
    recorded.add(20, 0, "invoke", "work").add(40, 0, "ok", "work")
    life = ZnodeLife("/l/1", 1, 3, "0x1", "0x1", b"", 9, 30, "0x1", "expired")
    assert changes(recorded, life)["/l/1"][-1].call is None
