"""Parts of Chubby's library with one known mistake each, which the harness must find.

``recipes.chubby.catalogue`` describes the mistakes.
"""

from kazoo.protocol.states import ZnodeStat

from rumpus.recipes.chubby.cached_file import CachedFile
from rumpus.recipes.chubby.change_mark import ChangeMark
from rumpus.recipes.chubby.file_change import FileChange
from rumpus.recipes.chubby.file_lock import SharedContest, TakenContest
from rumpus.recipes.chubby.handle import Handle, LockMode, Mode
from rumpus.recipes.chubby.handle_events import EventKind, HandleEvents
from rumpus.recipes.chubby.lease import Lease, Standing
from rumpus.recipes.chubby.lock_sequencer import LockVerifier, lock_of
from rumpus.recipes.chubby.lock_table import LockTable
from rumpus.recipes.chubby.storage import Storage
from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.lock.sequencer import Sequencer
from rumpus.recipes.mistake import given, made
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.requests.session import Session
from rumpus.recipes.view.faulty_views import NotifiedOnly


class SameGeneration(TakenContest):
    def _next_generation(self, table: LockTable, *, free: bool) -> int:
        if free:
            made()
        return table.generation


class NoLockDelay(TakenContest):
    def _longest_wait(self, failed: dict[str, float]) -> float:
        sound = super()._longest_wait
        made(*failed, unless=lambda: sound(failed) == 0)
        return 0.0


class DelayAfterRelease(TakenContest):
    def leave(self, entry: Entry) -> None:
        made(entry.node)
        super().leave(entry)

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        if entry.node is None and entry.tried:
            entry.node = self._find(entry, deadline)
        return entry.node is not None and self._delete(entry, entry.node, deadline)


class BesideWriters(SharedContest):
    def _blocking(self, ahead: list[str]) -> list[str]:
        return given([], super()._blocking(ahead), *ahead)


class NotInvalidated(FileChange):
    def _is_uncached(self, call: RetryingCall) -> bool:
        del call
        made(self._paths.file)
        return True


class CachedInJeopardy(CachedFile):
    def _is_current(self) -> bool:
        made(own=True, unless=super()._is_current)
        return True

    def drop(self) -> None:
        if self._lease.standing is not Standing.JEOPARDY:
            super().drop()


class ByLockName(Storage):
    def _accepts(self, claim: Sequencer, sequencer: str) -> bool:
        accepts = lock_of(claim) == self._lock
        if accepts and claim.generation < self._highest:
            made(sequencer)
        return accepts


class ByHolderOfLock(LockVerifier):
    def _stands(self, session: Session, claim: Sequencer, deadline: Deadline) -> bool:
        self._catch_up(session, claim, deadline)
        data, _ = session.ask(deadline, self._client.get_async, f"{lock_of(claim)}/taken")
        table = LockTable.parse(data.decode())
        name = claim.node.rpartition("/")[2]
        holds = any(name.startswith(mark) for mark in table.holders)
        return given(bool(table.holders), holds and table.generation == claim.generation)


class ByCreation(LockVerifier):
    def _stands(self, session: Session, claim: Sequencer, deadline: Deadline) -> bool:
        self._catch_up(session, claim, deadline)
        stat = session.ask(deadline, self._client.exists_async, claim.node)
        return given(stat is not None and stat.czxid == claim.generation, stat is not None)


class EarlyEvents(HandleEvents):
    def _look_at_file(self, session: Session, deadline: Deadline) -> None:
        news = self._news(session)
        _, stat = session.ask(deadline, self._client.get_async, self._paths.file, news)
        data, _ = session.ask(deadline, self._client.get_async, self._paths.cache, news)
        coming = stat.version + (ChangeMark.parse(data).change is not None)
        if self._renewed(EventKind.CONTENTS_CHANGED, coming):
            if coming > stat.version:
                made(own=True)
            self._deliver(EventKind.CONTENTS_CHANGED, coming)


class DeafEvents(NotifiedOnly, HandleEvents):
    pass


class LockToldOnce(HandleEvents):
    _told = False

    def _look_at_lock(self, session: Session, deadline: Deadline) -> None:
        if not self._told:
            super()._look_at_lock(session, deadline)
        else:
            made(own=True)

    def _deliver(self, kind: EventKind, number: int) -> None:
        super()._deliver(kind, number)
        self._told = self._told or kind is EventKind.LOCK_ACQUIRED


class LockToldLate(HandleEvents):
    def _deliver(self, kind: EventKind, number: int) -> None:
        if kind is EventKind.LOCK_ACQUIRED:
            made(own=True)
        super()._deliver(kind, number - (kind is EventKind.LOCK_ACQUIRED))


class ChildrenNotWatched(HandleEvents):
    def _look_at_children(self, session: Session, deadline: Deadline) -> None:
        made(own=True)


class FailoversToldTwice(HandleEvents):
    def _deliver(self, kind: EventKind, number: int) -> None:
        super()._deliver(kind, number)
        if kind is EventKind.MASTER_FAILED_OVER:
            made(own=True)
            super()._deliver(kind, number)


class ConflictsNotTold(HandleEvents):
    def _look_at_queue(self, session: Session, deadline: Deadline) -> None:
        made(own=True)


class RenewsItself(Lease):
    def remaining(self) -> float:
        if self.session.lost:
            made(own=True)
            self.session = Session(self._client)
        return super().remaining()


class AnyInstance(Handle):
    def _check_instance(self, instance: int) -> None:
        if instance != self.opened.instance:
            made(self._paths.file)


class AnyMode(Handle):
    def _check(self, mode: Mode | None = None) -> None:
        if mode is not None and mode not in self._mode:
            made(self._paths.file)
        super()._check()


class KeepsLock(Handle):
    def _forsake(self) -> None:
        made(self.node)
        self._cache.close()
        if self._events is not None:
            self._events.close()


class SafeNotTold(Handle):
    def _session_changed(self, standing: Standing) -> None:
        if standing is Standing.SAFE:
            made(own=True)
        else:
            super()._session_changed(standing)


class UncheckedHandle(Handle):
    def _check_generation(self, stat: ZnodeStat, generation: int | None) -> None:
        if generation not in (None, stat.version):
            made(self._paths.file)


class NeverHeldHandle(Handle):
    def remaining(self) -> float:
        sound = super().remaining
        made(self.node, lasting=True, unless=lambda: sound() == 0)
        return 0.0


class HeldForGoodHandle(Handle):
    _granted = False
    _mine: str | None = None

    def acquire(self, mode: LockMode, timeout: float | None = None) -> bool:
        self._granted = super().acquire(mode, timeout)
        self._mine = self.node
        return self._granted

    def release(self) -> None:
        self._granted = False
        super().release()

    def remaining(self) -> float:
        sound = super().remaining
        made(self._mine, lasting=True, unless=lambda: self._granted == (sound() > 0))
        return 1.0 if self._granted else 0.0
