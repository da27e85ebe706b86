"""A fair lock whose holder knows until when it may act.

A client that is cut off, or was frozen, cannot be told that its lock has passed on. It can know
that it has not: its session is certain to live for a while (``recipes.requests.session_validity``),
and that much longer nobody else is granted the lock, whatever happens. When the window closes it
stops believing by itself, before the servers do anything; also when it wakes up from a pause, since
the clock has gone on. Article A ("which distributed lock does a storage system need") calls this
strict exclusion; the holder looks before each action whether enough of the window is left.

What remains is an action that takes longer than what was left: ``guard`` tells afterwards, and
``recipes.lock.fencing`` prevents it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from kazoo.client import KazooClient

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
        """As every contest's; the session's validity counts from here to ``leave``."""
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
        """As every contest's."""
        try:
            super().leave(entry)
        finally:
            self.validity.let_go()


class ValidityLock(ContestLock):
    """A fair lock with a window of validity. See the module.

    Args:
        client, path, name, grace: see ``recipes.contests.contender``.
        session_timeout: seconds that the servers grant to the client's sessions; what the client
            asked for by default. They grant less to those who ask for more than 20 ticks.
    """

    contest = ValidContest
    promises: ClassVar[Promises] = FairLock.promises.and_more(
        {"stale-belief"},
        "The belief ends before the session can. An action that takes longer than the window "
        "had left when it began can still come late: leave a margin (guard), or let the "
        "resource check tokens. Clocks must not differ in rate by more than 5 in 100.",
    )

    def __init__(
        self,
        client: KazooClient,
        path: str,
        *,
        name: str = "",
        grace: float = 2.0,
        session_timeout: float | None = None,
    ) -> None:
        super().__init__(client, path, name=name, grace=grace)
        assert isinstance(self._contest, ValidContest)
        self._validity = self._contest.validity
        if session_timeout is not None:
            self._validity.session_timeout = session_timeout

    def remaining(self) -> float:
        """Seconds for which we are certain to hold it; 0 if we are not."""
        grant = self._grant
        if grant is None or grant.session.lost:
            return 0.0
        return self._validity.remaining()

    @contextmanager
    def guard(self, min_seconds: float = 0.0) -> Iterator[float]:
        """Act inside: ``with lock.guard(0.5):`` an action of half a second at most.

        Gives the seconds that are left.

        Raises:
            NotHeld: on entering, fewer than ``min_seconds`` are left; on leaving, the window had
                closed: what was done inside may have come after another's grant, undo it.
        """
        left = self.remaining()
        if left <= min_seconds:
            raise NotHeld(f"{self._path}: certain for {left:.3f} s only, {min_seconds} are needed")
        yield left
        if self.remaining() <= 0:
            raise NotHeld(f"{self._path}: not certain to have been held to the end of the action")

    @property
    def _believes(self) -> bool:
        """Until the window closes, whatever becomes of the connection."""
        return self.remaining() > 0
