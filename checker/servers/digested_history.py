"""How much of each epoch the next leader had, by the digests in the logs.

`checker.servers.commitment` explains why.
"""

from dataclasses import dataclass

from rumpus.checker.servers.leader_trees import Kept, LeaderTrees
from rumpus.checker.servers.node_files import counter, epoch
from rumpus.checker.servers.server_line import ServerLine, position
from rumpus.checker.servers.txnlog import Txn


@dataclass
class Cuts:
    """Between which counters the cut of an epoch lies.

    Attributes:
        low: proposals up to this counter are history.
        high: proposals above this counter were discarded; None if there is no such bound.
        why: in words, why the cut is not known exactly.
    """

    low: int
    high: int | None
    why: str = ""


class DigestedHistory:
    """The history, built epoch by epoch, with the trees that result from it."""

    def __init__(self, nodes: list[ServerLine], proposals: dict[int, Txn], complete: bool) -> None:
        self._nodes = nodes
        self._proposals = proposals
        self._zxids = sorted(proposals)
        self._complete = complete
        self._trees: LeaderTrees | None = LeaderTrees()
        self._before: int = 0
        self._seen: set[int] = set()
        self._next: dict[int, int] = {}
        self._leaders: dict[int, Kept] = {epoch(min(proposals, default=0)): frozenset()}
        self.strange_leaders: list[int] = []
        """First proposals of leaders whose tree was none of those that can result."""
        self._unread = [node for node in nodes if node.digest is not None]

    def settled(
        self, e: int, counters: list[int], links: dict[int, str], reasons: list[str]
    ) -> Cuts | None:
        """The cut of an epoch by the next leader's first digest; None if there is none."""
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
            if not self._trees.given_up:
                self.strange_leaders.append(probe.zxid)
            reasons.append(
                f"the digest of 0x{probe.zxid:x} fits no history in the logs: its leader had "
                "another tree"
            )
            return Cuts(
                min(attempts, default=0),
                max(attempts, default=top),
                "no log tells which was the last",
            )
        kept, cuts = found
        self._seen |= kept
        self._leaders[epoch(probe.zxid)] = kept
        # Several fit only if the last ones changed no znode: then links and snapshots decide.
        cuts = [cut for cut in cuts if cut <= min(links, default=cut)] or cuts
        cuts = [cut for cut in cuts if cut in attempts] or cuts
        return Cuts(min(cuts), max(cuts), "no log tells whether the next leader had them")

    def _attempts(self, e: int, top: int) -> set[int]:
        """At which counters a server wrote a snapshot, as every server does that begins to lead."""
        if not self._complete:
            return set(range(top + 1))
        snapshots = {zxid for node in self._nodes for zxid in node.snapshots}
        return {
            cut for zxid in snapshots if (cut := self._cut_of(e, zxid)) is not None and cut <= top
        }

    def begun(self, e: int) -> set[int]:
        """The cut of an epoch in a server that already leads a later epoch without records.

        That leader is, of all servers that have entered the later epoch, the one with the newest
        snapshot from before it: a server with more in memory would not have followed it, or its
        log would have been truncated. The result is empty if there is no such server.
        """
        newest = max(node.current_epoch for node in self._nodes)
        if newest <= e or self._trees is None or not self._digested(e):
            return set()
        start = max(
            zxid
            for node in self._nodes
            if node.current_epoch == newest
            for zxid in node.snapshots | {0}
            if epoch(zxid) < newest
        )
        cut = self._cut_of(e, start)
        return set() if cut is None else {cut}

    def _cut_of(self, e: int, snapshot: int) -> int | None:
        """The cut of an epoch in a server that began to lead with this snapshot; None if none can.

        The leader of the epoch itself has a snapshot from before it. The next leader can have had
        nothing of the epoch only if it is another server, or has lost what it proposed.
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
        first, last = position(self._zxids, e), position(self._zxids, e + 1)
        return any(self._proposals[zxid].digest is not None for zxid in self._zxids[first:last])

    def _probe(self, e: int) -> Txn | None:
        """The first transaction with a digest after an epoch; None if one before it has effects."""
        for zxid in self._zxids[position(self._zxids, e + 1) :]:
            txn = self._proposals[zxid]
            if txn.digest is not None:
                return txn
            if txn.effects:
                return None
        return None

    def go_on(self, e: int, cuts: Cuts) -> None:
        """Add the epoch of the last call of `settled` to the history."""
        if self._trees is None:
            return
        cut = cuts.low if cuts.high is None else cuts.high
        zxids = self._zxids[position(self._zxids, e) : position(self._zxids, e + 1)]
        if len(zxids) < cut or zxids[:cut] != [e << 32 | k + 1 for k in range(cut)]:
            self._trees = None
            return
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
        """Compare the snapshots up to a zxid with the current trees at the snapshots' zxids."""
        assert self._trees is not None
        for node in list(self._unread):
            assert node.digest is not None
            zxid, digest = node.digest
            if zxid <= end:
                self._unread.remove(node)
                node.kept = self._trees.kept_at(zxid, digest)

    def strange_trees(self, committed: list[Txn]) -> tuple[list[str], list[Txn]]:
        """Servers whose tree fits no known tree, and committed transactions that these may lack."""
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
        """Find the servers' trees that are still unknown, after all epochs have been added.

        A snapshot that came from a leader holds that leader's tree. It has no digest, or one that
        fits no tree because the leader went on while it sent the snapshot.
        """
        if self._trees is None:
            return
        self._read_snapshots(1 << 64)
        for node in self._nodes:
            newest = max(node.snapshots, default=0)
            if node.kept is None and (node.digest is None or newest not in node.records):
                node.kept = self._leaders.get(epoch(newest))

    def alive(self, discarded: list[Txn]) -> dict[int, list[str]]:
        """Discarded zxids that may still be in trees -> the servers that may have them."""
        found: dict[int, list[str]] = {}
        for txn in discarded:
            zxid = txn.zxid
            since = self._next.get(epoch(zxid))
            if since is None:
                continue
            names = [node.name for node in self._nodes if node.may_have(zxid, since)]
            names += ["a server whose files are missing"] * (not self._complete)
            if names:
                found[zxid] = names
        return found

    def was_led_with(self, zxid: int) -> bool:
        """Whether a later leader's tree had it although it was above the cut."""
        return zxid in self._seen
