"""The tree as it will be once all prepared transactions are applied, and its digest.

Source: ``ZooKeeperServer.outstandingChanges`` and ``ChangeRecord`` of ZooKeeper 3.8.0.
"""

from collections import deque

from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.znode import Znode, digest, session_of
from rumpus.simulation.zookeeper.wire.permissions import Acl

KEPT = 64
"""So many transactions are remembered though they have been applied."""


class Change:
    """A node that a prepared transaction touches, as it will be then; see ``Znode``."""

    __slots__ = (
        "acl",
        "aversion",
        "child_count",
        "ctime",
        "cversion",
        "czxid",
        "data",
        "digest",
        "exists",
        "mtime",
        "mzxid",
        "owner",
        "pzxid",
        "session",
        "version",
        "zxid",
    )

    def __init__(
        self,
        zxid: int,
        digest_before: int,
        data: bytes | None,
        acl: Acl,
        czxid: int,
        mzxid: int,
        ctime: int,
        mtime: int,
        version: int,
        cversion: int,
        aversion: int,
        owner: int,
        session: int,
        pzxid: int,
        child_count: int,
    ) -> None:
        self.zxid = zxid
        """The last transaction that touches it."""
        self.exists = True
        self.digest = digest_before
        """What it adds to the tree's."""
        self.data = data
        self.acl = acl
        self.czxid = czxid
        self.mzxid = mzxid
        self.ctime = ctime
        self.mtime = mtime
        self.version = version
        self.cversion = cversion
        self.aversion = aversion
        self.owner = owner
        self.session = session
        self.pzxid = pzxid
        self.child_count = child_count


Record = Znode | Change


class OutstandingChanges:
    """What prepared transactions will change.

    A transaction is begun, makes its changes, and is taken back as a whole if need be. The root's
    path is "/" or "".

    Args:
        tree: nobody else changes it but by applying what is begun here.
    """

    def __init__(self, tree: DataTree) -> None:
        self._nodes = tree.nodes
        self._ephemerals = tree.ephemerals
        self.digest = tree.digest()
        """Of the tree with all changes."""
        self._latest: dict[str, Change] = {}
        self._done: deque[tuple[int, list[tuple[str, Change | None]]]] = deque()
        self._zxid = 0
        self._undoable = False
        self._digest_before = self.digest
        self._changed: list[tuple[str, Change | None]] = []

    def begin(self, zxid: int, *, undoable: bool) -> None:
        """The changes that follow belong to this transaction.

        Args:
            zxid: higher than those before.
            undoable: whether ``roll_back`` may be called once there are changes.
        """
        self._zxid = zxid
        self._undoable = undoable
        self._digest_before = self.digest
        if self._changed:
            self._changed = []

    def roll_back(self) -> None:
        """Take back what the present transaction has changed so far."""
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
        """Everything up to this transaction has been applied to the tree.

        The last ones stay for a while, equal to the tree: nodes that change often, such as the
        parents of what comes and goes, need not be looked at anew each time.
        """
        done = self._done
        latest = self._latest
        while len(done) > KEPT and done[0][0] <= zxid:
            forgotten, changed = done.popleft()
            for path, _ in changed:
                change = latest.get(path)
                if change is not None and change.zxid == forgotten:
                    del latest[path]

    def record(self, path: str) -> Record | None:
        """The node as it will be, None if it will not be there."""
        change = self._latest.get(path if path != "/" else "")
        if change is None:
            return self._nodes.get(path)
        return change if change.exists else None

    def ephemerals_of(self, session: int) -> dict[str, None]:
        """Paths of the ephemeral nodes that a session will have."""
        paths = dict(self._ephemerals.get(session, {}))
        for path, change in self._latest.items():
            if change.exists and change.session == session:
                paths[path] = None
            else:
                paths.pop(path, None)
        return paths

    # -- changes: all take records as they are, as ``record`` gives them ----------------------

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
        """A node will be there, its parent's cversion and pzxid move on."""
        zxid = self._zxid
        above = self._touch(parent_path, parent)
        above.cversion = parent_cversion
        above.pzxid = zxid
        above.child_count += 1
        self._account(parent_path, above)
        session = session_of(owner) if owner else 0
        node = Change(zxid, 0, data, acl, zxid, zxid, time, time, 0, 0, 0, owner, session, zxid, 0)
        self._note(path, node)
        self._account(path, node)

    def delete(self, path: str, node: Record, parent_path: str, parent: Record) -> None:
        """A node will be gone, its parent's pzxid moves on."""
        above = self._touch(parent_path, parent)
        above.pzxid = self._zxid
        above.child_count -= 1
        self._account(parent_path, above)
        gone = self._touch(path, node)
        gone.exists = False
        self.digest -= gone.digest

    def set_data(
        self, path: str, node: Record, data: bytes | None, version: int, time: int
    ) -> None:
        """A node will have other data."""
        change = self._touch(path, node)
        change.data = data
        change.version = version
        change.mtime = time
        change.mzxid = self._zxid
        self._account(path, change)

    def set_acl(self, path: str, node: Record, acl: Acl, aversion: int) -> None:
        """A node will have another list."""
        change = self._touch(path, node)
        change.acl = acl
        change.aversion = aversion
        self._account(path, change)

    def _touch(self, path: str, record: Record) -> Change:
        """The change of a node by the present transaction, as yet like the record."""
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
        change = Change(
            zxid,
            digest_before,
            record.data,
            record.acl,
            record.czxid,
            record.mzxid,
            record.ctime,
            record.mtime,
            record.version,
            record.cversion,
            record.aversion,
            record.owner,
            record.session,
            record.pzxid,
            record.child_count,
        )
        self._note(path, change)
        return change

    def _note(self, path: str, change: Change) -> None:
        """Remember a change that is new to the present transaction."""
        if path == "/":
            path = ""
        changed = self._changed
        if not changed:
            self._done.append((self._zxid, changed))
        changed.append((path, self._latest.get(path)))
        self._latest[path] = change

    def _account(self, path: str, change: Change) -> None:
        """Bring the digest up to date."""
        value = digest(path if path != "/" else "", change)
        self.digest += value - change.digest
        change.digest = value
