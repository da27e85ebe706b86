"""The watches of one server.

Watches belong to connections, not to sessions, and are never replicated. There are two tables:
data watches (getData, exists) and child watches (getChildren); persistent watches are in both.

Source: ``WatchManager``, ``WatcherModeManager`` and ``DataTree.setWatches`` of ZooKeeper 3.8.0,
with the fix of CVE-2024-23944, which distributions have backported to 3.8.0: a client that may
not read a znode gets no event of it, though its watch is removed. ``setWatches`` does not check
permissions.
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
        """Send the client a watch event; ``kind`` is NODE_CREATED to NODE_CHILDREN_CHANGED."""


Mode = int | None
"""PERSISTENT, PERSISTENT_RECURSIVE, or None: removed by its first event."""


class Modes:
    """The modes of the persistent watches of one table (``WatcherModeManager``)."""

    __slots__ = ("by_watch", "recursive")

    def __init__(self) -> None:
        self.by_watch: dict[tuple[Watcher, str], int] = {}
        self.recursive = 0
        """How many of the watches are recursive."""

    def set(self, watcher: Watcher, path: str, mode: Mode) -> None:
        """Set the mode of a watch; None for one that is removed or not persistent."""
        if self.by_watch.pop((watcher, path), None) == PERSISTENT_RECURSIVE:
            self.recursive -= 1
        if mode is not None:
            self.by_watch[watcher, path] = mode
            self.recursive += mode == PERSISTENT_RECURSIVE


class WatchTable:
    """One table of watches, by path and by connection."""

    __slots__ = ("_modes", "by_path", "by_watcher")

    def __init__(self) -> None:
        self._modes = Modes()
        self.by_path: dict[str, dict[Watcher, None]] = {}
        self.by_watcher: dict[Watcher, dict[str, None]] = {}

    def add(self, path: str, watcher: Watcher, mode: Mode = None) -> None:
        """Register a watch; it replaces that of the same connection on the same path."""
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
        """Remove one watch. Returns whether there was one."""
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
        """Whether any connection watches exactly this path; false for "".

        The path parent iterator of a real server fails on a path without a slash, and goes on to
        the parents only while there are recursive watches.

        Raises:
            MalformedRecord: the iterator of a real server would fail.
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
        """Remove all watches of a connection."""
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
        """Send an event to the watchers of a path.

        Args:
            path: of the node that has changed.
            kind: type of the event.
            acl: of the node; connections that may not read it get no event.
            told: connections that have had this event already, and do not get it again.

        Returns:
            All watchers of the path.
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
        """The watchers of an event; watches that are not persistent are removed."""
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
    """The data watches and child watches of a server."""

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
        """``removeWatches``: kind CHILDREN, DATA or ANY. Returns whether there was a watch."""
        removed = kind != DATA and self.children.remove(path, watcher)
        if kind != CHILDREN and self.data.remove(path, watcher):
            removed = True
        return removed

    def contains(self, path: str, kind: int) -> bool:
        """``checkWatches``: as in 3.8.0, whether any connection watches exactly this path.

        Raises:
            MalformedRecord: see `WatchTable.contains`; for ANY both tables are always searched.
        """
        child = kind != DATA and self.children.contains(path)
        data = kind != CHILDREN and self.data.contains(path)
        return child or data

    def remove_connection(self, watcher: Watcher) -> None:
        """Remove all watches of a connection."""
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
        """``setWatches``: register watches, or send events for what has changed since a zxid.

        Args:
            nodes: of the tree.
            watcher: the connection.
            since: the last zxid that the client has seen.
            data: paths with data watches of getData.
            exists: paths with watches of exists.
            children: paths with child watches.
            persistent: paths with persistent watches.
            recursive: paths with persistent recursive watches.
        """

        def replay(path: str, changed_at: int | None, kind: int, table: WatchTable) -> None:
            if changed_at is None:
                watcher.send_event(NODE_DELETED, path)
            elif changed_at > since:
                watcher.send_event(kind, path)
            else:
                table.add(path, watcher)

        for path in data:
            node = nodes.get(path)
            replay(path, None if node is None else node.mzxid, NODE_DATA_CHANGED, self.data)
        for path in exists:
            if path in nodes:
                watcher.send_event(NODE_CREATED, path)
            else:
                self.data.add(path, watcher)
        for path in children:
            node = nodes.get(path)
            replay(path, None if node is None else node.pzxid, NODE_CHILDREN_CHANGED, self.children)
        for path in persistent:
            self.add_persistent(path, watcher, PERSISTENT)
        for path in recursive:
            self.add_persistent(path, watcher, PERSISTENT_RECURSIVE)

    # -- triggering -------------------------------------------------------------------------

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

    # -- counts -----------------------------------------------------------------------------

    def count(self) -> int:
        """How many watches there are in both tables."""
        return sum(map(len, self.data.by_path.values())) + sum(
            map(len, self.children.by_path.values())
        )

    def data_summary(self) -> tuple[int, int, int]:
        """For ``wchs``: numbers of connections, paths and watches; data watches only."""
        table = self.data
        connections = sum(1 for paths in table.by_watcher.values() if paths)
        return connections, len(table.by_path), sum(map(len, table.by_path.values()))
