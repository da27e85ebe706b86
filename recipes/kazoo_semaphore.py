"""kazoo's own Semaphore behind the interface of the semaphore here.

kazoo contends, waits and releases: whoever holds an inner lock counts the leases below ``path``,
and creates its own if there are fewer than may be, else waits there for one to go. What is added
is what ``recipes.kazoo_lock`` adds to kazoo's lock: a listener whose SUSPENDED and LOST end the
belief, a fresh ``kazoo.recipe.lock.Semaphore`` for every acquire, and after a failed one a look
whether a lease is left.

kazoo's requests have no timeout of their own: with no server in reach ``acquire`` and ``release``
block until one is, whatever their timeout.
"""

from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout, SessionExpiredError
from kazoo.recipe.lock import Semaphore as KazoosSemaphore

from recipes.contest import Entry
from recipes.deadline import Deadline
from recipes.interfaces import NotHeld
from recipes.promises import EXCLUSION, LIVENESS, Line, Promises
from recipes.semaphore import Semaphore, SemaphoreContest
from recipes.session import Session, Unanswered


class KazooLease(Entry):
    """The stand of one kazoo semaphore object, which outlives sessions."""

    def __init__(self, client: KazooClient, semaphore: KazoosSemaphore) -> None:
        super().__init__(client, mark=semaphore.create_path.rpartition("/")[2])
        self.semaphore = semaphore
        self.tried = True


class KazooSemaphoreContest(SemaphoreContest):
    """kazoo contends; its leases are looked for and taken away as other entries are."""

    @classmethod
    def line(cls, path: str) -> Line:
        """All children of ``path``: each is a lease."""
        return Line(kind="pool", path=path)

    def win(self, timeout: float | None) -> KazooLease | None:
        """Let kazoo contend; None when it failed and nothing is left, even before the timeout.

        Raises:
            LockUnknown: nobody can say whether its lease is left.
            KazooException: what kazoo raises but for timeouts.
        """
        semaphore = self._client.Semaphore(self._path, self._name, self._permits)
        try:
            granted = semaphore.acquire(timeout=timeout)
        except LockTimeout:
            granted = False
        except BaseException:
            self._leave_in_background(KazooLease(self._client, semaphore))
            raise
        entry = KazooLease(self._client, semaphore)
        if granted and self._confirmed(entry):
            return entry
        self._abandon(entry)
        return None

    def leave(self, entry: Entry) -> None:
        """Let kazoo release; blocks until it has.

        Raises:
            NotHeld: the session that held it has ended; kazoo does not tell.
        """
        assert isinstance(entry, KazooLease)
        try:
            entry.semaphore.release()
            if entry.session.lost:
                raise NotHeld(f"{self._path}: the session that held it has ended")
        finally:
            self._strike(entry)

    def _confirmed(self, entry: KazooLease) -> bool:
        """Whether the lease is there, and ours; True too if there is no answer."""
        node = entry.semaphore.create_path
        try:
            stat = entry.session.ask(Deadline(self._grace), self._client.exists_async, node)
            if stat is None or not entry.session.owns(stat):
                return False
        except SessionExpiredError:
            return False
        except Unanswered:
            stat = None
        entry.node = node
        if stat is not None:
            entry.session_id = stat.ephemeralOwner
        return True

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        if entry.session.lost:  # kazoo goes on under the next one, with the same name
            entry.session = Session(self._client)
        return super()._take_out(entry, deadline)


class KazooSemaphore(Semaphore):
    """``kazoo.recipe.lock.Semaphore``; see the module."""

    contest = KazooSemaphoreContest
    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | LIVENESS | {"unaware-holder"},
        notes=(
            "kazoo promises neither order nor a bound on wake-ups, though its inner lock queues. "
            "Timeouts do not hold while no server is in reach. Leases that a failed acquire "
            "leaves are removed by the adapter. No tokens."
        ),
    )
