"""Logs requests with group commit: all requests that wait for the disk share the next sync."""

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Generic, TypeVar

from rumpus.simulation.kernel.process import Process
from rumpus.simulation.zookeeper.storage.database import Database
from rumpus.simulation.zookeeper.tree.transactions import Entry

MOST_IN_BATCH = 1000
"""``zookeeper.maxBatchSize``: a sync begins after this many requests even if more are waiting."""

Item = TypeVar("Item")


class SyncProcessor(Generic[Item]):
    """Logs requests and passes them on, in order, when they are synced (``SyncRequestProcessor``).

    There is one sync at a time; requests that arrive meanwhile wait in memory and are not yet
    appended. Requests without an entry (reads) are passed on at once if no request is before them.

    Args:
        process: the process of the server.
        database: whose log is written, and of which snapshots are taken.
        forward: called with every item once it is synced; may call ``append``.
        failed: called once with the error of a failed write, sync or snapshot; nothing is
            forwarded any more. The server has to exit (``ZooKeeperCriticalThread``).
        snap_count: ``snapCount``: after more than ``snap_count / 2`` entries, plus a random number
            of up to as many, a snapshot is taken, and the log rolled after the batch. (ZooKeeper
            rolls within the batch; it also counts bytes, up to 4 GiB, which no log in memory
            reaches.)
        random: source of that number.
    """

    __slots__ = (
        "_busy",
        "_database",
        "_failed",
        "_forward",
        "_in_flight",
        "_log",
        "_process",
        "_random",
        "_roll",
        "_snap_count",
        "_stopped",
        "_until_snapshot",
        "_waiting",
        "flushed",
    )

    def __init__(
        self,
        process: Process,
        database: Database,
        forward: Callable[[Item], None],
        failed: Callable[[OSError], None],
        *,
        snap_count: int,
        random: Random,
    ) -> None:
        self._process = process
        self._database = database
        self._log = database.log
        self._forward = forward
        self._failed = failed
        self._snap_count = max(2, snap_count)
        self._random = random
        self._until_snapshot = self._draw()
        self._waiting: deque[tuple[Entry | None, Item]] = deque()
        self._in_flight: list[Item] = []
        self._roll = False
        self._stopped = False
        self._busy = self._log.unsynced
        self.flushed: Callable[[], None] | None = None
        """Called after each batch has been forwarded, unless it is None."""
        if self._busy:
            self._log.sync(process, self._synced)

    def append(self, entry: Entry | None, item: Item) -> None:
        """Log an entry and call ``forward(item)`` when it is synced.

        Args:
            entry: None if there is nothing to log.
            item: passed to ``forward``; a request, for example.
        """
        if self._busy:
            if not self._stopped:
                self._waiting.append((entry, item))
        elif entry is None:
            self._forward(item)
        else:
            self._busy = True
            if self._write(entry):
                self._in_flight.append(item)
                self._log.sync(self._process, self._synced)

    def stop(self, *, log_rest: bool = True) -> None:
        """Stop forwarding: the server leaves its role. Appended entries stay in the log.

        Args:
            log_rest: whether entries that wait for a running sync are appended, as ZooKeeper does
                before it stops; if not, ``log_rest`` can do so later.
        """
        if self._stopped:
            self._waiting.clear()
        elif log_rest:
            self.log_rest()
        self._stopped = True
        self._busy = True
        self._in_flight.clear()

    def log_rest(self) -> None:
        """Append the entries that wait for a running sync; nothing is forwarded."""
        for entry, _ in self._waiting:
            if entry is not None and not self._write(entry):
                break
        self._waiting.clear()

    def _draw(self) -> int:
        half = self._snap_count // 2
        return half + self._random.randrange(half) + 1

    def _write(self, entry: Entry) -> bool:
        try:
            self._log.append(entry)
            self._until_snapshot -= 1
            if not self._until_snapshot:
                self._until_snapshot = self._draw()
                self._roll = True
                self._database.take_snapshot()
        except OSError as error:
            self._end(error)
            return False
        return True

    def _synced(self, error: OSError | None) -> None:
        if self._stopped:
            return
        if error is not None:
            self._end(error)
            return
        if self._roll:
            self._roll = False
            self._log.roll()
        done = self._in_flight
        self._in_flight = []
        forward = self._forward
        for item in done:
            forward(item)
            if self._stopped:
                return
        if self.flushed is not None:
            self.flushed()
        if self._waiting:
            self._next_batch()
        elif not self._stopped:
            self._busy = False

    def _next_batch(self) -> None:
        """Forward waiting reads up to the first write, then write one batch."""
        waiting = self._waiting
        batch = self._in_flight
        while waiting and len(batch) < MOST_IN_BATCH and not self._stopped:
            entry, item = waiting.popleft()
            if entry is not None and not self._write(entry):
                return
            if entry is not None or batch:
                batch.append(item)
            else:
                self._forward(item)
        if self._stopped:
            return
        if batch:
            self._log.sync(self._process, self._synced)
        else:
            self._busy = False

    def _end(self, error: OSError) -> None:
        self._stopped = True
        self._busy = True
        self._waiting.clear()
        self._in_flight.clear()
        self._failed(error)
