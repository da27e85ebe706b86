"""Servers that list or count nodes wrongly."""

from rumpus.simulation.zookeeper.mutants.server_mutant import ServerMutant
from rumpus.simulation.zookeeper.serving.reads import Reads
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.quotas import Quotas
from rumpus.simulation.zookeeper.tree.watches import WatchManager
from rumpus.simulation.zookeeper.tree.znode import Znode
from rumpus.simulation.zookeeper.wire import request_records
from rumpus.simulation.zookeeper.wire.jute import write_int, write_strings
from rumpus.simulation.zookeeper.wire.request import Request

INCOMPLETE = 50
"""Each 50th list of several children lacks the last one that was created."""


class MissesAChild(Reads):
    """Each 50th list of several children lacks the last one that was created."""

    def __init__(self, *, skip_acl: bool = False) -> None:
        super().__init__(skip_acl=skip_acl)
        self._lists = 0

    def _get_children(self, request: Request, tree: DataTree, watches: WatchManager) -> bytes:
        return self._listing(self._read_and_watch(request, tree, watches.children))

    def _get_children2(self, request: Request, tree: DataTree, watches: WatchManager) -> bytes:
        node = self._read_and_watch(request, tree, watches.children)
        return self._listing(node) + node.stat()

    def _listing(self, node: Znode) -> bytes:
        if node.child_count > 1:
            self._lists += 1
            if self._lists % INCOMPLETE == 0:
                return write_strings(list(node.children)[:-1])
        return node.listing()


class CountsChildrenOnly(Reads):
    """getAllChildrenNumber counts the children, not all descendants."""

    def _get_all_children_number(
        self, request: Request, tree: DataTree, _watches: WatchManager
    ) -> bytes:
        path = request_records.read_path(request.body)
        return write_int(self._readable(request, tree, path).child_count)


class _OnlyUp(Quotas):
    def count(self, path: str, nodes: int, size: int) -> None:
        if nodes >= 0:
            super().count(path, nodes, size)


class QuotasIgnoreDeletions(DataTree):
    """Deleted nodes stay in the count of a quota."""

    def __init__(self) -> None:
        super().__init__()
        self.quotas = _OnlyUp(self.nodes)


MUTANTS = (
    ServerMutant(
        "missing-child",
        "leave the newest child out of one list of children in 50",
        "getChildren of the API: the list of the children",
        "ephemeral",
        "ephemeral",
        frozenset({"wrong-answer"}),
        {Reads: MissesAChild},
    ),
    ServerMutant(
        "shallow-count",
        "count children only when asked for the number of all descendants",
        "getAllChildrenNumber of the API; ZOOKEEPER-3167",
        "znode",
        "guarded",
        frozenset({"wrong-answer"}),
        {Reads: CountsChildrenOnly},
    ),
    ServerMutant(
        "quota-without-deletions",
        "leave deleted znodes in the count of a quota",
        "ZooKeeper Quota Guide: the count quota limits the number of znodes under a path",
        "znode",
        "guarded",
        frozenset({"wrong-answer"}),
        {DataTree: QuotasIgnoreDeletions},
    ),
)
