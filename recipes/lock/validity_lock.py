"""A fair lock whose holder knows until when it may act.

A client that is cut off or frozen cannot be told that somebody else has been granted its lock. But
it can know that nobody has: its session is certain to live for a while (the *window*, see
``recipes.requests.session_validity``), and during the window nobody else is granted the lock. When
the window closes, ``held`` becomes false by the local clock, before the servers expire the session;
this also works after a pause, since the clock has gone on. Article A ("which distributed lock does
a storage system need") calls this strict exclusion. Before each action, the holder checks whether
enough of the window is left.

An action may still take longer than the window: ``guard`` reports that afterwards, and
``recipes.lock.fencing`` prevents its effects.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Unpack

from kazoo.client import KazooClient

from rumpus.recipes.contests.contender import ContenderOptions
from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.lock.contest_lock import ContestLock, FairLock
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session_validity import SessionValidity


class ValidContest(FairContest):
    """A fair contest that is won once the session is also certain to live on."""

    _validity_class: ClassVar[type[SessionValidity]] = SessionValidity

    def __init__(self, client: KazooClient, path: str, name: str, grace: float) -> None:
        super().__init__(client, path, name, grace)
        self.validity = self._validity_class(client, path)

    def win(self, timeout: float | None) -> Entry | None:
        """As ``Contest.win``; session validity is kept up from here to ``leave``."""
        deadline = Deadline(timeout)
        won = None
        self.validity.keep()
        try:
            while (entry := super().win(deadline.left())) is not None:
                if self.validity.wait(entry.session, deadline):
                    won = entry
                    return won
                self._abandon(entry)
                if deadline.passed:
                    break
            return None
        finally:
            if won is None:
                self.validity.let_go()

    def leave(self, entry: Entry) -> None:
        """As ``Contest.leave``."""
        try:
            super().leave(entry)
        finally:
            self.validity.let_go()


class ValidityLock(ContestLock):
    """A fair lock with a window of validity. See the module.

    Args:
        client, path, name, grace: see ``recipes.contests.contender``.
        session_timeout: seconds that the servers grant to the client's sessions; by default what
            the client asked for. By default servers grant at most 20 ticks.
    """

    contest = ValidContest
    promises: ClassVar[Promises] = FairLock.promises.and_more(
        {"stale-belief"},
        "The belief ends before the session can. An action that takes longer than the window "
        "had left when it began can still come late: leave a margin (guard), or let the "
        "resource check tokens. Clocks must not differ in rate by more than 5 in 100.",
        without={"disconnected-belief"},
    )

    def __init__(
        self,
        client: KazooClient,
        path: str,
        *,
        session_timeout: float | None = None,
        **options: Unpack[ContenderOptions],
    ) -> None:
        super().__init__(client, path, **options)
        assert isinstance(self._contest, ValidContest)
        self._validity = self._contest.validity
        if session_timeout is not None:
            self._validity.session_timeout = session_timeout

    def remaining(self) -> float:
        """Seconds for which we are still certain to hold the lock; 0 if we are not certain."""
        grant = self._grant
        if grant is None or grant.session.lost:
            return 0.0
        return self._validity.remaining()

    @contextmanager
    def guard(self, min_seconds: float = 0.0) -> Iterator[float]:
        """Guard an action: ``with lock.guard(0.5):`` for one that takes at most half a second.

        Yields the seconds that are left.

        Raises:
            NotHeld: on entering, no more than ``min_seconds`` are left; or on leaving, the window
                has closed: somebody else may have been granted the lock during the action.
        """
        left = self.remaining()
        if left <= min_seconds:
            raise NotHeld(f"{self._path}: certain for {left:.3f} s only, {min_seconds} are needed")
        yield left
        if self.remaining() <= 0:
            raise NotHeld(f"{self._path}: not certain to have been held to the end of the action")

    @property
    def _believes(self) -> bool:
        """True until the window closes, even if the connection is lost."""
        return self.remaining() > 0
