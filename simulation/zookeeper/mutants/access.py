"""Servers that let clients do what an access control list forbids, or refuse what it allows."""

from rumpus.simulation.zookeeper.serving.outstanding_changes import Record
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.serving.reads import Reads
from rumpus.simulation.zookeeper.tree import access_control
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.znode import Znode
from rumpus.simulation.zookeeper.wire import permissions
from rumpus.simulation.zookeeper.wire.request import Request


class WritesUnchecked(Preparer):
    """Every client may write every node."""

    def _check_permission(self, node: Record, wanted: int) -> None:
        """Allow it."""


class ReadsUnchecked(Reads):
    """Every client may read every node."""

    def __init__(self, *, skip_acl: bool = False) -> None:  # noqa: ARG002 - the setting is ignored
        super().__init__(skip_acl=True)


class InheritsLists(Reads):
    """Reading a node requires the permission to read its parent as well."""

    def _readable(self, request: Request, tree: DataTree, path: str) -> Znode:
        node = super()._readable(request, tree, path)
        parent = tree.nodes.get(path.rpartition("/")[0])
        if parent is not None:
            access_control.check(parent.acl, permissions.READ, request.identities)
        return node
