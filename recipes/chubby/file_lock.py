"""A file's lock: shared or exclusive, with a lock-delay and a lock generation.

The queue is that of a read-write lock (``recipes.read_write.read_write_lock``). A contender that no
other one ahead blocks *takes* the lock, as in ``recipes.lock.delayed_lock``: one transaction checks
that its own node is there and writes it into the table of holders, on condition that the table has
not changed since it was read. Several readers can be in the table at once.

**Failed holders.** The table is read first, then the queue, in one session. A holder of that table
whose node is not in the queue either released it, and then the table has changed and the
transaction is refused; or it has failed. While there is a failed holder whose lock-delay is not
over, nobody takes the lock, in either mode. The delay is counted from when the contender sees the
failure.

**The lock generation** grows when the lock goes from free to held: when it is taken while no live
holder is in the table (Burrows, section 2.2). Readers that join others have the same generation.
"""

import time
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NoNodeError

from rumpus.recipes.chubby.lock_table import LockTable
from rumpus.recipes.contests.contender import Contender
from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.lock.contest_lock import ContestLock
from rumpus.recipes.lock.delayed_lock import DRIFT, DelayedContest, DelayedLock
from rumpus.recipes.lock.sequencer import EXCLUSIVE, SHARED
from rumpus.recipes.read_write.read_write_lock import ReadContest, ReadWriteLock, WriteContest
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import pause


class TakenContest(DelayedContest):
    """A contest that is won once the contender is in the table of holders. See the module."""

    def __init__(self, client: KazooClient, path: str, name: str, grace: float) -> None:
        super().__init__(client, path, name, grace)
        self.generation = 0
        """The lock generation of our latest grant."""
        self._failed_since: dict[str, float] = {}
        """Mark of a failed holder -> when we first saw that it had failed, on our clock."""

    def _take(self, entry: Entry, deadline: Deadline) -> bool:
        text, stat = self._look(entry, deadline)
        table = LockTable.parse(text)
        if entry.mark in table.holders:  # an earlier try whose answer was lost
            self.generation = table.generation
            return True
        queue = entry.session.ask(deadline, self._client.get_children_async, self._path)
        live = {
            mark: delay
            for mark, delay in table.holders.items()
            if any(node.startswith(mark) for node in queue)
        }
        failed = {mark: table.holders[mark] for mark in table.holders.keys() - live.keys()}
        wait = self._longest_wait(failed)
        if wait > 0:
            pause(deadline, wait)
            return False
        taken = LockTable(
            self._next_generation(table, free=not live), {**live, entry.mark: self.delay}
        )
        try:
            self._transact(entry, deadline, str(taken), stat.version, remove=False)
        except BadVersionError:
            return False
        self.generation = taken.generation
        return True

    def _next_generation(self, table: LockTable, *, free: bool) -> int:
        """The lock generation once we have taken the lock, which is free or held by others."""
        return table.generation + free

    def _longest_wait(self, failed: dict[str, float]) -> float:
        """Seconds until the lock-delays of all failed holders are over."""
        now = time.monotonic()
        self._failed_since = {mark: self._failed_since.get(mark, now) for mark in failed}
        waits = [
            self._failed_since[mark] + delay * (1 + DRIFT) - now for mark, delay in failed.items()
        ]
        return max(waits, default=0.0)

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        node = self._settled_node(entry, deadline)
        if node is None:
            return False
        while True:
            text, stat = self._look(entry, deadline)
            table = LockTable.parse(text)
            if entry.mark not in table.holders:
                return self._delete(entry, node, deadline)
            others = {mark: delay for mark, delay in table.holders.items() if mark != entry.mark}
            rest = LockTable(table.generation, others)
            try:
                self._transact(entry, deadline, str(rest), stat.version, remove=True)
            except NoNodeError:
                return False
            except BadVersionError:  # another holder came or went meanwhile
                continue
            return True


class SharedContest(TakenContest, ReadContest):
    """A reader's contest."""


class ExclusiveContest(TakenContest, WriteContest):
    """A writer's contest."""


class FileLockSide(DelayedLock):
    """One mode of a file's lock."""

    def forsake(self) -> None:
        """Give up the grant, from any thread, without waiting: its node is removed later."""
        grant, self._grant = self._grant, None
        if grant is not None:
            self._contest._leave_in_background(grant)  # noqa: SLF001 - a contest of ours


class SharedSide(FileLockSide):
    """Shared mode: any number of clients hold it together."""

    contest = SharedContest

    @property
    def token(self) -> int | None:
        """Always None: holders of one generation do not make each other stale."""
        return None


class ExclusiveSide(FileLockSide):
    """Exclusive mode: one client holds it alone."""

    contest = ExclusiveContest


class FileLock(ReadWriteLock):
    """Both modes of a file's lock. An object holds one mode at a time.

    Args:
        client, path: see ``recipes.contests.contender``.
        name: who we are, for people to read.
        delay: seconds for which nobody gets the lock after this client has failed as its holder.
    """

    reader: ClassVar[type[ContestLock]] = SharedSide
    writer: ClassVar[type[ContestLock]] = ExclusiveSide

    def __init__(self, client: KazooClient, path: str, *, name: str, delay: float) -> None:
        super().__init__(client, path, name=name)
        for side in self._sides.values():
            contest_of(side).delay = delay

    @property
    def mode(self) -> str:
        """The mode that was acquired last."""
        return SHARED if self._latest is self._sides["read"] else EXCLUSIVE

    @property
    def generation(self) -> int:
        """The lock generation of the latest grant."""
        return contest_of(self._latest).generation

    def forsake(self) -> None:
        """Give up the grant, if there is one, from any thread and without waiting."""
        for side in self._sides.values():
            assert isinstance(side, FileLockSide), "both sides are ours"
            side.forsake()


def contest_of(side: Contender) -> TakenContest:
    """The contest of one mode of a file's lock."""
    contest = side._contest  # noqa: SLF001 - a side of ours
    assert isinstance(contest, TakenContest), "both modes take the lock in the table of holders"
    return contest
