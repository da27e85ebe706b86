"""What each server has of the history: what its log lacks, and whether its trees are right.

`checker.servers.commitment` decides what the ensemble committed. That says nothing of a single
server, which may lack some of it. Five things are compared here.

**Gaps.** A server logs every transaction in order, or takes a leader's tree and writes a snapshot
of it. So a committed transaction that is neither in its log nor followed by a snapshot before its
next record never reached this server. ZooKeeper 3.9.3 does that after two followers missed
different stretches (ZOOKEEPER-4925): a log goes from 0x100000047 to 0x200000065, and 100
transactions between them were committed. Its clients read an old tree, until a later snapshot from
a leader or later writes of the same znodes cover the loss.

**Digests.** With each transaction a leader logs the digest of its tree. The same transactions must
lead to the same digest.

**Snapshots.** Each is compared with the tree of the history at its zxid. A snapshot is fuzzy: it
may contain effects of transactions up to the greatest zxid in it. Znodes that these changed are
left out. A snapshot whose own zxid was dropped (an attempt to lead that failed) says nothing.

**The next start.** A server that starts reads its newest snapshot and applies its log from there
on, whether or not the records were committed. The same is done here, and the result is compared
with the history at the last transaction that both have. Records above a cut (``commitment``) that
leave no trace are no difference. ZooKeeper 3.8.0 often logs too late what was dropped
(ZOOKEEPER-4712), but nearly always a later snapshot covers it, or it was only a session that is
over.

**The servers' own words** (`checker.servers.own_words`). A server that finds its tree to differ
from the leader's says so. A leader says to which zxid it lets a joining server truncate its log. If
the last transaction of that server was committed, and the leader had committed later ones already,
then the leader's memory lacks it: what it sends after the truncation has the same hole.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rumpus.checker.servers.node_files import NodeFiles, counter, epoch
from rumpus.checker.servers.own_words import OwnWords
from rumpus.checker.servers.server_line import ServerLine
from rumpus.checker.servers.snapshot import UnreadableSnapshot
from rumpus.checker.servers.tree_digest import DigestedTree, Znode
from rumpus.checker.servers.txnlog import Txn

_NEVER = 1 << 32
"""Greater than every epoch."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Committed transactions that a server's log jumps over.

    Attributes:
        txns: the transactions, in order.
        before: the last zxid before them that it has.
        after: the record behind them.
    """

    txns: tuple[Txn, ...]
    before: int
    after: int

    @property
    def changes(self) -> int:
        """How many of them had an effect; the others are requests that were refused."""
        return sum(bool(txn.effects) for txn in self.txns)


@dataclass(slots=True)
class Replica:
    """One server, compared with the history.

    Attributes:
        name: the server.
        gaps: what its log lacks.
        at: the last transaction of the history that it has; its next tree is compared there.
        tail: the last zxid on its disk, of the history or not.
        differing: paths of the znodes that would differ if it started from its files; None if
            that cannot be told.
        unread: why it cannot be told; empty if it can.
        dropped: zxids after its newest snapshot that the ensemble went on without.
        reloaded: whether a later log file shows that it has read those from its disk since.
        snapshots: zxid of each snapshot that differs from the history -> paths of these znodes.
        reach: zxid in the name of each snapshot -> the greatest zxid that a znode in it has.
        late: zxids that its log has after later ones: a start applies them in that order.
        own_words: what it says of itself.
        truncated: committed transactions that it let another server drop while it led, each with
            the id of that server.
    """

    name: str
    gaps: tuple[Gap, ...] = ()
    at: int = 0
    tail: int = 0
    differing: tuple[str, ...] | None = None
    unread: str = ""
    dropped: tuple[int, ...] = ()
    reloaded: bool = False
    snapshots: dict[int, tuple[str, ...]] = field(default_factory=dict)
    reach: dict[int, int] = field(default_factory=dict)
    late: tuple[int, ...] = ()
    own_words: OwnWords = field(default_factory=OwnWords)
    truncated: tuple[tuple[int, Txn], ...] = ()


def compare(
    lines: Sequence[ServerLine],
    files: Mapping[str, NodeFiles],
    proposals: Mapping[int, Txn],
    committed: Sequence[Txn],
    open_: Sequence[Txn],
) -> tuple[list[Replica], list[int]]:
    """Compare every server with the history; in the order of ``lines``.

    Also returns the zxids at which a leader logged another digest than the history leads to.

    Args:
        lines: the servers.
        files: the same servers' files, by name.
        proposals: every record at hand, by zxid.
        committed: the history.
        open_: proposals that may still become part of it.
    """
    history = _History(committed, open_)
    epochs = sorted(
        {epoch(zxid) for zxid in proposals}
        | {max((line.current_epoch for line in lines), default=0), _NEVER}
    )
    replicas = []
    looks: list[tuple[int, _Look]] = []
    for line in lines:
        found = files[line.name]
        newest = max(line.snapshots, default=0)
        after = _kept_after(newest, line, history, epochs)
        replica = _replica(line, found, history, newest, after)
        replicas.append(replica)
        looks += [
            (zxid, _Look(replica, found, zxid, None))
            for zxid in line.snapshots - {newest}
            if zxid in history or counter(zxid) == 0
        ]
        known = newest in history or counter(newest) == 0
        if not line.known_to_end:
            replica.unread = "a log of it cannot be read to its end"
        elif not (known or _dropped_by(newest, epochs) <= _entered(line)):
            replica.unread = "its newest snapshot has what it loses when it joins the others"
        elif newest in line.snapshots:
            looks.append((replica.at, _Look(replica, found, newest, [proposals[z] for z in after])))
        else:
            replica.unread = "it has no snapshot"
    for at, look in sorted(looks, key=lambda each: each[0]):
        look.compare(history.tree_at(at), history)
    history.tree_at(_NEVER << 32)
    return replicas, history.misfits


def _dropped_by(zxid: int, epochs: Sequence[int]) -> int:
    """The epoch that began without a zxid. A server loses it when it enters that epoch."""
    return epochs[bisect_right(epochs, epoch(zxid))]


def _entered(line: ServerLine) -> int:
    """The last epoch that a server has entered."""
    return max(line.current_epoch, epoch(line.tail))


def _kept_after(
    newest: int, line: ServerLine, history: "_History", epochs: Sequence[int]
) -> list[int]:
    """What a server applies to its newest snapshot when it starts: zxids of its records.

    Open proposals are left out, and what it loses when it joins the others.
    """
    entered = _entered(line)
    return [
        zxid
        for zxid in sorted(line.records)
        if zxid > newest
        and zxid not in history.open
        and (zxid in history or _dropped_by(zxid, epochs) <= entered)
    ]


def _replica(
    line: ServerLine, found: NodeFiles, history: "_History", newest: int, after: Sequence[int]
) -> Replica:
    """What is told of a server without a look at its trees; ``after``: see ``_kept_after``."""
    dropped = tuple(zxid for zxid in after if zxid not in history)
    return Replica(
        line.name,
        gaps=tuple(_gaps(line, history)),
        at=max([newest, *(zxid for zxid in after if zxid in history)]),
        tail=line.tail,
        dropped=dropped,
        reloaded=any(
            log.txns and log.txns[0].zxid > zxid for zxid in dropped[:1] for log in found.logs
        ),
        late=line.late,
        own_words=found.own_words,
        truncated=tuple(_truncated(found.own_words, history)),
    )


class _History:
    """What was committed, and its tree, which moves forward."""

    def __init__(self, committed: Sequence[Txn], open_: Sequence[Txn]) -> None:
        self.committed = committed
        self.zxids = [txn.zxid for txn in committed]
        self.open = {txn.zxid: txn for txn in open_}
        self._known = set(self.zxids)
        self._tree = DigestedTree()
        self._applied = 0
        self.misfits: list[int] = []
        """Transactions whose leader had another tree after them than the history has."""

    def __contains__(self, zxid: int) -> bool:
        return zxid in self._known

    def tree_at(self, zxid: int) -> DigestedTree:
        """The tree after all transactions up to a zxid, which must not be less than at the last."""
        end = bisect_right(self.zxids, zxid)
        for txn in self.committed[self._applied : end]:
            self._tree.apply(txn)
            if txn.digest is not None and txn.digest != self._tree.digest:
                self.misfits.append(txn.zxid)
        self._applied = max(self._applied, end)
        return self._tree

    def touched_after(self, zxid: int, last: int) -> set[str]:
        """Paths of the znodes changed after a zxid and up to the last one, or by open proposals.

        Changes of access control lists leave no zxid, so all later ones count.
        """
        later = self.committed[bisect_right(self.zxids, zxid) :]
        return _touched(
            effect
            for txn in (*later, *self.open.values())
            for effect in txn.effects
            if txn.zxid <= last or effect.name == "setACL"
        )


@dataclass(frozen=True, slots=True)
class _Look:
    """A snapshot to compare: as it is, or (``records`` is not None) with the log from there on."""

    replica: Replica
    files: NodeFiles
    snapshot: int
    records: Sequence[Txn] | None

    def compare(self, right: DigestedTree, history: _History) -> None:
        replica, at = self.replica, self.snapshot if self.records is None else self.replica.at
        try:
            znodes = self.files.read_tree(self.snapshot)
        except UnreadableSnapshot as why:
            replica.unread = str(why)
            return
        reach = replica.reach[self.snapshot] = _latest(znodes.values())
        tree = DigestedTree(znodes)
        for txn in self.records or ():
            tree.apply(txn)
        paths: tuple[str, ...] = ()
        if tree.digest != right.digest:
            ahead = history.touched_after(at, reach)
            paths = tuple(sorted(set(tree.differences(right)) - ahead))
        if self.records is not None:
            replica.differing = paths
        elif paths:
            replica.snapshots[self.snapshot] = paths


def _gaps(line: ServerLine, history: _History) -> Iterator[Gap]:
    if not line.known_to_end:
        return  # what was not read is no gap
    for before, after in pairwise(line.line):
        if after not in line.records:
            continue  # a snapshot: the tree with all that lies between
        low = bisect_right(history.zxids, before)
        high = bisect_left(history.zxids, after)
        if low < high:
            yield Gap(tuple(history.committed[low:high]), before, after)


def _truncated(words: OwnWords, history: _History) -> Iterator[tuple[int, Txn]]:
    for server, last, to, done in words.truncations:
        if last in history and to < last <= done:
            yield server, history.committed[bisect_left(history.zxids, last)]


def _latest(znodes: Iterable[Znode]) -> int:
    return max((max(each.czxid, each.mzxid, each.pzxid) for each in znodes), default=0)


def _touched(effects: Iterable[Txn]) -> set[str]:
    """Paths of the znodes that these change, and of their parents."""
    paths = {
        path
        for effect in effects
        for path in (effect.path, *(effect.paths or ()))
        if path is not None
    }
    return paths | {path.rpartition("/")[0] or "/" for path in paths}
