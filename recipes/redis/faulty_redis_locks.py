"""Locks on Redis with one known mistake each."""

from typing import ClassVar

from rumpus.recipes.redis.redis_lock import RedisLock
from rumpus.recipes.redis.redlock import Redlock


class PlainDelete(RedisLock):
    """Deletes the key without a look at its value."""

    remove_script: ClassVar[str] = "return redis.call('del', KEYS[1])"


class BelievesForGood(RedisLock):
    """Believes until it releases."""

    @property
    def held(self) -> bool:
        """Whether it was granted and not released."""
        return self._owner is not None

    remaining = None  # type: ignore[assignment]  # it does not count


class MinorityRedlock(Redlock):
    """Is content with two servers of five."""

    @staticmethod
    def quorum_of(servers: int) -> int:
        """One less than a majority."""
        return servers // 2
