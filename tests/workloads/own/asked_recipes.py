"""Kazoo's recipes with a mistake in what clients of most trials do not call."""

from kazoo.exceptions import CancelledError, NoNodeError
from kazoo.recipe.election import Election
from kazoo.recipe.lock import Lock, Semaphore
from kazoo.recipe.queue import LockingQueue, Queue


class OneByOneQueue(LockingQueue):
    """Puts several elements one after the other: of some only the first ones arrive."""

    def put_all(self, values, priority=100):
        for value in values:
            self.put(value, priority)


class FirstLengthQueue(Queue):
    """Goes on telling how many elements it found when it was first asked."""

    told = None

    def __len__(self):
        if self.told is None:
            self.told = super().__len__()
        return self.told


class ReversedLock(Lock):
    """Names its contenders from the last to the first."""

    def contenders(self):
        return super().contenders()[::-1]


class FormerHoldersSemaphore(Semaphore):
    """Names the holders that it found when it was asked before."""

    found = ()

    def lease_holders(self):
        told, self.found = self.found, super().lease_holders()
        return [*told]


class LonelyElection(Election):
    """Names the first contender only."""

    def contenders(self):
        return super().contenders()[:1]


class PatientLock(Lock):
    """Goes on waiting for some seconds after it was cancelled."""

    def cancel(self):
        self.client.handler.sleep_func(4.0)
        super().cancel()


class HeedfulLock(Lock):
    """Kazoo's, but a ``cancel`` while no call waits says nothing to the next call."""

    def acquire(self, blocking=True, timeout=None):
        self.cancelled = False
        return super().acquire(blocking, timeout)


class ForgetfulLock(Lock):
    """Once cancelled, it is cancelled for ever."""

    over = False

    def cancel(self):
        self.over = True
        super().cancel()

    def acquire(self, blocking=True, timeout=None):
        if self.over:
            raise CancelledError
        return super().acquire(blocking, timeout)


class HeedfulLockingQueue(LockingQueue):
    """Kazoo's, but it forgets an element whose lock it has lost, and says so as documented."""

    def holds_lock(self):
        try:
            return super().holds_lock()
        except NoNodeError:
            self.processing_element = None
            return False
