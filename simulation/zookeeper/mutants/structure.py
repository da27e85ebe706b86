"""Leaders under which the tree gets a shape that it must not have."""

from typing import Any

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.serving.outstanding_changes import OutstandingChanges, Record
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import CloseSessionTxn, Transaction
from rumpus.simulation.zookeeper.tree.watches import WatchManager
from rumpus.simulation.zookeeper.wire import permissions
from rumpus.simulation.zookeeper.wire.paths import UNDELETABLE


class ClosesAmongOrphans(Preparer):
    """closeSession goes on if an ephemeral node has no parent any more; that node stays."""

    def _prepare_close_session(self, _body: bytes) -> Transaction:
        changes = self.changes
        paths = sorted(changes.ephemerals_of(self._request.session), key=_depth, reverse=True)
        for path in paths:
            parent_path = path[: path.rfind("/")]
            parent = changes.record(parent_path)
            if parent is not None:
                changes.delete(path, self._existing(path), parent_path, parent)
        return CloseSessionTxn(tuple(paths))


class OrphansChildren(ClosesAmongOrphans):
    """A node with children is deleted; the children can be read, but nobody lists them."""

    def _check_no_children(self, node: Record) -> None:
        """Allow it."""


class AllowsChildrenOfEphemerals(ClosesAmongOrphans):
    """An ephemeral node may have children; they stay when its session ends."""

    def _check_may_have_children(self, node: Record) -> None:
        """Allow it."""


class _SeesBelow(OutstandingChanges):
    def below(self, path: str) -> list[str]:
        """The paths of all descendants after all changes, the deepest ones first."""
        start = path + "/"
        known = {*self._nodes, *self._latest}
        found = [one for one in known if one.startswith(start) and self.record(one) is not None]
        return sorted(found, key=lambda one: (-_depth(one), one))


class DeletesSubtrees(Preparer):
    """A delete includes all descendants; needs `RemovesSubtrees` to apply it."""

    def __init__(self, tree: DataTree, *args: Any) -> None:
        super().__init__(tree, *args)
        self.changes: _SeesBelow = _SeesBelow(tree)

    def _delete(self, path: str, version: int) -> Transaction:
        changes = self.changes
        node, parent = changes.record(path), changes.record(path.rpartition("/")[0])
        if node is not None and parent is not None and path not in UNDELETABLE:
            self._check_permission(parent, permissions.DELETE)
            self._check_version(node.version, version)
            for one in changes.below(path):
                above = one[: one.rfind("/")]
                changes.delete(one, self._existing(one), above, self._existing(above))
        return super()._delete(path, version)


class RemovesSubtrees(DataTree):
    """Deleting a node deletes its children first."""

    def _delete(self, path: str, zxid: int, watches: WatchManager | None) -> int:
        node = self.nodes.get(path)
        for name in [] if node is None else list(node.children):
            self._delete(f"{path}/{name}", zxid, watches)
        return super()._delete(path, zxid, watches)


def _depth(path: str) -> int:
    return path.count("/")


MUTANTS = (
    ServerMutant(
        "orphaned-children",
        "delete a znode that has children, and leave them without a parent",
        "delete of the API: KeeperException.NotEmpty if the node has children",
        "watch",
        "looks-again",
        frozenset({"illegal-change"}),
        {Preparer: OrphansChildren},
    ),
    ServerMutant(
        "recursive-delete",
        "delete the children of a deleted znode as well, instead of refusing",
        "delete of the API: KeeperException.NotEmpty if the node has children",
        "watch",
        "looks-again",
        frozenset({"diverged-servers"}),
        {Preparer: DeletesSubtrees, DataTree: RemovesSubtrees},
    ),
    ServerMutant(
        "children-of-ephemerals",
        "create children of ephemeral znodes",
        GUIDE + "Ephemeral Nodes: they are not allowed to have children",
        "znode",
        "guarded",
        frozenset({"illegal-change"}),
        {Preparer: AllowsChildrenOfEphemerals},
    ),
)
