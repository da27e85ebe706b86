"""Servers that let clients do what an access control list forbids, or refuse what it allows."""

from collections.abc import Iterable

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.serving.outstanding_changes import Record
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.serving.reads import Reads
from rumpus.simulation.zookeeper.tree import access_control
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import Transaction
from rumpus.simulation.zookeeper.tree.znode import Znode
from rumpus.simulation.zookeeper.wire import opcodes, permissions
from rumpus.simulation.zookeeper.wire.error_codes import NO_NODE, Refusal
from rumpus.simulation.zookeeper.wire.paths import SYSTEM
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


class DeletesByOwnList(Preparer):
    """A delete asks for the permission on the node, not on its parent."""

    def _delete(self, path: str, version: int) -> Transaction:
        node = self.changes.record(path)
        if node is not None:
            super()._check_permission(node, permissions.DELETE)
        return super()._delete(path, version)

    def _check_permission(self, node: Record, wanted: int) -> None:
        if wanted != permissions.DELETE:
            super()._check_permission(node, wanted)


class LetsWritersAdminister(Preparer):
    """A setACL asks for WRITE, not for ADMIN."""

    def _check_permission(self, node: Record, wanted: int) -> None:
        asked = permissions.WRITE if wanted == permissions.ADMIN else wanted
        super()._check_permission(node, asked)


class MultiReadsUnchecked(Reads):
    """A multiRead reads every node."""

    def _readable(self, request: Request, tree: DataTree, path: str) -> Znode:
        if request.type != opcodes.MULTI_READ:
            return super()._readable(request, tree, path)
        node = tree.nodes.get(path)
        if node is None:
            raise Refusal(NO_NODE)
        return node


class RestoresWithoutLists(DataTree):
    """A node that is read from a snapshot is open to everyone."""

    @classmethod
    def restore(cls, nodes: Iterable[tuple[str, Znode]]) -> DataTree:
        """The tree with these nodes, and with no other list than an open one."""
        tree = super().restore(nodes)
        for path, node in tree.nodes.items():
            if not path.startswith(SYSTEM):
                node.acl = permissions.OPEN
        return tree


MUTANTS = (
    ServerMutant(
        "unenforced-acl",
        "let every client read and write every znode, without checking access control lists",
        GUIDE + "ZooKeeper access control using ACLs",
        "znode",
        "guarded",
        frozenset({"illegal-change", "unauthorised-access", "wrong-answer"}),
        {Preparer: WritesUnchecked, Reads: ReadsUnchecked},
    ),
    ServerMutant(
        "inherited-acl",
        "refuse reads of a znode by a client that may not read its parent",
        GUIDE + "ZooKeeper access control using ACLs: ACLs are not recursive",
        "znode",
        "guarded",
        frozenset({"refused-access", "wrong-answer"}),
        {Reads: InheritsLists},
    ),
    ServerMutant(
        "delete-by-own-acl",
        "ask for the permission to delete on the znode instead of its parent",
        GUIDE + "ACL Permissions: DELETE: you can delete a child node",
        "znode",
        "guarded",
        frozenset({"illegal-change", "wrong-answer"}),
        {Preparer: DeletesByOwnList},
    ),
    ServerMutant(
        "acl-by-writers",
        "let every client that may write a znode set its access control list",
        GUIDE + "ACL Permissions: ADMIN: you can set permissions",
        "znode",
        "guarded",
        frozenset({"illegal-change"}),
        {Preparer: LetsWritersAdminister},
    ),
    ServerMutant(
        "unguarded-multi-read",
        "read every znode in a multiRead, without checking access control lists",
        GUIDE + "ACL Permissions: READ; ZOOKEEPER-3402 (multiRead)",
        "znode",
        "guarded",
        frozenset({"wrong-answer"}),
        {Reads: MultiReadsUnchecked},
    ),
    ServerMutant(
        "acl-lost-in-snapshot",
        "open every znode to everyone that is read from a snapshot",
        GUIDE + "ZooKeeper access control using ACLs; ZOOKEEPER-4846 (missing ACL at a reload)",
        "znode",
        "guarded",
        frozenset({"wrong-answer"}),
        {DataTree: RestoresWithoutLists},
    ),
)
