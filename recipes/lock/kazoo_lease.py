"""kazoo's own NonBlockingLease behind the interface of the locks here.

It repairs nothing, so there is no bare variant.

A lease ends when its duration is over, by the clock, and cannot be given up earlier. The adapter
tries until it obtains the lease or the time is over. It counts the duration on the monotonic clock,
from just before the request; on release it lets the lease lapse. kazoo identifies a holder by its
name and lets that holder renew, so the same client obtains the lease again at once.

kazoo's requests have no timeout of their own. With no server in reach, or with an orphan node in
the queue of the lock that kazoo's lease uses internally, it blocks whatever the timeout.
"""

import time
from datetime import timedelta
from typing import Any, ClassVar, Final

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss

from rumpus.recipes.contests.contest import Contest, Entry
from rumpus.recipes.lock.contest_lock import ContestLock
from rumpus.recipes.promises import EXCLUSION, LIVENESS, Line, Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import pause
from rumpus.recipes.requests.session import Session, Unanswered

DURATION: Final = 2.0
"""Seconds that a lease lasts. kazoo counts it in whole seconds."""

BETWEEN: Final = 0.1
"""Seconds between two tries."""


class LeaseContest(Contest):
    """Tries until kazoo has obtained the lease."""

    def __init__(self, client: KazooClient, path: str, name: str, grace: float) -> None:
        super().__init__(client, path, name, grace)
        self.ends = 0.0
        """When the latest lease ends, on the monotonic clock."""

    @classmethod
    def line(cls, path: str) -> Line:
        """The queue of the lock that kazoo holds while it looks at the lease."""
        return Line(kind="sequential", path=path, mark="__lock__")

    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        began = time.monotonic()
        try:
            lease = self._lease(self._name or entry.mark)
        except ConnectionLoss as error:
            raise Unanswered("no connection") from error
        if lease:
            if entry.session.lost:  # kazoo goes on in the next session, and so does its user
                entry.session = Session(self._client)
            self.ends = began + DURATION
            return True
        pause(deadline, BETWEEN)
        return False

    def _lease(self, holder: str) -> Any:
        """What kazoo makes of a try: it is true if the lease was obtained."""
        return self._client.NonBlockingLease(
            self._path, timedelta(seconds=DURATION), identifier=holder
        )

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:  # noqa: ARG002 - it lapses
        return True


class KazooLease(ContestLock):
    """``kazoo.recipe.lease.NonBlockingLease``; see the module."""

    contest = LeaseContest
    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | LIVENESS | {"stale-belief"},
        notes=(
            "Compares the clocks of clients, which have to agree roughly, as kazoo's documentation "
            "says: not for clocks that are set. No token, no order, no release before its time."
        ),
    )

    def remaining(self) -> float:
        """Seconds for which the lease still lasts; 0 without one."""
        assert isinstance(self._contest, LeaseContest)
        return 0.0 if self._grant is None else max(0.0, self._contest.ends - time.monotonic())

    @property
    def _believes(self) -> bool:
        """True until the lease's duration is over, even if the session is lost."""
        return self.remaining() > 0
