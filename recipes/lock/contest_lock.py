"""Locks: fair and unfair, re-entrant by thread.

The threads that share a lock object first take turns among themselves, so that each lock object
has at most one node in the line.
"""

import threading
from typing import ClassVar, Self, Unpack

from kazoo.client import KazooClient

from rumpus.recipes.contests.contender import Contender, ContenderOptions
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.contests.unfair_contest import UnfairContest
from rumpus.recipes.promises import LIVENESS, Promises, fair_contest, unfair_contest
from rumpus.recipes.requests.deadline import Deadline

_NO_WINDOW = (
    "A holder that was paused, or whose action takes longer than its session lives, can act "
    "after the lock has passed on: there is no validity window. Let the resource check tokens."
)


class ContestLock(Contender):
    """A contest (``recipes.contests.contest``) that is won by one thread of a client at a time.

    ``with lock:`` acquires without a timeout; leaving the block raises ``NotHeld`` if the lock
    was lost inside.
    """

    def __init__(self, client: KazooClient, path: str, **options: Unpack[ContenderOptions]) -> None:
        super().__init__(client, path, **options)
        self._turn = threading.Lock()
        self._owner: int | None = None
        self._count = 0

    def acquire(self, timeout: float | None = None) -> bool:
        """Wait for the lock, for ever or for ``timeout`` seconds (plus at most ``grace``).

        If the recipe promises re-entrance, a thread that holds the lock gets it again at once, and
        has to release it as often. If not, such a thread waits for itself until the timeout.

        Returns:
            True: granted. False: timed out, and nothing of ours is left in the line.

        Raises:
            LockUnknown: timed out, and a node of ours may still be in the line.
            NotHeld: this thread held it and has lost it; release first.
        """
        deadline = Deadline(timeout)
        again = self.promises.reentrant and self._owner == threading.get_ident()
        if again and self._grant is not None:
            if not self._still_ours(self._grant, deadline):
                raise NotHeld(f"{self._path}: lost while held; release it first")
            self._count += 1
            return True
        if not deadline.acquire(self._turn):
            return False
        try:
            grant = self._contest.win(deadline.left())
        except BaseException:
            self._turn.release()
            raise
        if grant is None:
            self._turn.release()
            return False
        self._grant, self._owner, self._count = grant, threading.get_ident(), 1
        return True

    def release(self) -> None:
        """Undo one acquire; undoing the last one frees the lock. Takes at most ``grace`` seconds.

        After an unknown outcome, this waits until no node of ours is left.

        Raises:
            NotHeld: this thread does not hold it, or it was lost: the session ended, or
                somebody removed the node.
            LockUnknown: no answer in time. Our node will be removed once it can be.
        """
        if self._grant is None:
            self._let_go()
            return
        if self._owner != threading.get_ident():
            raise NotHeld(f"{self._path}: held by another thread of this client")
        self._count -= 1
        if self._count == 0:
            self._owner = None
            try:
                self._let_go()
            finally:
                self._turn.release()

    @property
    def held(self) -> bool:
        """Whether this client may rely, right now, on holding the lock.

        False while the connection is lost (the session may end any moment), true again if the same
        session reconnects, false for good once that session is lost.

        If somebody else removes our node, only the release notices it: to notice it earlier would
        take a watch on our own node, and so one more request for each grant.
        """
        return self._believes

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class FairLock(ContestLock):
    """First come, first served; one release wakes one waiter. See ``contests.fair_contest``."""

    contest = FairContest
    promises: ClassVar[Promises] = fair_contest(LIVENESS, _NO_WINDOW)


class UnfairLock(ContestLock):
    """In no order; every release wakes all waiters. See ``contests.unfair_contest``."""

    contest = UnfairContest
    promises: ClassVar[Promises] = unfair_contest(LIVENESS, _NO_WINDOW)
