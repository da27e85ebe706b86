"""Which proposals in the logs of an ensemble were committed.

A transaction log holds what a server was asked to log. Whether a proposal became history is
decided over the files of all servers. The argument, in the words of ZAB (Junqueira, Reed,
Serafini: Zab, High-performance broadcast for primary-backup systems, DSN 2011):

**Histories.** A zxid is (epoch, counter). A leader opens epoch *e* with an initial history
I(e), its own; it proposes (e,1), (e,2), ... only after a quorum has synchronised with I(e).
Everyone who takes part in *e* has as its history I(e) and a prefix of *e*'s proposals. So a
history holds of every epoch the counters 1 to some *cut*; and once a later epoch has been
opened, its cut of an earlier epoch is the cut in every history from then on: what is below is
committed for good, what is above is discarded for good. A record of epoch *e* in any log shows
that *e* was opened.

**Links.** If a server's log has (a,k) followed directly by (b,1) of a later epoch *b*, that
server's history had exactly *k* proposals of *a* and none of the epochs between when *b* began:
that settles those cuts. Unless it was re-synchronised in between: with DIFF it logs what it
lacked (no gap, the argument holds); with TRUNC its file is cut (the discarded records are gone,
the argument holds); with SNAP it takes the leader's tree and its file keeps what it had,
discarded records included. SNAP leaves a snapshot named by a zxid between the two records that
is itself not in the log. Then the record before the snapshot says nothing; neither does one
after which the file is broken. The snapshot says
something instead: its server's history ended with that zxid. But a server also writes one when
it tries to lead, and such a one outlives the TRUNC of its log; so a link from a snapshot counts
only where no link from a record speaks.

**The end.** For the last epoch with records no log tells the cut, and the question is what the
next leader will have. It is the first of a quorum by (currentEpoch, last zxid), both read from
the disks: so the possible leaders are those that are not behind more servers than a quorum can
do without. What each of them has is committed (every future contains it, and it may have been
acknowledged); what none has is discarded; what some have is uncertain, and truly so: either
could happen. In a settled epoch this comes to "logged by a quorum". Counting logs alone would
be wrong twice: a server that has joined a later epoch outvotes longer logs, and an election
that got stuck half way leaves a later currentEpoch on one server.

**No link at all.** Only when every server that has records of a later epoch came to it by SNAP,
from a leader that had not proposed yet (snapshot (e,0)) or over records that its history then
dropped. Then a possible leader's history of earlier epochs is read from others: who has entered
the epoch of the leader's last zxid, or any later one, holds what that epoch began with, and
shows it if its own line ends before. The longest counts, for 3.8.0 writes currentEpoch before
the records of a DIFF, so that a crash leaves less. Failing that too, no log tells, and the
transactions are reported as uncertain though the servers may know more.

**Missing servers.** Without the files of some, links hold all the same. At the end only what a
whole quorum of known servers has in the newest known epoch is committed, nothing is discarded,
and the rest is uncertain.

The files are taken to be those of an ensemble that began empty and purged nothing.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from struct import Struct

from checker.leader_trees import Kept, LeaderTrees
from checker.txnlog import CorruptLog, LogFile, Txn, parse_log

_END_OF_SNAPSHOT = b"\0\0\0\x01/"
_DIGEST_OF_SNAPSHOT = Struct(">5sqiQq5s")
"""The end of the tree, zxid, version and digest, and the checksum and end of these."""


@dataclass(frozen=True)
class NodeFiles:
    """What one server left on its disk.

    ``logs`` in order of their names' zxids; ``snapshots`` the zxids in (whole) snapshots' names;
    ``digest`` of the tree in the newest of them, with the zxid it stood at, where it is told;
    ``damage`` what could not be read, in words (the server may then have had more).
    """

    logs: tuple[LogFile, ...] = ()
    snapshots: frozenset[int] = frozenset()
    current_epoch: int | None = None
    accepted_epoch: int | None = None
    damage: tuple[str, ...] = ()
    digest: tuple[int, int] | None = None


@dataclass(frozen=True)
class Commitment:
    """Every proposal found, by its fate, each in order of zxid.

    ``reasons`` says in words what is missing or contradictory in the files, and why something
    is uncertain; empty when all is clear.
    """

    committed: tuple[Txn, ...]
    discarded: tuple[Txn, ...]
    uncertain: tuple[Txn, ...]
    reasons: tuple[str, ...]


def read_node_directory(directory: Path) -> NodeFiles:
    """Read the files of one server: ``<directory>/version-2/`` as gathered.

    A snapshot that the server would not load, half written, counts for nothing. A log that the
    server would refuse is reported in ``damage``; its records before the damage are kept.

    Raises:
        OSError: the directory or a file in it cannot be read.
        ValueError: an epoch file does not hold a number.
    """
    files = directory / "version-2"
    logs: list[LogFile] = []
    damage: list[str] = []
    for _, path in sorted(_named(files, "log")):
        try:
            logs.append(parse_log(path.read_bytes(), path.name))
        except CorruptLog as problem:
            logs.append(LogFile(path.name, problem.txns, "torn record", problem.offset))
            damage.append(str(problem))
    snapshots = {zxid: path for zxid, path in _named(files, "snapshot") if _is_whole(path)}
    return NodeFiles(
        logs=tuple(logs),
        snapshots=frozenset(snapshots),
        current_epoch=_number(files / "currentEpoch"),
        accepted_epoch=_number(files / "acceptedEpoch"),
        damage=tuple(damage),
        digest=_digest_of(snapshots[max(snapshots)]) if snapshots else None,
    )


def _named(files: Path, kind: str) -> Iterator[tuple[int, Path]]:
    """The zxids in the names of logs or snapshots; files still being written are left out."""
    for path in files.glob(f"{kind}.*"):
        if found := re.fullmatch(kind + r"\.([0-9a-f]+)(\.gz|\.snappy)?", path.name):
            yield int(found[1], 16), path


def _is_whole(snapshot: Path) -> bool:
    """Whether a server would load it: it ends in the string "/", unless it is compressed."""
    if snapshot.suffix in {".gz", ".snappy"}:
        return True
    with snapshot.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - len(_END_OF_SNAPSHOT)))
        return file.read() == _END_OF_SNAPSHOT


def _digest_of(snapshot: Path) -> tuple[int, int] | None:
    """At which zxid the tree in a snapshot stood, and its digest; None if it does not tell.

    A server that got its tree from the leader and has not changed it yet writes zeros.
    """
    with snapshot.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _DIGEST_OF_SNAPSHOT.size))
        end = file.read()
    if len(end) < _DIGEST_OF_SNAPSHOT.size:
        return None
    before, zxid, version, digest, _, _ = _DIGEST_OF_SNAPSHOT.unpack(end)
    told = (before, version) == (_END_OF_SNAPSHOT, 2) and zxid != 0
    return (zxid, digest) if told else None


def _number(path: Path) -> int | None:
    return int(path.read_text().strip()) if path.exists() else None


def epoch(zxid: int) -> int:
    """The leader's epoch: the high half of a zxid."""
    return zxid >> 32


def counter(zxid: int) -> int:
    """The position within the epoch, from 1: the low half of a zxid."""
    return zxid & 0xFFFF_FFFF


@dataclass
class _Node:
    """One server's files as a line of zxids: its records and the snapshots not among them.

    After a zxid in ``breaks`` a file ends in a broken record: what follows it in the next
    file may not be what followed it in time.
    """

    name: str
    records: set[int]
    line: list[int]
    breaks: set[int]
    snapshots: frozenset[int]
    digest: tuple[int, int] | None
    current_epoch: int
    known_to_end: bool
    kept: Kept | None = None
    """What the tree in its newest snapshot has beyond the history; None if that is not known."""

    def may_have(self, dropped: int, since: int) -> bool:
        """Whether its tree has, or has after a restart, what epoch ``since`` began without.

        Who has not entered that epoch will have to give up what it has beyond.
        """
        if max(self.current_epoch, epoch(self.tail)) < since:
            return False
        if self.kept is not None and dropped in self.kept:
            return True
        if dropped > max(self.snapshots, default=0):
            return dropped in self.records
        return dropped in self.records and self.kept is None

    @property
    def tail(self) -> int:
        return self.line[-1] if self.line else 0

    def ends_in(self, e: int) -> int | None:
        """The cut of epoch ``e`` in this server's history, by its tail alone."""
        if epoch(self.tail) == e:
            return counter(self.tail)
        return 0 if epoch(self.tail) < e else None


@dataclass
class _Cuts:
    """Between which counters the cut of an epoch lies: up to ``low`` all is history.

    What is above ``high`` was discarded; None when there is no such bound.
    """

    low: int
    high: int | None
    why: str = ""


@dataclass
class _Evidence:
    """What links say about the cut of an epoch, from records and from snapshots."""

    records: dict[int, str] = field(default_factory=dict)
    snapshots: dict[int, str] = field(default_factory=dict)


def decide(nodes: Mapping[str, NodeFiles], ensemble_size: int | None = None) -> Commitment:
    """Decide every proposal's fate by the argument of the module.

    Args:
        nodes: name -> files of each server at hand (voters; observers have no say).
        ensemble_size: how many voting servers there are; as many as ``nodes`` by default.
    """
    size = max(len(nodes), ensemble_size or 0)
    reasons: list[str] = []
    if len(nodes) < size:
        reasons.append(f"the files of {size - len(nodes)} of {size} servers are missing")
    proposals: dict[int, Txn] = {}
    lines = [_line(name, files, proposals, reasons) for name, files in sorted(nodes.items())]
    zxids = sorted(proposals)
    epochs = sorted({epoch(zxid) for zxid in zxids})
    evidence = _links(lines, epochs)
    history = _History(lines, proposals, len(nodes) == size)
    committed: list[Txn] = []
    discarded: list[Txn] = []
    uncertain: list[Txn] = []
    for e in epochs:
        counters = [counter(z) for z in zxids[_position(zxids, e) : _position(zxids, e + 1)]]
        cuts = (
            history.settled(e, counters, evidence[e].records, reasons)
            or _settled(e, evidence[e], reasons)
            or _at_the_end(e, lines, size, history.begun(e))
        )
        history.go_on(e, cuts)
        open_counters = []
        for k in counters:
            txn = proposals[e << 32 | k]
            if k <= cuts.low:
                committed.append(txn)
            elif cuts.high is not None and k > cuts.high:
                discarded.append(txn)
            else:
                uncertain.append(txn)
                open_counters.append(k)
        if open_counters:
            reasons.append(f"uncertain: {_span(e, open_counters)}; {cuts.why}")
        known = set(counters)
        if lost := [k for k in range(1, cuts.low + 1) if k not in known]:
            reasons.append(f"committed but in no log at hand: {_span(e, lost)}")
    history.end()
    strange, lacking = history.strange_trees(committed)
    reasons += [f"the tree in the newest snapshot of {name} fits no history" for name in strange]
    if lacking:
        reasons.append(
            f"uncertain: {len(lacking)} transactions that {', '.join(strange)} may lack: "
            "its servers differ"
        )
    alive = history.alive(discarded)
    for e, group in groupby(sorted(alive), key=epoch):
        span = _span(e, [counter(zxid) for zxid in group])
        names = ", ".join(
            sorted({name for zxid in alive if epoch(zxid) == e for name in alive[zxid]})
        )
        reasons.append(
            f"uncertain: {span}; the ensemble went on without them, but they are, or come back "
            f"with a restart, in the tree of {names}: its servers differ"
        )
    uncertain += [txn for txn in discarded if txn.zxid in alive] + lacking
    lacked = {txn.zxid for txn in lacking}
    committed = [txn for txn in committed if txn.zxid not in lacked]
    discarded = [txn for txn in discarded if txn.zxid not in alive]
    uncertain.sort(key=lambda txn: txn.zxid)
    return Commitment(tuple(committed), tuple(discarded), tuple(uncertain), tuple(reasons))


class _History:
    """The history as it becomes known, epoch by epoch, with the trees that come of it."""

    def __init__(self, nodes: list[_Node], proposals: dict[int, Txn], complete: bool) -> None:
        self._nodes = nodes
        self._proposals = proposals
        self._zxids = sorted(proposals)
        self._complete = complete
        self._trees: LeaderTrees | None = LeaderTrees()
        self._before: int = 0
        self._seen: set[int] = set()
        self._next: dict[int, int] = {}
        self._leaders: dict[int, Kept] = {epoch(min(proposals, default=0)): frozenset()}
        self._unread = [node for node in nodes if node.digest is not None]

    def settled(
        self, e: int, counters: list[int], links: dict[int, str], reasons: list[str]
    ) -> "_Cuts | None":
        """The cut of an epoch by the digest that the next leader's tree led to; None without."""
        if self._trees is None:
            return None
        top = sum(k == at for at, k in enumerate(counters, start=1))
        self._read_snapshots(e << 32)
        self._trees.enter([self._proposals[e << 32 | k + 1] for k in range(top)])
        probe = self._probe(e)
        if probe is None:
            return None
        self._next[e] = epoch(probe.zxid)
        found = self._trees.cuts(probe)
        attempts = self._attempts(e, top)
        if found is None:
            reasons.append(
                f"the digest of 0x{probe.zxid:x} fits no history in the logs: the tree of its "
                "leader was another"
            )
            return _Cuts(
                min(attempts, default=0), max(attempts, default=top), "no log tells the last one"
            )
        kept, cuts = found
        self._seen |= kept
        self._leaders[epoch(probe.zxid)] = kept
        # Several only if the last ones changed nothing: then it is between the servers' files.
        cuts = [cut for cut in cuts if cut <= min(links, default=cut)] or cuts
        cuts = [cut for cut in cuts if cut in attempts] or cuts
        return _Cuts(min(cuts), max(cuts), "no log tells whether the next leader had them")

    def _attempts(self, e: int, top: int) -> set[int]:
        """Where in an epoch a server wrote a snapshot, as everyone does who begins to lead."""
        if not self._complete:
            return set(range(top + 1))
        snapshots = {zxid for node in self._nodes for zxid in node.snapshots}
        return {
            cut for zxid in snapshots if (cut := self._cut_of(e, zxid)) is not None and cut <= top
        }

    def begun(self, e: int) -> set[int]:
        """The same of those who may lead a later epoch already, in which nothing is logged."""
        newest = max(node.current_epoch for node in self._nodes)
        if newest <= e or self._trees is None or not self._digested(e):
            return set()
        starts = [
            self._cut_of(e, max(node.snapshots, default=0))
            for node in self._nodes
            if node.current_epoch == newest
        ]
        return {cut for cut in starts if cut is not None}

    def _cut_of(self, e: int, snapshot: int) -> int | None:
        """What of an epoch those had who began to lead with this snapshot, if it can be.

        The leader of the epoch itself has a snapshot from before it; nothing of the epoch is in
        the memory of the next leader only if that is another one, or has lost what it proposed.
        """
        if epoch(snapshot) == e:
            return counter(snapshot)
        starts = range(self._before, (e << 32) + 1)
        if snapshot not in starts:
            return None
        had = [node for node in self._nodes if any(zxid in starts for zxid in node.snapshots)]
        kept_it = all(any(epoch(zxid) == e for zxid in node.records) for node in had)
        return None if self._complete and len(had) == 1 and kept_it else 0

    def _digested(self, e: int) -> bool:
        first, last = _position(self._zxids, e), _position(self._zxids, e + 1)
        return any(self._proposals[zxid].digest is not None for zxid in self._zxids[first:last])

    def _probe(self, e: int) -> Txn | None:
        """The first transaction with a digest after an epoch, if nothing changed before it."""
        for zxid in self._zxids[_position(self._zxids, e + 1) :]:
            txn = self._proposals[zxid]
            if txn.digest is not None:
                return txn
            if txn.effects:
                return None
        return None

    def go_on(self, e: int, cuts: "_Cuts") -> None:
        """Add an epoch to the history."""
        if self._trees is None:
            return
        cut = cuts.low if cuts.high is None else cuts.high
        zxids = self._zxids[_position(self._zxids, e) : _position(self._zxids, e + 1)]
        if zxids[:cut] != [e << 32 | k + 1 for k in range(cut)]:
            self._trees = None
            return
        self._trees.enter([self._proposals[zxid] for zxid in zxids[:cut]])
        self._read_snapshots(e << 32 | cut)
        dropped = {
            tuple(self._proposals[zxid] for zxid in zxids[cut:] if zxid in node.records)
            for node in self._nodes
        }
        self._trees.leave(cut, sorted(filter(None, dropped), key=len))
        self._read_snapshots(zxids[-1])
        if cut:
            self._before = e << 32 | cut

    def _read_snapshots(self, end: int) -> None:
        """Compare snapshots of up to a zxid with the trees there, at the latest those of now."""
        assert self._trees is not None
        for node in list(self._unread):
            assert node.digest is not None
            zxid, digest = node.digest
            if zxid <= end:
                self._unread.remove(node)
                node.kept = self._trees.kept_at(zxid, digest)

    def strange_trees(self, committed: list[Txn]) -> tuple[list[str], list[Txn]]:
        """Servers whose tree is none that is known, and what was committed and they may lack."""
        if self._trees is None:
            return [], []
        strange = [node for node in self._nodes if node.digest is not None and node.kept is None]
        lacking = [
            txn
            for txn in committed
            if any(
                txn.zxid <= max(node.snapshots) and txn.zxid not in node.records for node in strange
            )
        ]
        return [node.name for node in strange], lacking

    def end(self) -> None:
        """All epochs have been added: what is left to be known of the servers' trees.

        A snapshot that came from a leader has no digest, or one that fits nothing if the leader
        went on while it sent it; it is of that leader's tree.
        """
        if self._trees is None:
            return
        self._read_snapshots(1 << 64)
        for node in self._nodes:
            newest = max(node.snapshots, default=0)
            if node.kept is None and (node.digest is None or newest not in node.records):
                node.kept = self._leaders.get(epoch(newest))

    def alive(self, discarded: list[Txn]) -> dict[int, list[str]]:
        """What was dropped and is not gone for good: zxid -> servers that may have it."""
        found: dict[int, list[str]] = {}
        for txn in discarded:
            zxid = txn.zxid
            since = self._next.get(epoch(zxid))
            if since is None:
                continue
            names = [node.name for node in self._nodes if node.may_have(zxid, since)]
            names += ["a server whose files are missing"] * (not self._complete)
            if names or zxid in self._seen:
                found[zxid] = names
        return found


def _line(name: str, files: NodeFiles, proposals: dict[int, Txn], reasons: list[str]) -> _Node:
    """Enter a server's records among the proposals, and lay its files out as a line."""
    records: set[int] = set()
    breaks: set[int] = set()
    last = 0
    for log in files.logs:
        for txn in log.txns:
            zxid = txn.zxid
            known = proposals.setdefault(zxid, txn)
            if known is not txn and known != txn:
                reasons.append(f"{name} has another record of zxid 0x{zxid:x} than other servers")
            if zxid < last and zxid not in records:
                reasons.append(f"{name}: zxid 0x{zxid:x} is logged after 0x{last:x}")
            records.add(zxid)
            last = max(last, zxid)
        if log.end not in {"padding", "end of file"}:
            breaks.add(last)
    line = sorted(records | files.snapshots)
    reasons += [f"{name}: {problem}" for problem in files.damage]
    reasons += [
        f"{name}: its log jumps from 0x{before:x} to 0x{after:x} with no snapshot between"
        for before, after in pairwise(line)
        if after in records and counter(after) != 1 and after != before + 1
    ]
    current = files.current_epoch
    return _Node(
        name=name,
        records=records,
        line=line,
        breaks=breaks,
        snapshots=files.snapshots,
        digest=files.digest,
        current_epoch=epoch(line[-1] if line else 0) if current is None else current,
        known_to_end=not files.damage,
    )


def _position(zxids: list[int], e: int) -> int:
    """Index of the first zxid of epoch ``e`` or later."""
    return bisect_right(zxids, (e << 32) - 1)


def _links(nodes: Iterable[_Node], epochs: list[int]) -> dict[int, _Evidence]:
    """What each server's passages from one epoch to a later one say about the cuts."""
    evidence = {e: _Evidence() for e in epochs}
    for node in nodes:
        for before, after in pairwise(node.line):
            if (
                epoch(before) == epoch(after)
                or after not in node.records
                or counter(after) != 1
                or before in node.breaks
            ):
                continue
            from_record = before in node.records or before == 0
            for e in epochs:
                if epoch(before) <= e < epoch(after):
                    cut = counter(before) if e == epoch(before) else 0
                    found = evidence[e].records if from_record else evidence[e].snapshots
                    found.setdefault(cut, node.name)
    return evidence


def _settled(e: int, evidence: _Evidence, reasons: list[str]) -> _Cuts | None:
    """The cut of an epoch that a later one follows, from the links; None without links."""
    cuts = evidence.records or evidence.snapshots
    if not cuts:
        return None
    low, high = min(cuts), max(cuts)
    if low == high:
        return _Cuts(low, high)
    said = ", ".join(f"{node} 0x{e << 32 | cut:x}" for cut, node in sorted(cuts.items()))
    reasons.append(f"servers disagree on the last transaction of epoch {e}: {said}")
    return _Cuts(low, high, "the servers' logs contradict each other")


def _at_the_end(e: int, nodes: list[_Node], size: int, begun: set[int]) -> _Cuts:
    """The cut of an epoch that no later one settles: what the possible next leaders have.

    ``begun``: what of it those had in their memory who may lead already.
    """
    known = [node for node in nodes if node.known_to_end]
    quorum = size // 2 + 1
    newest = max((node.current_epoch for node in nodes), default=0)
    if len(known) < size:
        had = sorted(
            (_cut(e, node, known) or 0 for node in nodes if node.current_epoch == newest),
            reverse=True,
        )
        low = had[quorum - 1] if len(had) >= quorum else 0
        return _Cuts(min([low, *begun]), None, "not every server's files are at hand")
    ranks = {node.name: (node.current_epoch, node.tail) for node in known}
    leaders = [
        node for node in known if sum(rank <= ranks[node.name] for rank in ranks.values()) >= quorum
    ]
    cuts = [_cut(e, node, known) for node in leaders]
    found = [cut for cut in cuts if cut is not None]
    if len(found) < len(cuts):
        return _Cuts(0, None, "servers got them by snapshot, and no log tells the last one")
    low, high = min(found), max(found)
    if min(begun, default=low) < low:
        why = f"the next leader decides: who leads epoch {newest} may lack them"
        return _Cuts(min(begun), high, why)
    return _Cuts(
        low,
        high,
        "on too few servers: the next leader decides, and some possible ones have them",
    )


def _cut(e: int, node: _Node, nodes: Iterable[_Node]) -> int | None:
    """The cut of epoch ``e`` in a server's history; None if the files do not tell.

    Where its line ends in a later epoch, it is read from servers that share that history and
    whose line ends no later than ``e``: see "No link at all" above.
    """
    own = node.ends_in(e)
    if own is not None:
        return own
    later = epoch(node.tail)
    joined = [
        cut
        for other in nodes
        if other.current_epoch >= later and (cut := other.ends_in(e)) is not None
    ]
    return max(joined, default=None)


def _span(e: int, counters: list[int]) -> str:
    """Zxids in words: how many, from where to where."""
    first, last = (f"0x{e << 32 | k:x}" for k in (counters[0], counters[-1]))
    return first if len(counters) == 1 else f"{len(counters)} transactions, {first} to {last}"
