"""The trees that servers can have, distinguished by their digests.

Servers with the same history have the same tree. If a server's log keeps transactions that the
ensemble went on without, a restart brings them into that server's tree, which then differs from the
others. `LeaderTrees` goes through the history epoch by epoch with every tree that can result from
it. From the digest in a record it finds which of the trees its leader had, and so how much of the
epoch before (see `checker.servers.tree_digest`).
"""

from collections.abc import Iterable, Sequence

from rumpus.checker.servers.tree_digest import Changes, DigestedTree
from rumpus.checker.servers.txnlog import Txn

Kept = frozenset[int]
"""The zxids that a tree contains although they are not in the history."""

_MOST_TREES = 32
"""At most this many trees are followed. If more are possible, a leader's tree may fit none."""


class LeaderTrees:
    """The tree of the history up to the end of some epoch, and its possible variants.

    Within an epoch (between `enter` and `leave`) the trees move forward and backward along its
    transactions. Each fork doubles the number of variants, but most of them are soon equal again,
    as the same sessions end in all. Equal trees stay equal. So they share one object, and each
    transaction is applied to it once.
    """

    def __init__(self) -> None:
        self._trees: dict[Kept, DigestedTree] = {frozenset(): DigestedTree()}
        self._walks: dict[Kept, _Walk] = {}
        self.given_up = False
        """Whether there were too many trees to follow, so that a possible one may be missing."""

    def enter(self, txns: Sequence[Txn]) -> None:
        """Begin an epoch with these proposals: its first, and those that follow without a gap."""
        for walk in self._walks.values():
            walk.to(0)
        walks = {id(tree): _Walk(tree, txns) for tree in self._trees.values()}
        self._walks = {kept: walks[id(tree)] for kept, tree in self._trees.items()}

    def cuts(self, probe: Txn) -> tuple[Kept, list[int]] | None:
        """How many of the epoch's transactions the leader of a later transaction had.

        Args:
            probe: the first transaction with a digest after the epoch; no transaction between
                changed a znode.

        Returns:
            What its tree had kept, and the possible numbers, descending (several if the last
            transactions did not change a znode); None if it had none of the trees.
        """
        # A walk that does not fit costs a pass over the epoch, so the last matching tree is first.
        latest = {id(walk): walk for walk in reversed(self._walks.values())}
        for walk in latest.values():
            if found := walk.fits(probe):
                # Of equal trees, the one that kept least: what left no trace need not be there.
                kept = min((kept for kept, other in self._walks.items() if other is walk), key=len)
                # Trees that matched most recently are the last to be dropped.
                self._trees[kept] = self._trees.pop(kept)
                return kept, found
        return None

    def kept_at(self, zxid: int, digest: int) -> Kept | None:
        """What a tree has kept that has this digest after all transactions up to a zxid.

        Between epochs, after all epochs so far. None if no tree fits.
        """
        fitting = []
        for walk in {id(walk): walk for walk in self._walks.values()}.values():
            walk.to(sum(txn.zxid <= zxid for txn in walk.txns))
        for kept, tree in self._trees.items():
            if (self._walks[kept].tree if self._walks else tree).digest == digest:
                fitting.append(kept)
        return min(fitting, key=len, default=None)

    def leave(self, cut: int, dropped: Iterable[Sequence[Txn]]) -> None:
        """End the epoch where the history does.

        Args:
            cut: how many of its transactions are history.
            dropped: for each server whose log has transactions beyond the cut, these in order.
        """
        for walk in self._walks.values():
            walk.to(cut)
        self._walks = {}
        self._share()
        for txns in dropped:
            # Each variant stands before its original, so that the last matching tree stays last.
            found: dict[Kept, DigestedTree] = {}
            changed: dict[int, DigestedTree] = {}
            for kept, tree in self._trees.items():
                variant = kept | {txn.zxid for txn in txns}
                if variant not in self._trees:
                    if id(tree) not in changed:
                        changed[id(tree)] = _applied(tree, txns)
                    found[variant] = changed[id(tree)]
                found[kept] = tree
            self._trees = found
        for kept in list(self._trees)[:-_MOST_TREES]:
            if kept:
                del self._trees[kept]
                self.given_up = True

    def _share(self) -> None:
        """Let equal trees share one object."""
        known: dict[int, list[DigestedTree]] = {}
        for kept, tree in self._trees.items():
            alike = known.setdefault(tree.digest, [])
            self._trees[kept] = next((other for other in alike if other.equals(tree)), tree)
            alike.append(self._trees[kept])


def _applied(tree: DigestedTree, txns: Iterable[Txn]) -> DigestedTree:
    variant = tree.copy()
    for txn in txns:
        variant.apply(txn)
    return variant


class _Walk:
    """A tree that moves forward and backward along the transactions of an epoch."""

    def __init__(self, tree: DigestedTree, txns: Sequence[Txn]) -> None:
        self.tree = tree
        self.txns = txns
        self._applied: list[Changes] = []
        self._undone: list[Changes] = []

    def to(self, position: int) -> None:
        while len(self._applied) < position:
            self._applied.append(
                self.tree.revert(self._undone.pop())
                if self._undone
                else self.tree.apply(self.txns[len(self._applied)])
            )
        while len(self._applied) > position:
            self._undone.append(self.tree.revert(self._applied.pop()))

    def fits(self, probe: Txn) -> list[int]:
        """The numbers of transactions after which the probe leads to its digest, descending."""
        found: list[int] = []
        for position in range(len(self.txns), -1, -1):
            self.to(position)
            if self.tree.leads_to(probe):
                found.append(position)
            elif found:
                break
        return found
