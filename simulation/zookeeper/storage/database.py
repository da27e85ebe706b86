"""A server's database: the tree and the sessions in memory, the log and snapshots on disk.

Source: ``ZKDatabase`` and ``FileTxnSnapLog`` of ZooKeeper 3.8.0.
"""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.process import Process
from rumpus.simulation.zookeeper.startup_errors import StartupRefused
from rumpus.simulation.zookeeper.storage import snapshot
from rumpus.simulation.zookeeper.storage.atomic_file import replace_file
from rumpus.simulation.zookeeper.storage.snapshot import InvalidSnapshot
from rumpus.simulation.zookeeper.storage.txn_log import TxnLog
from rumpus.simulation.zookeeper.tree.data_tree import DataTree, Result
from rumpus.simulation.zookeeper.tree.transactions import CloseSessionTxn, Entry, Header
from rumpus.simulation.zookeeper.wire import opcodes

COMMITTED_LOG = 500
"""``commitLogCount``: how many of the last applied entries are kept in memory for learners."""
SNAPSHOTS_TRIED = 100
"""At most this many of the newest snapshots are tried when the database is loaded."""
SNAPSHOT_SIZE_FACTOR = 0.33
"""``snapshotSizeFactor``: SNAP instead of DIFF if the log to send is larger than this share."""

_PREFIX = "snapshot."


class TruncationFailed(Exception):  # noqa: N818 - says what happened
    """The log cannot be truncated as TRUNC asks; the server exits (``QUORUM_PACKET_ERROR``)."""


class Database:
    """The tree and the sessions of one server, and their files.

    Args:
        disk: the server's; each process of this server uses it in turn.
        tree_class: class of the tree; an instance is the tree of a new server.
        directory: of the files, on the disk.
        dirty_snapshots: whether, as in 3.8.0, a truncation keeps snapshots that are newer than
            the rest of the log, so that truncated transactions reappear when they are loaded
            (ZOOKEEPER-1549). Otherwise they are deleted.

    Attributes:
        tree: after the last transaction that was applied.
        sessions: session to its timeout (ms), for all open sessions.
        last_processed: zxid of the last transaction that was applied; a leader also sets it to
            the first zxid of its epoch.
        committed_log: the last entries that were applied, at most ``COMMITTED_LOG``.
        log: the transaction log; it may contain entries that are not applied yet.
    """

    __slots__ = (
        "_directory",
        "_dirty_snapshots",
        "_disk",
        "_tree_class",
        "committed_log",
        "last_processed",
        "log",
        "sessions",
        "tree",
    )

    def __init__(
        self,
        disk: Disk,
        tree_class: type[DataTree] = DataTree,
        *,
        directory: str = "version-2",
        dirty_snapshots: bool = False,
    ) -> None:
        self._disk = disk
        self._tree_class = tree_class
        self._directory = directory
        self._dirty_snapshots = dirty_snapshots
        self.log = TxnLog(disk, directory)
        self.tree = tree_class()
        self.last_processed = 0
        self.sessions: dict[int, int] = {}
        self.committed_log: deque[Entry] = deque(maxlen=COMMITTED_LOG)

    # -- transactions -------------------------------------------------------------------------

    def apply(self, entry: Entry, watches: Any = None) -> Result:
        """Apply a transaction; createSession and closeSession change ``sessions`` as well.

        Args:
            entry: the next one in the order of zxids.
            watches: the server's ``WatchManager``, whose watches are triggered; None: no watches.
        """
        header = entry[0]
        result = self.tree.apply(entry, watches)
        kind = header[4]
        if kind < 0:
            if kind == opcodes.CREATE_SESSION:
                self.sessions[header[0]] = entry[1][0]  # type: ignore[assignment]
            elif kind == opcodes.CLOSE_SESSION:
                self.sessions.pop(header[0], None)
        self.last_processed = header[2]
        self.committed_log.append(entry)
        return result

    # -- starting -----------------------------------------------------------------------------

    def load(self) -> None:
        """Read the newest valid snapshot, and replay the log from there.

        Snapshots are fuzzy: one may already contain the effects of transactions after its zxid,
        so errors of the replay are ignored. On an empty disk ``snapshot.0`` is written.

        Raises:
            StartupRefused: there is a log but no snapshot; no snapshot can be read; the log
                has a complete record that is invalid (see ``txn_log``).
            OSError: the first snapshot cannot be written.
        """
        self._clear()
        if self._restore_snapshot():
            self.fast_forward()
        elif self.log.exists:
            raise StartupRefused(
                "no snapshot was found, but there are log entries: something is broken"
            )
        else:
            self.take_snapshot()

    def fast_forward(self) -> None:
        """Apply all entries of the log after ``last_processed``, committed or not.

        A server does this when it leaves a role: its next vote is by the last zxid in its log.

        Raises:
            StartupRefused: as ``load``.
        """
        highest = self.last_processed
        for entry in self.log.read(highest + 1):
            self.apply(entry)
            # ZooKeeper does not check that zxids in the log ascend.
            highest = self.last_processed = max(highest, self.last_processed)

    def begin_serving(self) -> None:
        """Prepare the database of a standalone server or of a leader (``loadData``).

        Ephemeral nodes of sessions that do not exist are deleted, without a transaction, and a
        snapshot is written.

        Raises:
            OSError: the snapshot cannot be written; the server exits.
        """
        tree = self.tree
        for session in list(tree.ephemerals):
            if session not in self.sessions:
                header = Header(session, 0, self.last_processed, 0, opcodes.CLOSE_SESSION)
                paths = CloseSessionTxn(tuple(tree.ephemerals_of(session)))
                tree.apply(Entry(header, paths, None, b""))
        self.take_snapshot()

    # -- snapshots ----------------------------------------------------------------------------

    def take_snapshot(self) -> None:
        """Write ``snapshot.<last_processed>``, without syncing it.

        Raises:
            OSError: it cannot be written; an incomplete file stays, an empty one is deleted.
        """
        path = self._snapshot_path(self.last_processed)
        try:
            self._disk.write_whole(path, self._snapshot_file())
        except OSError:
            if self._disk.exists(path) and not self._disk.read(path):
                self._disk.delete(path)
            raise

    def take_synced_snapshot(
        self, process: Process, done: Callable[[OSError | None], None]
    ) -> None:
        """Write a snapshot to a temporary file, sync it, and rename it; then call ``done``.

        A learner does this after SNAP and after TRUNC. The log is synced before.
        """
        path = self._snapshot_path(self.last_processed)
        data = self._snapshot_file()

        def synced(error: OSError | None) -> None:
            if error is None:
                replace_file(self._disk, path, data, process, done)
            else:
                done(error)

        self.log.sync(process, synced)

    def serialize_snapshot(self) -> bytes:
        """The tree and the sessions after ``last_processed``, as SNAP sends them."""
        return snapshot.serialize(self.tree, self.sessions)

    def replace(self, data: bytes, zxid: int) -> None:
        """Replace tree and sessions by the leader's (SNAP), in memory only.

        Args:
            data: from its ``serialize_snapshot``.
            zxid: the leader's ``last_processed`` when it serialized them.

        Raises:
            InvalidSnapshot: the data are no snapshot.
        """
        self._clear()
        self.tree, self.sessions = snapshot.deserialize(data, self._tree_class)
        self.last_processed = zxid

    # -- for leaders and learners -------------------------------------------------------------

    def truncate(self, zxid: int) -> None:
        """Remove all entries above a zxid from the disk and from the tree (TRUNC).

        Raises:
            TruncationFailed: the entries up to the zxid are not all on the disk; nothing has
                been changed.
            StartupRefused: the rest cannot be loaded.
            OSError: the rest cannot be written.
        """
        snapshots = self._snapshots()
        newer = [found for found in snapshots if found > zxid]
        if not self._dirty_snapshots:
            # Transactions that came by SNAP are in a snapshot only, not in the log.
            covered = not newer or self.log.has(min(newer))
            if not covered and zxid not in snapshots and not self.log.has(zxid):
                raise TruncationFailed(
                    f"entries up to {zxid:#x} are only in snapshot.{min(newer):x}"
                )
            for found in newer:
                self._disk.delete(self._snapshot_path(found))
        self.log.truncate(zxid)
        self.load()
        self.last_processed = zxid

    def proposals_from_log(self, zxid: int) -> Iterator[Entry]:
        """Entries from the log for a learner that is further behind than ``committed_log``.

        The first one is at or before the zxid. There are none if the log begins after it, or if
        the files to read are larger than ``SNAPSHOT_SIZE_FACTOR`` of the newest snapshot.
        ZooKeeper counts the allocated size of these files, without the first one.
        """
        newest = max(self._snapshots(), default=None)
        size = 0 if newest is None else len(self._disk.read(self._snapshot_path(newest)))
        limit = int(size * SNAPSHOT_SIZE_FACTOR)
        if limit <= 0 or self.log.allocated_after_first_file(zxid) > limit:
            return iter(())
        entries = self.log.read_files(zxid)
        first = next(entries, None)
        if first is None or first.header.zxid > zxid:
            return iter(())
        return chain((first,), entries)

    # -----------------------------------------------------------------------------------------

    def _clear(self) -> None:
        self.tree = self._tree_class()
        self.last_processed = 0
        self.sessions.clear()
        self.committed_log.clear()

    def _restore_snapshot(self) -> bool:
        """Load the newest snapshot that is valid. Returns whether there was one."""
        names = sorted(self._snapshots(), reverse=True)
        files = ((zxid, self._disk.read(self._snapshot_path(zxid))) for zxid in names)
        whole = [(zxid, data) for zxid, data in files if snapshot.is_whole(data)][:SNAPSHOTS_TRIED]
        problems = []
        for zxid, data in whole:
            try:
                self.tree, self.sessions = snapshot.read_file(data, self._tree_class)
            except InvalidSnapshot as problem:
                problems.append(f"{self._snapshot_path(zxid)}: {problem}")
            else:
                self.last_processed = zxid
                return True
        if problems:
            raise StartupRefused(f"not able to find valid snapshots: {'; '.join(problems)}")
        return False

    def _snapshot_file(self) -> bytes:
        committed = self.committed_log
        digest_zxid = committed[-1].header.zxid if committed else 0
        return snapshot.write_file(self.tree, self.sessions, digest_zxid)

    def _snapshot_path(self, zxid: int) -> str:
        return f"{self._directory}/{_PREFIX}{zxid:x}"

    def _snapshots(self) -> list[int]:
        start = f"{self._directory}/{_PREFIX}"
        names = [path[len(start) :] for path in self._disk.list(start)]
        return [int(name, 16) for name in names if "." not in name]
