"""Servers that set, keep, remove or trigger the wrong watches."""

from collections.abc import Collection, Mapping

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.serving.reads import Reads
from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import Entry
from rumpus.simulation.zookeeper.tree.watches import (
    CHILDREN,
    DATA,
    NODE_CHILDREN_CHANGED,
    NODE_DELETED,
    Watcher,
    WatchManager,
    WatchTable,
)
from rumpus.simulation.zookeeper.tree.znode import Znode
from rumpus.simulation.zookeeper.wire import request_records
from rumpus.simulation.zookeeper.wire.error_codes import NO_NODE, Refusal
from rumpus.simulation.zookeeper.wire.jute import Reader
from rumpus.simulation.zookeeper.wire.opcodes import ERROR, SET_DATA
from rumpus.simulation.zookeeper.wire.permissions import OPEN, Acl
from rumpus.simulation.zookeeper.wire.request import Request

STICKY = 10
"""Each tenth watch stays."""
_NEVER = (1 << 63) - 1
"""A zxid that no change is after."""


class PersistentOnce(WatchManager):
    """A persistent watch is removed by its first event."""

    def add_persistent(self, path: str, watcher: Watcher, mode: int) -> None:  # noqa: ARG002 - ignored
        """Register watches that are not persistent."""
        self.data.add(path, watcher)
        self.children.add(path, watcher)


class _ShallowTable(WatchTable):
    def _take(self, path: str, kind: int) -> dict[Watcher, None]:
        near = {*self.by_path.get(path, ()), *self.by_path.get(_parent(path), ())}
        return {watcher: None for watcher in super()._take(path, kind) if watcher in near}


class RecursiveIsShallow(WatchManager):
    """A recursive watch covers a node and its children, but not what is below them."""

    def __init__(self) -> None:
        super().__init__()
        self.data = _ShallowTable()
        self.children = _ShallowTable()


class KeepsRemoved(WatchManager):
    """removeWatches finds the watches, and does not remove them."""

    def remove(self, path: str, kind: int, watcher: Watcher) -> bool:
        """Whether there is a watch."""
        tables = ([self.children] if kind != DATA else []) + (
            [self.data] if kind != CHILDREN else []
        )
        return any(watcher in table.by_path.get(path, ()) for table in tables)


class ChildEventsOfData(WatchManager):
    """Setting the data of a node triggers the child watches of its parent."""

    def changed(self, path: str, acl: Acl = OPEN) -> None:
        """A node's data have been set."""
        super().changed(path, acl)
        if self.children.by_path:
            self.children.trigger(_parent(path), NODE_CHILDREN_CHANGED, OPEN)


class ChildWatchesOutliveNodes(WatchManager):
    """The child watches of a deleted node get no event, and wait for the next node there."""

    def deleted(self, path: str, parent: str, acl: Acl = OPEN, parent_acl: Acl = OPEN) -> None:
        """A node has been deleted."""
        if self.data.by_path:
            self.data.trigger(path, NODE_DELETED, acl)
        if self.children.by_path:
            self.children.trigger(parent or "/", NODE_CHILDREN_CHANGED, parent_acl)


class ForgetsTheGap(WatchManager):
    """setWatches registers all watches, and tells nothing of what has changed meanwhile."""

    def replay(
        self,
        nodes: Mapping[str, Znode],
        watcher: Watcher,
        since: int,  # noqa: ARG002 - ignored
        data: Collection[str],
        exists: Collection[str],
        children: Collection[str],
        persistent: Collection[str] = (),
        recursive: Collection[str] = (),
    ) -> None:
        """Register watches; only those of nodes that are gone, or have come, are triggered."""
        super().replay(nodes, watcher, _NEVER, data, exists, children, persistent, recursive)


class ExistsWatchNeedsNode(Reads):
    """exists of a missing node sets no watch."""

    def _exists(self, request: Request, tree: DataTree, watches: WatchManager) -> bytes:
        path, _ = request_records.read_path_and_watch(request.body)
        if path not in tree.nodes:
            raise Refusal(NO_NODE)
        return super()._exists(request, tree, watches)


class DeletesSilently(WatchManager):
    """A deletion triggers no child watches of the parent."""

    def deleted(self, path: str, parent: str, acl: Acl = OPEN, parent_acl: Acl = OPEN) -> None:  # noqa: ARG002 - ignored
        """A node has been deleted."""
        told = self.data.trigger(path, NODE_DELETED, acl) if self.data.by_path else ()
        self.children.trigger(path, NODE_DELETED, acl, told)


class _StickyTable(WatchTable):
    def __init__(self) -> None:
        super().__init__()
        self._triggered = 0

    def trigger(
        self, path: str, kind: int, acl: Acl, told: Collection[Watcher] = ()
    ) -> Collection[Watcher]:
        """Send an event to the watchers of a path, who go on watching it at times."""
        watchers = super().trigger(path, kind, acl, told)
        for watcher in watchers:
            self._triggered += 1
            if self._triggered % STICKY == 0:
                self.add(path, watcher)
        return watchers


class SomeWatchesStay(WatchManager):
    """Each tenth watch stays when it is triggered."""

    def __init__(self) -> None:
        super().__init__()
        self.data = _StickyTable()
        self.children = _StickyTable()


class TellsOfFailures(ZooKeeperServer):
    """A setData that fails triggers the data watches, on the server that was asked."""

    def finish(self, request: Request, entry: Entry | None) -> None:
        """Final processing."""
        if request.type == SET_DATA and entry is not None and entry.header.type == ERROR:
            path = Reader(request.body).read_string()
            if path in self.database.tree.nodes:
                self.watches.changed(path)
        super().finish(request, entry)


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def _mutant(name: str, mistake: str, source: str, parts: Mapping[type, type]) -> ServerMutant:
    expected = frozenset({"wrong-event"})
    return ServerMutant(name, mistake, source, "watch", "looks-again", expected, parts)


MUTANTS = (
    _mutant(
        "persistent-once",
        "remove a persistent watch when it is triggered",
        GUIDE + "Persistent, Recursive Watches: they are not removed when triggered",
        {WatchManager: PersistentOnce},
    ),
    _mutant(
        "shallow-recursive-watches",
        "trigger a recursive watch for a node and its children only",
        GUIDE + "Persistent, Recursive Watches: for any znode below; ZOOKEEPER-1416",
        {WatchManager: RecursiveIsShallow},
    ),
    _mutant(
        "kept-watches",
        "answer removeWatches and keep the watches",
        GUIDE + "Remove Watches; ZOOKEEPER-442",
        {WatchManager: KeepsRemoved},
    ),
    _mutant(
        "child-events-of-data",
        "trigger the child watches of a parent when the data of a child are set",
        GUIDE + "ZooKeeper Watches: data watches and child watches",
        {WatchManager: ChildEventsOfData},
    ),
    _mutant(
        "child-watches-outlive-nodes",
        "send no event of a deletion to those who watch the children of the deleted znode",
        GUIDE + "Semantics of Watches: a deleted event is enabled with calls to getChildren",
        {WatchManager: ChildWatchesOutliveNodes},
    ),
    _mutant(
        "forgetful-set-watches",
        "set the watches of a client that reconnects without an event of what changed meanwhile",
        GUIDE + "ZooKeeper Watches: watches are registered again and triggered if needed",
        {WatchManager: ForgetsTheGap},
    ),
    _mutant(
        "exists-watch-needs-node",
        "set no watch when exists is asked of a znode that is missing",
        GUIDE + "Semantics of Watches: a created event is enabled with a call to exists",
        {Reads: ExistsWatchNeedsNode},
    ),
    _mutant(
        "silent-deletions",
        "send no event of a deletion to those who watch the children of the parent",
        GUIDE + "Semantics of Watches: a child event is enabled with a call to getChildren",
        {WatchManager: DeletesSilently},
    ),
    _mutant(
        "sticky-watches",
        "keep each tenth watch when it is triggered",
        GUIDE + "ZooKeeper Watches: one-time trigger",
        {WatchManager: SomeWatchesStay},
    ),
    _mutant(
        "events-of-failures",
        "send an event of a change when a setData was refused",
        GUIDE + "Semantics of Watches: a changed event is of a change",
        {ZooKeeperServer: TellsOfFailures},
    ),
)
