"""Parts of Chubby's library with one known mistake each, which the harness must find.

``recipes.chubby.catalogue`` describes the mistakes.
"""

from kazoo.protocol.states import ZnodeStat

from rumpus.recipes.chubby.cached_file import CachedFile
from rumpus.recipes.chubby.change_mark import ChangeMark
from rumpus.recipes.chubby.file_change import FileChange
from rumpus.recipes.chubby.file_lock import SharedContest, TakenContest
from rumpus.recipes.chubby.handle import Handle, LockMode
from rumpus.recipes.chubby.handle_events import EventKind, HandleEvents
from rumpus.recipes.chubby.lease import Lease, Standing
from rumpus.recipes.chubby.lock_sequencer import LockVerifier, lock_of
from rumpus.recipes.chubby.lock_table import LockTable
from rumpus.recipes.chubby.storage import Storage
from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.lock.sequencer import Sequencer
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.requests.session import Session
from rumpus.recipes.view.faulty_views import NotifiedOnly


class SameGeneration(TakenContest):
    def _next_generation(self, table: LockTable, *, free: bool) -> int:
        del free
        return table.generation


class NoLockDelay(TakenContest):
    def _longest_wait(self, failed: dict[str, float]) -> float:
        del failed
        return 0.0


class DelayAfterRelease(TakenContest):
    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        if entry.node is None and entry.tried:
            entry.node = self._find(entry, deadline)
        return entry.node is not None and self._delete(entry, entry.node, deadline)


class BesideWriters(SharedContest):
    def _blocking(self, ahead: list[str]) -> list[str]:
        del ahead
        return []


class NotInvalidated(FileChange):
    def _is_uncached(self, call: RetryingCall) -> bool:
        del call
        return True


class CachedInJeopardy(CachedFile):
    def _is_current(self) -> bool:
        return True

    def drop(self) -> None:
        if self._lease.standing is not Standing.JEOPARDY:
            super().drop()


class ByLockName(Storage):
    def _accepts(self, claim: Sequencer, sequencer: str) -> bool:
        del sequencer
        return lock_of(claim) == self._lock


class ByHolderOfLock(LockVerifier):
    def _stands(self, session: Session, claim: Sequencer, deadline: Deadline) -> bool:
        self._catch_up(session, claim, deadline)
        data, _ = session.ask(deadline, self._client.get_async, f"{lock_of(claim)}/taken")
        return bool(LockTable.parse(data.decode()).holders)


class ByCreation(LockVerifier):
    def _stands(self, session: Session, claim: Sequencer, deadline: Deadline) -> bool:
        self._catch_up(session, claim, deadline)
        stat = session.ask(deadline, self._client.exists_async, claim.node)
        return stat is not None and stat.czxid == claim.generation


class EarlyEvents(HandleEvents):
    def _look_at_file(self, session: Session, deadline: Deadline) -> None:
        news = self._news(session)
        _, stat = session.ask(deadline, self._client.get_async, self._paths.file, news)
        data, _ = session.ask(deadline, self._client.get_async, self._paths.cache, news)
        coming = stat.version + (ChangeMark.parse(data).change is not None)
        if self._renewed(EventKind.CONTENTS_CHANGED, coming):
            self._deliver(EventKind.CONTENTS_CHANGED, coming)


class DeafEvents(NotifiedOnly, HandleEvents):
    pass


class LockToldOnce(HandleEvents):
    _told = False

    def _look_at_lock(self, session: Session, deadline: Deadline) -> None:
        if not self._told:
            super()._look_at_lock(session, deadline)

    def _deliver(self, kind: EventKind, number: int) -> None:
        super()._deliver(kind, number)
        self._told = self._told or kind is EventKind.LOCK_ACQUIRED


class LockToldLate(HandleEvents):
    def _deliver(self, kind: EventKind, number: int) -> None:
        super()._deliver(kind, number - (kind is EventKind.LOCK_ACQUIRED))


class ChildrenNotWatched(HandleEvents):
    def _look_at_children(self, session: Session, deadline: Deadline) -> None:
        pass


class RenewsItself(Lease):
    def remaining(self) -> float:
        if self.session.lost:
            self.session = Session(self._client)
        return super().remaining()


class UncheckedHandle(Handle):
    def _check_generation(self, stat: ZnodeStat, generation: int | None) -> None:
        pass


class NeverHeldHandle(Handle):
    def remaining(self) -> float:
        return 0.0


class HeldForGoodHandle(Handle):
    _granted = False

    def acquire(self, mode: LockMode, timeout: float | None = None) -> bool:
        self._granted = super().acquire(mode, timeout)
        return self._granted

    def release(self) -> None:
        self._granted = False
        super().release()

    def remaining(self) -> float:
        return 1.0 if self._granted else 0.0
