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

**Digests.** ZooKeeper 3.6 and later log with a transaction the digest of its leader's whole tree
(`tree_digest`). The first one of an epoch so tells with which history its leader opened
it: of all cuts of the epoch before, the one with which this transaction leads to this digest,
and has the versions that follow those of the tree (a ``setData`` leaves nothing of the one before).
Nothing else in the files tells that: a log can hold, between what history has of an epoch and
the first record of a later one, what history never had. 3.8.0 does this whenever a follower
loses its leader with proposals still to be logged (ZOOKEEPER-4712): its database is brought up
to date from its log and votes and leads in that state, while the thread that writes the log is
not stopped and writes the rest. A majority of logs, all of them even, may hold a write that
no leader has.

**Servers that differ.** What was left in a log so is read at the server's next restart, and from
then on its tree has what the others' have not, until it gets a snapshot from another. It may
lead with this tree (the digests then alternate from leader to leader), and its clients see it.
So what is above a cut is discarded only if it can be in nobody's tree: a server that has it in
its log has written a snapshot since, the digest of which shows a tree without it, or has not
entered the epoch that began without it, and gives it up (by TRUNC or SNAP) when it enters.
All else above a cut is *forked*: the history of the ensemble, that of its leaders, is without it,
and what a client saw through some server may be with it. Uncertain is what a leader's digest has
shown to be in its tree although the one before had dropped it. What is below a cut is uncertain
only if a server's snapshot has a digest that no known tree has.

**Links.** Without digests a cut is told by a server's log that has (a,k) followed directly by
(b,1) of a later epoch *b*: that server's history had exactly *k* proposals of *a* and none of
the epochs between when *b* began (in servers without the fault above). Unless it was
re-synchronised in between: with DIFF it logs what it
lacked (no gap, the argument holds); with TRUNC its file is cut (the discarded records are gone,
the argument holds); with SNAP it takes the leader's tree and its file keeps what it had,
discarded records included. SNAP leaves a snapshot named by a zxid between the two records that
is itself not in the log. Then the record before the snapshot says nothing; neither does one
after which the file is broken. The snapshot says
something instead: its server's history ended with that zxid. But a server also writes one when
it tries to lead, and such a one outlives the TRUNC of its log; so a link from a snapshot counts
only where no link from a record speaks. With digests, links and snapshots only decide between
cuts that differ in nothing but transactions that change no znode.

**The end.** For the last epoch with records no log tells the cut, and the question is what the
next leader will have. It is the first of a quorum by (currentEpoch, last zxid), both read from
the disks: so the possible leaders are those that are not behind more servers than a quorum can
do without. What each of them has is committed (every future contains it, and it may have been
acknowledged); what none has is discarded; what some have is uncertain, and truly so: either
could happen. In a settled epoch this comes to "logged by a quorum". Counting logs alone would
be wrong twice: a server that has joined a later epoch outvotes longer logs, and an election
that got stuck half way leaves a later currentEpoch on one server. If the newest currentEpoch is
a later one, somebody may lead it already with less than is in the logs: everyone writes a
snapshot who begins to lead, named by its last zxid, and what is beyond the earliest that can be
this leader's is uncertain until its first write tells.

**No link and no digest.** Only when every server that has records of a later epoch came to it by
SNAP, from a leader that had not proposed yet (snapshot (e,0)) or over records that its history
then dropped. Then a possible leader's history of earlier epochs is read from others: who has
entered the epoch of the leader's last zxid, or any later one, holds what that epoch began with,
and shows it if its own line ends before. The longest counts, for 3.8.0 writes currentEpoch
before the records of a DIFF, so that a crash leaves less. Failing that too, no log tells, and
the transactions are reported as uncertain though the servers may know more.

**Missing servers.** Without the files of some, cuts hold all the same, but with digests nothing
is discarded (the missing log may hold it), and a missing server that differs is not seen. At the
end only what a whole quorum of known servers has in the newest known epoch is committed, nothing
is discarded, and the rest is uncertain.

The files are taken to be those of an ensemble that began empty and purged nothing, gathered
while a leader is in power: after its end, until the next one has begun, nothing on disk tells
what of the last records the memory of running servers lacks. (Nothing that was acknowledged.)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from rumpus.checker.servers.digested_history import Cuts, DigestedHistory
from rumpus.checker.servers.node_files import NodeFiles, counter, epoch
from rumpus.checker.servers.server_line import ServerLine, line_of, position, span_of
from rumpus.checker.servers.txnlog import Txn


@dataclass(frozen=True)
class Commitment:
    """Every proposal found, by its fate, each in order of zxid.

    ``forked``: the ensemble went on without them, but they are in the tree of some server, or
    may be after its restart. ``reasons`` says in words what is missing or contradictory in the
    files; ``notes`` why something is uncertain or forked. Both are empty when all is clear.
    """

    committed: tuple[Txn, ...]
    discarded: tuple[Txn, ...]
    uncertain: tuple[Txn, ...]
    reasons: tuple[str, ...]
    forked: tuple[Txn, ...] = ()
    notes: tuple[str, ...] = ()


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
    notes: list[str] = []
    if len(nodes) < size:
        reasons.append(f"the files of {size - len(nodes)} of {size} servers are missing")
    proposals: dict[int, Txn] = {}
    lines = [line_of(name, files, proposals, reasons) for name, files in sorted(nodes.items())]
    zxids = sorted(proposals)
    epochs = sorted({epoch(zxid) for zxid in zxids})
    evidence = _links(lines, epochs)
    history = DigestedHistory(lines, proposals, len(nodes) == size)
    committed: list[Txn] = []
    discarded: list[Txn] = []
    uncertain: list[Txn] = []
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
                committed.append(txn)
            elif cuts.high is not None and k > cuts.high:
                discarded.append(txn)
            else:
                uncertain.append(txn)
                open_counters.append(k)
        if open_counters:
            notes.append(f"uncertain: {span_of(e, open_counters)}; {cuts.why}")
        known = set(counters)
        if lost := [k for k in range(1, cuts.low + 1) if k not in known]:
            reasons.append(f"committed but in no log at hand: {span_of(e, lost)}")
    history.end()
    strange, lacking = history.strange_trees(committed)
    reasons += [f"the tree in the newest snapshot of {name} fits no history" for name in strange]
    if lacking:
        notes.append(
            f"uncertain: {len(lacking)} transactions that {', '.join(strange)} may lack: "
            "its servers differ"
        )
    alive = history.alive(discarded)
    back = {txn.zxid for txn in discarded if history.was_led_with(txn.zxid)}
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
                where.append("were in a later leader's tree for a time")
            if names:
                where.append(f"are, or come back with a restart, in the tree of {', '.join(names)}")
            span = span_of(e, [counter(zxid) for zxid in zxids])
            notes.append(
                f"{fate}: {span}; the ensemble went on without them, but they "
                f"{' and '.join(where)}: its servers differ"
            )
    lacked = {txn.zxid for txn in lacking}
    uncertain += [txn for txn in discarded if txn.zxid in back] + lacking
    uncertain.sort(key=lambda txn: txn.zxid)
    return Commitment(
        committed=tuple(txn for txn in committed if txn.zxid not in lacked),
        discarded=tuple(txn for txn in discarded if txn.zxid not in alive.keys() | back),
        uncertain=tuple(uncertain),
        reasons=tuple(reasons),
        forked=tuple(txn for txn in discarded if txn.zxid in alive.keys() - back),
        notes=tuple(notes),
    )


def _links(nodes: Iterable[ServerLine], epochs: list[int]) -> dict[int, _Evidence]:
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


def _settled(e: int, evidence: _Evidence, reasons: list[str]) -> Cuts | None:
    """The cut of an epoch that a later one follows, from the links; None without links."""
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
        return Cuts(min([low, *begun]), None, "not every server's files are at hand")
    ranks = {node.name: (node.current_epoch, node.tail) for node in known}
    leaders = [
        node for node in known if sum(rank <= ranks[node.name] for rank in ranks.values()) >= quorum
    ]
    cuts = [_cut(e, node, known) for node in leaders]
    found = [cut for cut in cuts if cut is not None]
    if len(found) < len(cuts):
        return Cuts(0, None, "servers got them by snapshot, and no log tells the last one")
    low, high = min(found), max(found)
    if min(begun, default=low) < low:
        why = f"the next leader decides: who leads epoch {newest} may lack them"
        return Cuts(min(begun), high, why)
    return Cuts(
        low,
        high,
        "on too few servers: the next leader decides, and some possible ones have them",
    )


def _cut(e: int, node: ServerLine, nodes: Iterable[ServerLine]) -> int | None:
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
