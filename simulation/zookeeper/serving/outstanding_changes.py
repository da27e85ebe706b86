"""Outstanding changes: the tree after all prepared transactions, and its digest.

Source: ``ZooKeeperServer.outstandingChanges`` and ``ChangeRecord`` of ZooKeeper 3.8.0.
"""

from collections import deque

from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.znode import Persisted, Znode, digest, persisted_stat
from rumpus.simulation.zookeeper.wire.permissions import Acl

KEPT = 64
"""How many applied transactions stay in the outstanding changes."""


class Change(Persisted):
    """A node after the prepared transactions (``ChangeRecord``).

    Args:
        zxid: of the last transaction that changes it.
        digest_before: its contribution to the digest of the tree so far.
        child_count: number of its children.
        data: as in ``Persisted``.
        acl: as stored.
        stat: as ``persisted_stat`` returns it.

    Attributes:
        next_acl: the list that it has once this is applied, where that is another one.
        unlike: whether the tree has something else once this is applied: another list, or a
            greater cversion than one that has overflown.
    """

    __slots__ = ("child_count", "digest", "exists", "next_acl", "unlike", "zxid")

    def __init__(
        self,
        zxid: int,
        digest_before: int,
        child_count: int,
        data: bytes | None,
        acl: Acl,
        *stat: int,
    ) -> None:
        super().__init__(data, acl, *stat)
        self.zxid = zxid
        self.exists = True
        self.digest = digest_before
        self.child_count = child_count
        self.next_acl: Acl | None = None
        self.unlike = False


Record = Znode | Change


class OutstandingChanges:
    """The changes of prepared transactions that are not applied yet.

    ``begin`` starts a transaction, the following calls add its changes, and ``roll_back`` undoes
    all of them. The root's path is "/" or "".

    Args:
        tree: only transactions prepared here may be applied to it.
    """

    def __init__(self, tree: DataTree) -> None:
        self._nodes = tree.nodes
        self._ephemerals = tree.ephemerals
        self.digest = tree.digest()
        """Digest of the tree with all changes."""
        self._latest: dict[str, Change] = {}
        self._done: deque[tuple[int, list[tuple[str, Change | None]]]] = deque()
        self._applied = 0
        self._zxid = 0
        self._undoable = False
        self._digest_before = self.digest
        self._changed: list[tuple[str, Change | None]] = []

    def begin(self, zxid: int, *, undoable: bool) -> None:
        """Begin a transaction: the following changes belong to it.

        Args:
            zxid: higher than those before.
            undoable: whether ``roll_back`` may be called after the first change.
        """
        self._zxid = zxid
        self._undoable = undoable
        self._digest_before = self.digest
        if self._changed:
            self._changed = []

    def roll_back(self) -> None:
        """Undo all changes of the current transaction."""
        if not self._changed:
            return
        latest = self._latest
        for path, before in reversed(self._changed):
            if before is None:
                del latest[path]
            else:
                latest[path] = before
        self._done.pop()
        self._changed = []
        self.digest = self._digest_before

    def forget(self, zxid: int) -> None:
        """All transactions up to this zxid have been applied to the tree: remove their changes.

        Those of the last ``KEPT`` transactions stay, as a cache: they are equal to the tree, and
        nodes that change often, such as parents, need not be copied each time.
        """
        self._applied = zxid
        done = self._done
        latest = self._latest
        while len(done) > KEPT and done[0][0] <= zxid:
            forgotten, changed = done.popleft()
            for path, _ in changed:
                change = latest.get(path)
                if change is not None and change.zxid == forgotten:
                    del latest[path]

    def record(self, path: str) -> Record | None:
        """The node after all changes; None if it does not exist then."""
        change = self._latest.get(path if path != "/" else "")
        if change is None:
            return self._nodes.get(path)
        if change.unlike and change.zxid <= self._applied:
            self._accept(path if path != "/" else "", change)
        return change if change.exists else None

    def _accept(self, path: str, change: Change) -> None:
        """Make a change that has been applied like what the tree has now."""
        node = self._nodes.get(path)
        change.unlike, change.next_acl = False, None
        if node is not None:
            change.acl, change.cversion, change.pzxid = node.acl, node.cversion, node.pzxid
            before = self.digest
            self._update_digest(path, change)
            self._digest_before += self.digest - before

    def ephemerals_of(self, session: int) -> dict[str, None]:
        """Paths of the ephemeral nodes of a session after all changes."""
        paths = dict(self._ephemerals.get(session, {}))
        for path, change in self._latest.items():
            if change.exists and change.session == session:
                paths[path] = None
            else:
                paths.pop(path, None)
        return paths

    # -- changes: nodes are given as ``record`` returns them ----------------------------------

    def create(
        self,
        path: str,
        data: bytes | None,
        acl: Acl,
        owner: int,
        time: int,
        parent_path: str,
        parent: Record,
        parent_cversion: int,
    ) -> None:
        """Create a node; its parent's cversion and pzxid change."""
        zxid = self._zxid
        parent_change = self._touch(parent_path, parent)
        parent_change.cversion = parent_cversion
        if parent_cversion < 0:
            parent_change.unlike = True
        parent_change.pzxid = zxid
        parent_change.child_count += 1
        self._update_digest(parent_path, parent_change)
        node = Change(zxid, 0, 0, data, acl, zxid, zxid, time, time, 0, 0, 0, owner, zxid)
        self._note(path, node)
        self._update_digest(path, node)

    def delete(self, path: str, node: Record, parent_path: str, parent: Record) -> None:
        """Delete a node; its parent's pzxid changes."""
        parent_change = self._touch(parent_path, parent)
        parent_change.pzxid = self._zxid
        parent_change.child_count -= 1
        self._update_digest(parent_path, parent_change)
        gone = self._touch(path, node)
        gone.exists = False
        self.digest -= gone.digest

    def set_data(
        self, path: str, node: Record, data: bytes | None, version: int, time: int
    ) -> None:
        """Set the data of a node."""
        change = self._touch(path, node)
        change.data = data
        change.version = version
        change.mtime = time
        change.mzxid = self._zxid
        self._update_digest(path, change)

    def set_acl(self, path: str, node: Record, acl: Acl, aversion: int) -> None:
        """Set the ACL of a node.

        As in 3.8.0 (``PrepRequestProcessor``), later requests are validated against the former
        list, as long as a change of the node is outstanding.
        """
        change = self._touch(path, node)
        change.next_acl = acl
        change.unlike = True
        change.aversion = aversion
        self._update_digest(path, change)

    def _touch(self, path: str, record: Record) -> Change:
        """The change of a node by the current transaction; at first a copy of ``record``."""
        zxid = self._zxid
        if isinstance(record, Change):
            if record.zxid == zxid:
                return record
            digest_before = record.digest
            if not self._undoable:
                record.zxid = zxid
                self._note(path, record)
                return record
        else:
            digest_before = digest(path if path != "/" else "", record)
        stat = persisted_stat(record)
        change = Change(zxid, digest_before, record.child_count, record.data, record.acl, *stat)
        if isinstance(record, Change):
            change.next_acl, change.unlike = record.next_acl, record.unlike
        self._note(path, change)
        return change

    def _note(self, path: str, change: Change) -> None:
        """Add a change to the current transaction."""
        if path == "/":
            path = ""
        changed = self._changed
        if not changed:
            self._done.append((self._zxid, changed))
        changed.append((path, self._latest.get(path)))
        self._latest[path] = change

    def _update_digest(self, path: str, change: Change) -> None:
        """Update the digest of the tree by that of a node."""
        value = digest(path if path != "/" else "", change)
        self.digest += value - change.digest
        change.digest = value
