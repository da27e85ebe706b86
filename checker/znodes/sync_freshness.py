"""Whether a read after a sync sees every write that was acknowledged before the sync was called.

ZooKeeper guarantees this only of a server whose leader has not been deposed: a leader that does not
know yet that it was replaced still answers a sync by itself. The epoch in a zxid tells which leader
proposed it. A session that has seen a zxid of some epoch is connected to a server of that epoch or
a later one, because a server refuses a client that has seen a higher zxid than its own. The history
of every later leader contains all that was acknowledged before. So the read must be fresh if its
session had seen the epoch of the write before the call.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import check
from rumpus.checker.history import Op, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

STALE_SYNC = Kind("stale-sync", "a read after a sync missed a write acknowledged before the sync")


class Seen(NamedTuple):
    """The highest zxid of a key that any client had seen by a time (ns), and in which operation."""

    time: int
    zxid: int
    by: Operation


@check("reads after a sync", finds=[STALE_SYNC])
def check_sync_freshness(timeline: Timeline) -> CheckResult:
    """Compare each ``read`` {key}, which begins with a sync, with earlier results.

    Any successful operation on the key that returned a zxid shows that it was committed.

    Cost: O(n log n).
    """
    history = timeline.history
    result = CheckResult(name="reads after a sync")
    answered = [(pair, done) for pair, done in history.answered() if "key" in done.value]
    answered.sort(key=lambda each: each[1].time)
    seen, epochs = _seen(answered)
    reads = 0
    for pair, done in answered:
        if pair.invoke.f != "read":
            continue
        reads += 1
        before = seen.get(done.value["key"], [])
        at = bisect_left(before, pair.invoke.time, key=lambda each: each.time)
        if at == 0:
            continue
        newest = before[at - 1]
        known = epochs.get(done.value["session"], [])
        place = bisect_left(known, pair.invoke.time, key=lambda each: each[0])
        epoch = known[place - 1][1] if place else -1
        read = done.value.get("zxid") or -1
        if read >= newest.zxid or epoch < newest.zxid >> 32:
            continue
        result.anomalies.append(
            anomaly_of(
                history,
                "stale-sync",
                f"process {pair.invoke.process} synced and read {done.value['key']} as of zxid "
                f"{read}, although process {newest.by.invoke.process} had seen zxid "
                f"{newest.zxid} before the call, and the session had seen that epoch",
                newest.by,
                pair,
            )
        )
    result.stats = {"reads": reads}
    return result


def _seen(
    answered: Iterable[tuple[Operation, Op]],
) -> tuple[dict[str, list[Seen]], dict[str, list[tuple[int, int]]]]:
    """Key -> what clients had seen of it; and session -> when (ns) it first saw a later epoch.

    ``answered``: successful operations, in order of their returns.
    """
    seen: dict[str, list[Seen]] = {}
    epochs: dict[str, list[tuple[int, int]]] = {}
    for pair, done in answered:
        zxid = done.value.get("zxid")
        if zxid is None:
            continue
        own = seen.setdefault(done.value["key"], [])
        if not own or zxid > own[-1].zxid:
            own.append(Seen(done.time, zxid, pair))
        of_session = epochs.setdefault(done.value["session"], [])
        if not of_session or zxid >> 32 > of_session[-1][1]:
            of_session.append((done.time, zxid >> 32))
    return seen, epochs
