"""One server's files as a sorted list of zxids."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from rumpus.checker.servers.leader_trees import Kept
from rumpus.checker.servers.node_files import NodeFiles, counter, epoch
from rumpus.checker.servers.txnlog import Txn


class Astray(NamedTuple):
    """A proof that servers differ in what they took for committed.

    Attributes:
        zxid: the transaction that shows it.
        words: what it shows.
    """

    zxid: int
    words: str


@dataclass
class ServerLine:
    """One server's files as a line: the sorted zxids of its records and of its snapshots.

    After a zxid in ``breaks`` a log ends in a broken record, so the first record of the next log
    need not be the next one in time.
    """

    name: str
    records: set[int]
    line: list[int]
    breaks: set[int]
    snapshots: frozenset[int]
    digest: tuple[int, int] | None
    current_epoch: int
    known_to_end: bool
    late: tuple[int, ...] = ()
    """What was logged after later ones, and was not in the log before."""
    kept: Kept | None = None
    """What the tree in its newest snapshot has kept; None if that is not known."""

    def may_have(self, dropped: int, since: int) -> bool:
        """Whether its tree has, or will have after a restart, what epoch ``since`` began without.

        A server that has not entered that epoch loses the transaction when it enters.
        """
        if max(self.current_epoch, epoch(self.tail)) < since:
            return False
        if self.kept is not None and dropped in self.kept:
            return True
        if dropped > max(self.snapshots, default=0):
            return dropped in self.records
        return dropped in self.records and self.kept is None

    def jumps(self) -> Iterator[tuple[int, int]]:
        """Where records must be missing: the zxids before and behind, with no snapshot between."""
        for before, after in pairwise(self.line):
            if after in self.records and counter(after) != 1 and after != before + 1:
                yield before, after

    @property
    def tail(self) -> int:
        """The last zxid of the line; 0 if it is empty."""
        return self.line[-1] if self.line else 0

    def ends_in(self, e: int) -> int | None:
        """The cut of epoch ``e`` in this server's history; None if its tail is of a later one."""
        if epoch(self.tail) == e:
            return counter(self.tail)
        return 0 if epoch(self.tail) < e else None


def line_of(
    name: str,
    files: NodeFiles,
    proposals: dict[int, Txn],
    reasons: list[str],
    astray: list[Astray],
) -> ServerLine:
    """A server's files as a line.

    Adds its records to ``proposals``, problems to ``reasons``, and contradictions to ``astray``.
    """
    records: set[int] = set()
    breaks: set[int] = set()
    late: list[int] = []
    last = 0
    for log in files.logs:
        for txn in log.txns:
            zxid = txn.zxid
            known = proposals.setdefault(zxid, txn)
            if known is not txn and not known.is_same_record(txn):
                what = f"{name} has another record of zxid 0x{zxid:x} than other servers"
                reasons.append(what)
                astray.append(Astray(zxid, what))
            if zxid < last and zxid not in records:
                reasons.append(f"{name}: zxid 0x{zxid:x} is logged after 0x{last:x}")
                late.append(zxid)
            records.add(zxid)
            last = max(last, zxid)
        if log.end not in {"padding", "end of file"}:
            breaks.add(last)
    line = sorted(records | files.snapshots)
    reasons += [f"{name}: {problem}" for problem in files.damage]
    current = files.current_epoch
    return ServerLine(
        name=name,
        records=records,
        line=line,
        breaks=breaks,
        snapshots=files.snapshots,
        digest=files.digest,
        current_epoch=epoch(line[-1] if line else 0) if current is None else current,
        known_to_end=not files.damage,
        late=tuple(late),
    )


def position(zxids: list[int], e: int) -> int:
    """Index of the first zxid of epoch ``e`` or later."""
    return bisect_left(zxids, e << 32)


def span_of(e: int, counters: list[int], count: int | None = None) -> str:
    """Zxids in words: how many, the first and the last.

    Args:
        e: the epoch.
        counters: in ascending order; the first and the last are enough if ``count`` is given.
        count: how many there are.
    """
    first, last = (f"0x{e << 32 | k:x}" for k in (counters[0], counters[-1]))
    count = len(counters) if count is None else count
    return first if count == 1 else f"{count} transactions, {first} to {last}"
