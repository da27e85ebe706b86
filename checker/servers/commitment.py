"""Which proposals in the logs of an ensemble were committed.

A transaction log holds what a server was asked to log, whether or not it was committed. That is
decided from the files of all servers, with the terms of ZAB (Junqueira, Reed, Serafini: Zab,
High-performance broadcast for primary-backup systems, DSN 2011):

**Histories.** A zxid is (epoch, counter). The leader of epoch *e* starts from its own history, the
initial history I(e). It proposes (e,1), (e,2), ... only after a quorum has synchronised with I(e).
The history of every server that takes part in *e* is I(e) followed by a prefix of *e*'s proposals.
So a history contains, of every epoch, the counters 1 to some *cut*. Once a later epoch has begun,
all later histories have the cut that its initial history has: the proposals up to the cut are
committed for good, and those above it are discarded for good. A record of epoch *e* in any log
proves that *e* began.

**Digests.** ZooKeeper 3.6 and later log with every transaction the digest of the leader's whole
tree (`tree_digest`). So the first digest of an epoch tells with which history its leader began. The
cut of the epoch before is the one with which this transaction leads to this digest, and with which
its versions follow those of the tree (versions matter because the digest after a ``setData`` does
not depend on the data before). Nothing else in the files tells the cut: between what the history
has of an epoch and the first record of a later epoch, a log can hold proposals that were never in
the history. 3.8.0 writes such logs whenever a follower loses its leader with proposals still to be
logged (ZOOKEEPER-4712). The follower rebuilds its database from its log, and votes and leads in
that state. But the thread that writes the log is not stopped, and writes the remaining proposals
later. So a majority of logs, or even all of them, may hold a write that no leader has.

**Servers that differ.** The server reads such a remainder of its log at its next restart. From then
on its tree contains what the trees of the others do not, until it gets a snapshot from another
server. It may become leader with this tree (then the digests alternate from leader to leader), and
its clients see the tree. So a proposal above a cut is discarded only if it can be in no server's
tree. That holds if every server that has it in its log either has written a snapshot since, whose
digest shows a tree without it, or has not entered the epoch that began without it (it then loses
the proposal, by TRUNC or SNAP, when it enters). It also holds for a server whose files lead to the
tree of the history (`checker.servers.replicas`): then the proposal left no trace. All other
proposals above a cut are *forked*: the history of the ensemble, which is that of its leaders, does
not contain them, but what a client saw through some server may. A proposal above a cut is uncertain
if the digest of a later leader shows that it was in that leader's tree. A proposal below a cut is
uncertain only if a server's snapshot has a digest that fits no known tree.

**Links.** Without digests, a cut is told by a log in which (a,k) is directly followed by (b,1) of a
later epoch *b*: that server's history had exactly *k* proposals of *a*, and none of the epochs
between, when *b* began (in servers without ZOOKEEPER-4712). Re-synchronisation between the two
records changes this as follows. With DIFF the server logs what it lacked, so the argument holds.
With TRUNC its log is cut, so the discarded records are gone and the argument holds. With SNAP it
takes the leader's tree, and its log keeps what it had, including discarded records. SNAP leaves a
snapshot whose zxid lies between the two records and is not in the log itself. Then the record
before the snapshot proves nothing, and neither does a record after which the file is broken.
Instead the snapshot tells that its server's history ended with that zxid. But a server also writes
a snapshot when it tries to lead, and such a snapshot survives a TRUNC of the log. So a link from a
snapshot counts only if there is no link from a record. If there are digests, links and snapshots
only decide between cuts that differ in nothing but transactions that change no znode.

**The end.** No log tells the cut of the last epoch with records. It depends on what the next leader
has. The next leader is the first of a quorum by (currentEpoch, last zxid), both read from disk. So
the possible leaders are the servers that are not behind more servers than a quorum can do without.
What all of them have is committed (every future contains it, and it may have been acknowledged).
What none of them has is discarded. What some of them have is uncertain, because either can still
happen. In a settled epoch this amounts to "logged by a quorum". Counting logs alone would be wrong
in two cases: a server that has joined a later epoch wins over longer logs, and an election that was
interrupted leaves a later currentEpoch on one server. If the newest currentEpoch is a later one, a
server may already lead that epoch with less than the logs hold. Every server that begins to lead
writes a snapshot, named after its last zxid. What lies beyond the earliest snapshot that can be
this leader's is uncertain until the leader's first write shows its history.

**No link and no digest.** This happens only if every server with records of a later epoch reached
it by SNAP, from a leader that had not proposed yet (snapshot (e,0)), or over records that its
history then dropped. Then the earlier epochs in the history of a possible leader are read from
other servers: a server that has entered the epoch of the leader's last zxid, or a later one, has
what that epoch began with, and its line shows it if the line ends before that epoch. The longest
counts, because 3.8.0 writes currentEpoch before the records of a DIFF, so that a crash leaves fewer
records. If there is no such server either, no log tells, and the transactions are reported as
uncertain although the servers may know more.

**Missing servers.** If the files of some servers are missing, the cuts still hold. But with digests
nothing is discarded (a missing log may hold it), and a missing server that differs is not noticed.
At the end, only what a whole quorum of known servers has in the newest known epoch is committed;
nothing is discarded, and the rest is uncertain.

The files must be those of an ensemble that began empty and purged nothing, gathered while a leader
is in power. Between the end of one leader and the beginning of the next, no file tells which of the
last records are missing in the memory of the running servers. (None that was acknowledged is.)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from rumpus.checker.servers.digested_history import Cuts, DigestedHistory
from rumpus.checker.servers.node_files import NodeFiles, counter, epoch
from rumpus.checker.servers.replicas import Replica, compare
from rumpus.checker.servers.server_line import Astray, ServerLine, line_of, position, span_of
from rumpus.checker.servers.txnlog import Txn


@dataclass(frozen=True)
class Commitment:
    """Every proposal found, by its fate, each in order of zxid.

    Attributes:
        committed: part of the history.
        discarded: in no future history and in no server's tree.
        uncertain: the files do not tell.
        reasons: in words, what is missing or contradictory in the files; empty if nothing is.
        forked: the ensemble went on without them, but they are in the tree of some server, or may
            be after its restart.
        notes: in words, what servers wrote where they will not read it, and why proposals are
            uncertain or forked; empty if there is nothing of that.
        replicas: each server, compared with the committed ones.
        astray: where two servers contradict each other in what was committed.
    """

    committed: tuple[Txn, ...]
    discarded: tuple[Txn, ...]
    uncertain: tuple[Txn, ...]
    reasons: tuple[str, ...]
    forked: tuple[Txn, ...] = ()
    notes: tuple[str, ...] = ()
    replicas: tuple[Replica, ...] = ()
    astray: tuple[Astray, ...] = ()


@dataclass
class _Evidence:
    """Cuts of an epoch by its links -> a server with that link; from records and from snapshots."""

    records: dict[int, str] = field(default_factory=dict)
    snapshots: dict[int, str] = field(default_factory=dict)


@dataclass
class _Fates:
    """Proposals by the cuts of their epochs, in order of zxid.

    ``holes``: whether a committed one is in no log at hand.
    """

    committed: list[Txn] = field(default_factory=list)
    discarded: list[Txn] = field(default_factory=list)
    uncertain: list[Txn] = field(default_factory=list)
    holes: bool = False


def decide(nodes: Mapping[str, NodeFiles], ensemble_size: int | None = None) -> Commitment:
    """Decide the fate of every proposal, as the module explains.

    Args:
        nodes: name -> files of each voting server at hand (observers do not count).
        ensemble_size: number of voting servers; by default the number of ``nodes``.
    """
    size = max(len(nodes), ensemble_size or 0)
    reasons: list[str] = []
    notes = [f"{name}: {what}" for name, files in nodes.items() for what in files.unread]
    if len(nodes) < size:
        reasons.append(f"the files of {size - len(nodes)} of {size} servers are missing")
    proposals: dict[int, Txn] = {}
    astray: list[Astray] = []
    lines = [
        line_of(name, files, proposals, reasons, astray) for name, files in sorted(nodes.items())
    ]
    history = DigestedHistory(lines, proposals, len(nodes) == size)
    fates = _decide_epochs(lines, size, proposals, history, reasons, notes)
    replicas, misfits = compare(lines, nodes, proposals, fates.committed, fates.uncertain)
    for line, replica in zip(lines, replicas, strict=True):
        if replica.differing == ():
            line.kept = frozenset()
        reasons += _unexplained_jumps(line, replica)
    if len(nodes) == size and all(line.known_to_end for line in lines):
        astray += _leaders_astray(history.strange_leaders, misfits, fates)
    strange, lacking = history.strange_trees(fates.committed)
    reasons += [f"the digest in the newest snapshot of {name} fits no history" for name in strange]
    if lacking:
        notes.append(
            f"uncertain: {len(lacking)} transactions that may be missing in the tree of "
            f"{', '.join(strange)}"
        )
    alive = history.alive(fates.discarded)
    back = {txn.zxid for txn in fates.discarded if history.was_led_with(txn.zxid)}
    _tell_dropped(alive, back, notes, astray)
    lacked = {txn.zxid for txn in lacking}
    uncertain = fates.uncertain + [txn for txn in fates.discarded if txn.zxid in back] + lacking
    return Commitment(
        committed=tuple(txn for txn in fates.committed if txn.zxid not in lacked),
        discarded=tuple(txn for txn in fates.discarded if txn.zxid not in alive.keys() | back),
        uncertain=tuple(sorted(uncertain, key=lambda txn: txn.zxid)),
        reasons=tuple(reasons),
        forked=tuple(txn for txn in fates.discarded if txn.zxid in alive.keys() - back),
        notes=tuple(notes),
        replicas=tuple(replicas),
        astray=tuple(astray),
    )


def _decide_epochs(
    lines: list[ServerLine],
    size: int,
    proposals: Mapping[int, Txn],
    history: DigestedHistory,
    reasons: list[str],
    notes: list[str],
) -> _Fates:
    """Find the cut of every epoch, in order, and build the history from what is below it."""
    zxids = sorted(proposals)
    epochs = sorted({epoch(zxid) for zxid in zxids})
    evidence = _links(lines, epochs)
    fates = _Fates()
    for e in epochs:
        counters = [counter(z) for z in zxids[position(zxids, e) : position(zxids, e + 1)]]
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
                fates.committed.append(txn)
            elif cuts.high is not None and k > cuts.high:
                fates.discarded.append(txn)
            else:
                fates.uncertain.append(txn)
                open_counters.append(k)
        if open_counters:
            notes.append(f"uncertain: {span_of(e, open_counters)}; {cuts.why}")
        if lost := _lost(e, set(counters), cuts.low):
            fates.holes = True
            reasons.append(f"committed but in no log at hand: {lost}")
    history.end()
    return fates


def _lost(e: int, known: set[int], last: int) -> str:
    """Which of the counters from 1 to the last one are not known, in words; empty if none is.

    There may be more of them than memory has room for: a damaged log names any counter.
    """
    count = last - sum(0 < k <= last for k in known)
    if not count:
        return ""
    first = next(k for k in range(1, last + 1) if k not in known)
    return span_of(e, [first, next(k for k in range(last, 0, -1) if k not in known)], count)


def _unexplained_jumps(line: ServerLine, replica: Replica) -> Iterator[str]:
    """Where records of a server are missing that its comparison with the history does not name."""
    known_gaps = {(gap.before, gap.after) for gap in replica.gaps}
    for before, after in line.jumps():
        if (before, after) not in known_gaps:
            yield (
                f"{line.name}: its log jumps from 0x{before:x} to 0x{after:x} "
                "with no snapshot between"
            )


def _leaders_astray(
    strange_leaders: Iterable[int], misfits: Sequence[int], fates: _Fates
) -> Iterator[Astray]:
    """Leaders whose first proposals, or digests (``misfits``), no history leads to."""
    for zxid in strange_leaders:
        what = f"the leader that proposed 0x{zxid:x} had a tree that no history leads to"
        yield Astray(zxid, what)
    # What may be missing below would explain them.
    if misfits and not fates.holes and not any(txn.zxid < misfits[0] for txn in fates.uncertain):
        what = f"leaders logged {len(misfits)} digests, from 0x{misfits[0]:x} on, that are not "
        yield Astray(misfits[0], what + "those of the transactions up to there")


def _tell_dropped(
    alive: Mapping[int, Sequence[str]], back: set[int], notes: list[str], astray: list[Astray]
) -> None:
    """Say of dropped proposals where they live on: in some server's tree, or in a later leader's.

    ``alive``: zxid -> the servers that may have it; ``back``: the zxids that were in the tree of a
    later leader.
    """
    for e, group in groupby(sorted(alive.keys() | back), key=epoch):
        dropped = list(group)
        for fate, zxids in (
            ("forked", [zxid for zxid in dropped if zxid not in back]),
            ("uncertain", [zxid for zxid in dropped if zxid in back]),
        ):
            if not zxids:
                continue
            names = sorted({name for zxid in zxids for name in alive.get(zxid, ())})
            where = []
            if fate == "uncertain":
                where.append("were in the tree of a later leader")
                what = "the ensemble went on without it, but a later leader had it in its tree"
                astray += [Astray(zxid, f"0x{zxid:x}: {what}") for zxid in zxids]
            if names:
                where.append(f"may be, or come after a restart, in the tree of {', '.join(names)}")
            span = span_of(e, [counter(zxid) for zxid in zxids])
            notes.append(
                f"{fate}: {span}; the ensemble went on without them, but they {' and '.join(where)}"
            )


def _links(nodes: Iterable[ServerLine], epochs: list[int]) -> dict[int, _Evidence]:
    """Epoch -> what the servers' transitions from one epoch to a later one tell about its cut."""
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


def _settled(e: int, evidence: _Evidence, reasons: list[str]) -> Cuts | None:
    """The cut of an epoch that a later one follows, by the links; None if there are none."""
    cuts = evidence.records or evidence.snapshots
    if not cuts:
        return None
    low, high = min(cuts), max(cuts)
    if low == high:
        return Cuts(low, high)
    said = ", ".join(f"{node} 0x{e << 32 | cut:x}" for cut, node in sorted(cuts.items()))
    reasons.append(f"servers disagree on the last transaction of epoch {e}: {said}")
    return Cuts(low, high, "the servers' logs contradict each other")


def _at_the_end(e: int, nodes: list[ServerLine], size: int, begun: set[int]) -> Cuts:
    """The cut of an epoch that no later one settles: what the possible next leaders have.

    Args:
        e: the epoch.
        nodes: the servers.
        size: number of voting servers.
        begun: possible cuts of a server that may already lead a later epoch.
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
        return Cuts(min([low, *begun]), None, "not every server's files are at hand")
    ranks = {node.name: (node.current_epoch, node.tail) for node in known}
    leaders = [
        node for node in known if sum(rank <= ranks[node.name] for rank in ranks.values()) >= quorum
    ]
    cuts = [_cut(e, node, known) for node in leaders]
    found = [cut for cut in cuts if cut is not None]
    if len(found) < len(cuts):
        return Cuts(0, None, "servers got them by snapshot, and no log tells which was the last")
    low, high = min(found), max(found)
    if min(begun, default=low) < low:
        why = f"the next leader decides: the leader of epoch {newest} may lack them"
        return Cuts(min(begun), high, why)
    return Cuts(
        low,
        high,
        "on too few servers: the next leader decides, and only some possible leaders have them",
    )


def _cut(e: int, node: ServerLine, nodes: Iterable[ServerLine]) -> int | None:
    """The cut of epoch ``e`` in a server's history; None if the files do not tell.

    If its line ends in a later epoch, the cut is read from servers that share that history and
    whose line ends no later than ``e``; see "No link and no digest" above.
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
