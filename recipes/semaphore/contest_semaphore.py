"""A semaphore: a number of permits, first come, first served.

It uses the queue of the fair lock (``recipes.contests.fair_contest``), but the first N contenders
hold, not only the first one. Curator's lock with more than one lease has the same rule; but there a
waiter watches only the Nth node before its own, and is not told when another node ahead goes.

A waiter may hold as soon as fewer than N nodes are left ahead of it, whichever have gone. So it
watches N of the nodes ahead: when fewer than N are left, one of the watched must have gone. It
watches the N nearest, because then a release wakes at most the N waiters next behind the node.
"""

from typing import ClassVar

from kazoo.client import KazooClient

from rumpus.recipes.contests.contest import Contest
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.lock.contest_lock import ContestLock
from rumpus.recipes.promises import ANSWERS, EXCLUSION, HOLDING, LIVENESS, Promises


class SemaphoreContest(FairContest):
    """A fair contest that the first ``permits`` contenders win."""

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
    """A lock that up to ``permits`` may hold at once; each object takes one permit at a time.

    Args:
        client, path, name, grace: see ``recipes.contests.contender``.
        permits: how many may hold at once; all clients must pass the same number.
    """

    contest: ClassVar[type[SemaphoreContest]] = SemaphoreContest
    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION
        | HOLDING
        | ANSWERS
        | LIVENESS
        | {"unaware-holder", "disconnected-belief", "unfair-grant", "herd"},
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
        """Always None: a fence could not tell a stale token, as several clients hold at once."""
        return None
