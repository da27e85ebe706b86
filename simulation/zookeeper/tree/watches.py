"""The watches of one server: who is told of which changes, how often and in which order.

Watches belong to connections, not to sessions, and are never replicated. There are two tables:
data watches (getData, exists) and child watches (getChildren); persistent watches stand in both.

Source: ``WatchManager``, ``WatcherModeManager`` and ``DataTree.setWatches`` of ZooKeeper 3.8.0;
with the correction of CVE-2024-23944, which distributions have in their 3.8.0 as well: who may
not read a znode is not told of it, though the watch is used up. ``setWatches`` does not ask.
"""

from collections.abc import Collection, Mapping
from typing import Protocol

from rumpus.simulation.zookeeper.tree.access_control import permits
from rumpus.simulation.zookeeper.tree.znode import Znode
from rumpus.simulation.zookeeper.wire.jute import MalformedRecord
from rumpus.simulation.zookeeper.wire.permissions import OPEN, READ, Acl
from rumpus.simulation.zookeeper.wire.request import Identities

NODE_CREATED = 1
NODE_DELETED = 2
NODE_DATA_CHANGED = 3
NODE_CHILDREN_CHANGED = 4

PERSISTENT = 0
PERSISTENT_RECURSIVE = 1

CHILDREN = 1
DATA = 2
ANY = 3


class Watcher(Protocol):
    """A connection. Connections are compared by identity."""

    identities: Identities

    def send_event(self, kind: int, path: str) -> None:
        """Tell the client: ``kind`` is NODE_CREATED to NODE_CHILDREN_CHANGED."""


Mode = int | None
"""PERSISTENT, PERSISTENT_RECURSIVE, or None: for one event."""


class Modes:
    """How the watches of one table last that last: by connection and path."""

    __slots__ = ("by_watch", "recursive")

    def __init__(self) -> None:
        self.by_watch: dict[tuple[Watcher, str], int] = {}
        self.recursive = 0
        """How many of them are recursive."""

    def set(self, watcher: Watcher, path: str, mode: Mode) -> None:
        """The last registration decides."""
        if self.by_watch.pop((watcher, path), None) == PERSISTENT_RECURSIVE:
            self.recursive -= 1
        if mode is not None:
            self.by_watch[watcher, path] = mode
            self.recursive += mode == PERSISTENT_RECURSIVE


class WatchTable:
    """One table: paths to connections, and back."""

    __slots__ = ("_modes", "by_path", "by_watcher")

    def __init__(self) -> None:
        self._modes = Modes()
        self.by_path: dict[str, dict[Watcher, None]] = {}
        self.by_watcher: dict[Watcher, dict[str, None]] = {}

    def add(self, path: str, watcher: Watcher, mode: Mode = None) -> None:
        """Register; what stood there for this path and connection is replaced."""
        watchers = self.by_path.get(path)
        if watchers is None:
            self.by_path[path] = {watcher: None}
        else:
            watchers[watcher] = None
        paths = self.by_watcher.get(watcher)
        if paths is None:
            self.by_watcher[watcher] = {path: None}
        else:
            paths[path] = None
        if mode is not None or self._modes.by_watch:
            self._modes.set(watcher, path, mode)

    def remove(self, path: str, watcher: Watcher) -> bool:
        """Take one registration back. Returns whether there was one."""
        watchers = self.by_path.get(path)
        if watchers is None or watcher not in watchers:
            return False
        del watchers[watcher]
        if not watchers:
            del self.by_path[path]
        del self.by_watcher[watcher][path]
        if self._modes.by_watch:
            self._modes.set(watcher, path, None)
        return True

    def contains(self, path: str) -> bool:
        """Whether anybody watches exactly this path; "" never counts as watched.

        The real server's iterator towards the root looks for the next slash before it gives a
        path, and goes beyond the path itself only while there are recursive watches.

        Raises:
            MalformedRecord: the iterator finds no slash.
        """
        if not path:
            return False
        if "/" in path:
            if path in self.by_path:
                return True
            if path[0] == "/" or not self._modes.recursive:
                return False
        raise MalformedRecord("a path that does not lead to the root")

    def forget(self, watcher: Watcher) -> None:
        """Take all registrations of a connection back."""
        for path in self.by_watcher.pop(watcher, ()):
            watchers = self.by_path[path]
            del watchers[watcher]
            if not watchers:
                del self.by_path[path]
            if self._modes.by_watch:
                self._modes.set(watcher, path, None)

    def trigger(
        self, path: str, kind: int, acl: Acl, told: Collection[Watcher] = ()
    ) -> Collection[Watcher]:
        """Tell all who watch a path and may read by ``acl``, except who has been told already.

        Returns:
            Who watched it, told now or before.
        """
        if not self._modes.by_watch:
            watchers: Collection[Watcher] | None = self.by_path.pop(path, None)
            if watchers is None:
                return ()
            for watcher in watchers:
                del self.by_watcher[watcher][path]
        else:
            watchers = self._take(path, kind)
        for watcher in watchers:
            if watcher not in told and (acl is OPEN or permits(acl, READ, watcher.identities)):
                watcher.send_event(kind, path)
        return watchers

    def _take(self, path: str, kind: int) -> dict[Watcher, None]:
        """Who is to be told; registrations for one event are removed."""
        modes = self._modes.by_watch
        found: dict[Watcher, None] = {}
        here = self.by_path.get(path)
        if here is not None:
            for watcher in list(here):
                mode = modes.get((watcher, path))
                if mode is None:
                    self.remove(path, watcher)
                elif mode == PERSISTENT_RECURSIVE and kind == NODE_CHILDREN_CHANGED:
                    continue
                found[watcher] = None
        if self._modes.recursive and kind != NODE_CHILDREN_CHANGED:
            while path != "/":
                path = path[: path.rfind("/")] or "/"
                for watcher in self.by_path.get(path, ()):
                    if modes.get((watcher, path)) == PERSISTENT_RECURSIVE:
                        found[watcher] = None
        return found


class WatchManager:
    """Both tables of a server."""

    __slots__ = ("children", "data")

    def __init__(self) -> None:
        self.data = WatchTable()
        self.children = WatchTable()

    # -- registration -----------------------------------------------------------------------

    def add_persistent(self, path: str, watcher: Watcher, mode: int) -> None:
        """``addWatch``: mode PERSISTENT or PERSISTENT_RECURSIVE."""
        self.data.add(path, watcher, mode)
        self.children.add(path, watcher, mode)

    def remove(self, path: str, kind: int, watcher: Watcher) -> bool:
        """``removeWatches``: kind CHILDREN, DATA or ANY. Returns whether anything was there."""
        removed = kind != DATA and self.children.remove(path, watcher)
        if kind != CHILDREN and self.data.remove(path, watcher):
            removed = True
        return removed

    def contains(self, path: str, kind: int) -> bool:
        """``checkWatches``. As in 3.8.0, anybody's watch on exactly this path will do.

        Raises:
            MalformedRecord: see `WatchTable.contains`; for ANY both tables are always asked.
        """
        child = kind != DATA and self.children.contains(path)
        data = kind != CHILDREN and self.data.contains(path)
        return child or data

    def remove_connection(self, watcher: Watcher) -> None:
        """Take all watches of a connection back."""
        self.data.forget(watcher)
        self.children.forget(watcher)

    def replay(
        self,
        nodes: Mapping[str, Znode],
        watcher: Watcher,
        since: int,
        data: Collection[str],
        exists: Collection[str],
        children: Collection[str],
        persistent: Collection[str] = (),
        recursive: Collection[str] = (),
    ) -> None:
        """``setWatches``: register anew, or tell at once what has happened since a zxid."""
        for path in data:
            node = nodes.get(path)
            if node is None:
                watcher.send_event(NODE_DELETED, path)
            elif node.mzxid > since:
                watcher.send_event(NODE_DATA_CHANGED, path)
            else:
                self.data.add(path, watcher)
        for path in exists:
            if path in nodes:
                watcher.send_event(NODE_CREATED, path)
            else:
                self.data.add(path, watcher)
        for path in children:
            node = nodes.get(path)
            if node is None:
                watcher.send_event(NODE_DELETED, path)
            elif node.pzxid > since:
                watcher.send_event(NODE_CHILDREN_CHANGED, path)
            else:
                self.children.add(path, watcher)
        for path in persistent:
            self.add_persistent(path, watcher, PERSISTENT)
        for path in recursive:
            self.add_persistent(path, watcher, PERSISTENT_RECURSIVE)

    # -- firing -----------------------------------------------------------------------------

    def created(self, path: str, parent: str, acl: Acl = OPEN, parent_acl: Acl = OPEN) -> None:
        """A node has been created; ``parent`` is "" below the root."""
        if self.data.by_path:
            self.data.trigger(path, NODE_CREATED, acl)
        if self.children.by_path:
            self.children.trigger(parent or "/", NODE_CHILDREN_CHANGED, parent_acl)

    def deleted(self, path: str, parent: str, acl: Acl = OPEN, parent_acl: Acl = OPEN) -> None:
        """A node has been deleted; ``parent`` is "" below the root."""
        told = self.data.trigger(path, NODE_DELETED, acl) if self.data.by_path else ()
        if self.children.by_path:
            self.children.trigger(path, NODE_DELETED, acl, told)
            self.children.trigger(parent or "/", NODE_CHILDREN_CHANGED, parent_acl)

    def changed(self, path: str, acl: Acl = OPEN) -> None:
        """A node's data have been set."""
        if self.data.by_path:
            self.data.trigger(path, NODE_DATA_CHANGED, acl)

    # -- figures ----------------------------------------------------------------------------

    def count(self) -> int:
        """Registrations in both tables."""
        return sum(map(len, self.data.by_path.values())) + sum(
            map(len, self.children.by_path.values())
        )

    def data_summary(self) -> tuple[int, int, int]:
        """``wchs``: connections, paths, and watches; of data watches only."""
        table = self.data
        connections = sum(1 for paths in table.by_watcher.values() if paths)
        return connections, len(table.by_path), sum(map(len, table.by_path.values()))
