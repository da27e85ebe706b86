"""The trees that servers can have, told apart by their digests.

Servers that share a history share a tree. Where a server's log keeps transactions that the
ensemble went on without, a restart brings them back into its own tree, and from then on servers
differ. `LeaderTrees` goes through history epoch by epoch with every tree that can have come of
it, and finds out of the digest in a record which of them its leader had, and with it how much of
the epoch before (see `checker.servers.tree_digest`).
"""

from collections.abc import Iterable, Sequence

from rumpus.checker.servers.tree_digest import Changes, DigestedTree
from rumpus.checker.servers.txnlog import Txn

Kept = frozenset[int]
"""By what a tree differs from that of the history: zxids it has all the same."""

_MOST_TREES = 32
"""More are not followed: where servers differ in so many ways, a leader's tree may fit none."""


class LeaderTrees:
    """The tree of the history up to the end of some epoch, and its possible variants.

    Within an epoch (between `enter` and `leave`) the trees go up and down its transactions.
    Each fork doubles the variants, and most of them are soon equal again: the same sessions end in
    all. Equal trees stay equal, so they share one object, and each transaction is applied to it
    once.
    """

    def __init__(self) -> None:
        self._trees: dict[Kept, DigestedTree] = {frozenset(): DigestedTree()}
        self._walks: dict[Kept, _Walk] = {}

    def enter(self, txns: Sequence[Txn]) -> None:
        """Begin an epoch of these proposals, its first and those that follow without a gap."""
        for walk in self._walks.values():
            walk.to(0)
        walks = {id(tree): _Walk(tree, txns) for tree in self._trees.values()}
        self._walks = {kept: walks[id(tree)] for kept, tree in self._trees.items()}

    def cuts(self, probe: Txn) -> tuple[Kept, list[int]] | None:
        """How many of the epoch's transactions the leader had who proposed a later one.

        Args:
            probe: the first transaction with a digest after the epoch; none between the two
                changed a znode.

        Returns:
            What its tree had kept, and the possible numbers, descending (several if the last
            ones did not change a znode); None if it had none of the trees.
        """
        # A walk that fits nowhere goes through the whole epoch: the tree seen last is tried first.
        latest = {id(walk): walk for walk in reversed(self._walks.values())}
        for walk in latest.values():
            if found := walk.fits(probe):
                kept = next(kept for kept, other in self._walks.items() if other is walk)
                # Trees that were seen lately are the last to be given up.
                self._trees[kept] = self._trees.pop(kept)
                return kept, found
        return None

    def kept_at(self, zxid: int, digest: int) -> Kept | None:
        """What a tree with this digest has kept when all up to a zxid has been applied.

        Between epochs, that is all that has been left; None if no tree fits.
        """
        if not self._walks:
            fitting = (kept for kept, tree in self._trees.items() if tree.digest == digest)
            return next(fitting, None)
        for kept, walk in self._walks.items():
            walk.to(sum(txn.zxid <= zxid for txn in walk.txns))
            if walk.tree.digest == digest:
                return kept
        return None

    def leave(self, cut: int, dropped: Iterable[Sequence[Txn]]) -> None:
        """End the epoch where the history does.

        Args:
            cut: how many of its transactions are history.
            dropped: what some servers' logs have of it beyond, in order; each server's.
        """
        for walk in self._walks.values():
            walk.to(cut)
        self._walks = {}
        self._share()
        for txns in dropped:
            # Each variant before the tree it comes of: what was seen last stays the last.
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

    def _share(self) -> None:
        """Let trees that are equal be one."""
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
    """A tree going up and down the transactions of an epoch."""

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
        """After how many transactions the probe leads to its digest, descending."""
        found: list[int] = []
        for position in range(len(self.txns), -1, -1):
            self.to(position)
            if self.tree.leads_to(probe):
                found.append(position)
            elif found:
                break
        return found
