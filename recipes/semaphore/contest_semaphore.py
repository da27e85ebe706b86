"""A semaphore: a number of permits, first come, first served.

The queue of the fair lock (``recipes.contests.fair_contest``) in which not only the first holds but
all who are among the first N. That is the rule of Curator's lock with more than one lease; but
there a waiter watches one node only, the Nth before its own, and is not told when another of those
ahead goes. A waiter may go in as soon as fewer than N are left ahead of it, whoever has gone. So
it has to watch N of them, any N: when fewer are left, one of these has gone. The N nearest are
taken, because then the end of a hold wakes at most the N waiters next behind it.
"""

from typing import ClassVar

from kazoo.client import KazooClient

from rumpus.recipes.contests.contest import Contest
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.lock.contest_lock import ContestLock
from rumpus.recipes.promises import EXCLUSION, HOLDING, LIVENESS, Promises


class SemaphoreContest(FairContest):
    """Whoever is among the first ``permits``."""

    def __init__(
        self, client: KazooClient, path: str, name: str, grace: float, permits: int
    ) -> None:
        super().__init__(client, path, name, grace)
        self._permits = permits

    def _blocking(self, ahead: list[str]) -> list[str]:
        return ahead if len(ahead) >= self._permits else []

    def _watched(self, blocking: list[str]) -> list[str]:
        return blocking[-self._permits :]


class Semaphore(ContestLock):
    """So many may hold at once; each object takes one permit at a time.

    Args:
        client, path, name, grace: see ``recipes.contests.contender``.
        permits: how many may hold at once; everybody must say the same.
    """

    contest: ClassVar[type[SemaphoreContest]] = SemaphoreContest
    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | HOLDING | LIVENESS | {"unaware-holder", "unfair-grant", "herd"},
        wakeups=1,
        notes=(
            "No tokens: several hold at once, so a fence could not tell a stale one by its "
            "number. Not re-entrant. A holder that was paused, or whose action takes longer than "
            "its session lives, can act after its permit has passed on."
        ),
    )

    def __init__(
        self, client: KazooClient, path: str, permits: int, *, name: str = "", grace: float = 2.0
    ) -> None:
        if permits < 1:
            raise ValueError(f"a semaphore needs at least one permit, not {permits}")
        self._permits = permits
        super().__init__(client, path, name=name, grace=grace)

    def _make_contest(self) -> Contest:
        return self.contest(self._client, self._path, self._name, self._grace, self._permits)

    @property
    def token(self) -> int | None:
        """None; see the promises."""
        return None
