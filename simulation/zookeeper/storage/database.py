"""What a server knows and keeps on its disk: the tree, the sessions, the log and snapshots.

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
"""``commitLogCount``: so many of the last applied entries are kept at hand for learners."""
SNAPSHOTS_TRIED = 100
SNAPSHOT_SIZE_FACTOR = 0.33
"""``snapshotSizeFactor``: more of the log than this share of a snapshot is not sent to learners."""

_PREFIX = "snapshot."


class TruncationFailed(Exception):  # noqa: N818 - says what happened
    """A TRUNC that the files do not allow; the server ends (``QUORUM_PACKET_ERROR``)."""


class Database:
    """The tree and the sessions of one server, and how they outlive it.

    Args:
        disk: the server's; several programs use it one after the other.
        tree_class: of the tree; an instance is as that of a new server.
        directory: on the disk.
        dirty_snapshots: as in 3.8.0, a truncation leaves snapshots alone that are newer than
            what is left of the log, so that what was to go comes back with them
            (ZOOKEEPER-1549). Otherwise they are deleted.

    Attributes:
        tree: as it is after the last transaction that was applied.
        sessions: timeouts (ms) by session, of those that are open.
        last_processed: zxid of the last transaction that was applied; a leader sets it to the
            beginning of its epoch as well.
        committed_log: the last entries that were applied, at most ``COMMITTED_LOG``.
        log: entries appended to it need not have been applied.
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
        """Apply a transaction; those of sessions change ``sessions`` as well.

        Args:
            entry: the next one in the order of zxids.
            watches: of the server, which are fired.
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

        A snapshot may have been taken while transactions were applied, so that those after it
        may find done already what they do: their errors do not matter. An empty disk becomes a
        new server's, with ``snapshot.0``.

        Raises:
            StartupRefused: there is a log but no snapshot; no snapshot can be read; the log
                has a record that is whole and wrong (see ``txn_log``).
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
        """Apply what the log has beyond ``last_processed``, committed or not.

        What a server does when it leaves a role: its next vote counts all that it has logged.

        Raises:
            StartupRefused: as ``load``.
        """
        highest = self.last_processed
        for entry in self.log.read(highest + 1):
            self.apply(entry)
            # A zxid that goes backwards is none of ZooKeeper's worries.
            highest = self.last_processed = max(highest, self.last_processed)

    def begin_serving(self) -> None:
        """What a standalone server does when it starts, and a server that begins to lead.

        Ephemeral nodes of sessions that do not exist go, without a transaction, and a snapshot
        is written.

        Raises:
            OSError: it cannot be written; the server ends.
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
            OSError: it cannot be written; what was written of it stays, if anything was.
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

        What a learner does when its leader has sent it a snapshot, or has truncated its log,
        which is synced first.
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
        """The tree and the sessions, as SNAP sends them; they are those of ``last_processed``."""
        return snapshot.serialize(self.tree, self.sessions)

    def replace(self, data: bytes, zxid: int) -> None:
        """Take over the leader's tree and sessions (SNAP); nothing is written yet.

        Args:
            data: from its ``serialize_snapshot``.
            zxid: the leader's ``last_processed`` then.

        Raises:
            InvalidSnapshot: it is none.
        """
        self._clear()
        self.tree, self.sessions = snapshot.deserialize(data, self._tree_class)
        self.last_processed = zxid

    # -- for leaders and learners -------------------------------------------------------------

    def truncate(self, zxid: int) -> None:
        """Forget all entries above a zxid, on the disk and in the tree (TRUNC).

        Raises:
            TruncationFailed: the entries up to there are not all on the disk; nothing has been
                changed then.
            StartupRefused: what is left cannot be loaded.
            OSError: what is left cannot be written.
        """
        snapshots = self._snapshots()
        newer = [found for found in snapshots if found > zxid]
        if not self._dirty_snapshots:
            # What a leader has sent as a snapshot was never logged.
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

        They begin at or before the zxid. There are none if the log begins after it, or if more
        than ``SNAPSHOT_SIZE_FACTOR`` of the newest snapshot's size would have to be read: of
        that ZooKeeper counts all files but the first, with the space allocated for them.
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
        """Load the newest snapshot that can be; whether there was any."""
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
