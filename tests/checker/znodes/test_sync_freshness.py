from rumpus.checker.znodes.sync_freshness import check_sync_freshness
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

EPOCH = 1 << 32


def run(*, read=EPOCH + 1, seen=EPOCH + 1, written_at=20, epoch=EPOCH):
    """Session s0 sees ``seen``; s1 writes 5 in an epoch, answered at a time; s0 reads at 30."""
    recorded = Recorded(2)

    def op(start, end, process, f, zxid):
        key = {"key": "a"}
        recorded.add(start, process, "invoke", f, key)
        told = {**key, "session": f"s{process}", "zxid": zxid}
        return end, process, "ok", f, told

    if seen is not None:
        recorded.add(*op(1, 2, 0, "read", seen))
    write = op(10, written_at, 1, "write", epoch + 5)
    if written_at < 30:
        recorded.add(*write)
    late = op(30, 40, 0, "read", read)
    if written_at >= 30:
        recorded.add(*write)
    recorded.add(*late)
    return [
        each.kind for each in check_sync_freshness(laid_out(recorded.end(99).history())).anomalies
    ]


def test_a_read_behind_a_sync_that_misses_an_earlier_write():
    assert run() == ["stale-sync"]


def test_reads_that_may_be_as_they_are():
    assert run(read=EPOCH + 5) == []
    assert run(written_at=35) == []


def test_a_leader_that_was_deposed_may_answer():
    assert run(epoch=2 * EPOCH) == []
    assert run(epoch=2 * EPOCH, seen=2 * EPOCH + 1, read=2 * EPOCH + 1) == ["stale-sync"]
    assert run(seen=None) == []


def test_a_node_that_is_not_seen_at_all():
    assert run(read=None) == ["stale-sync"]
