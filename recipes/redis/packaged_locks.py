"""Locks of packages from the index behind the interface of the locks here.

The adapters try and wait as the other leases do, and choose the random values, which are numbers so
that servers' logs show them. Taking and removing the key is the packages'.
"""

from typing import Any, ClassVar

import redis
from redis.exceptions import LockError

from rumpus.recipes.leases.lease_lock import LEASE, TTL_S, Granted
from rumpus.recipes.promises import Promises
from rumpus.recipes.redis.redis_lock import NO_WINDOW, RedisLock, answered
from rumpus.recipes.redis.redlock import Redlock
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.servers import Servers


class RedisPyLock(RedisLock):
    """``redis.lock.Lock`` of redis-py, on one server."""

    promises: ClassVar[Promises] = Promises(prevents=LEASE, notes=NO_WINDOW + " No tokens.")

    def _package_lock(self) -> Any:
        return self._server().lock(self._key, timeout=TTL_S, thread_local=False)

    def _try(self, owner: int) -> Granted | None:
        with answered():
            taken = self._package_lock().acquire(blocking=False, token=str(owner))
        return Granted(None) if taken else None

    def _remove(self, owner: int) -> bool:
        lock = self._package_lock()
        lock.local.token = str(owner).encode()
        try:
            with answered():
                lock.release()
        except Unanswered as error:
            if isinstance(error.__cause__, LockError):
                return False  # it has another value, or is gone
            raise
        return True


class RedlockPy(Redlock):
    """``redlock.Redlock`` of redlock-py.

    It raises an error if any of the servers does, also when a majority took the key, and then
    leaves the key where it is. The adapter removes it.
    """

    library: ClassVar[str] = "redlock-py"

    def __init__(self, servers: Servers, path: str, **options: Any) -> None:
        import redlock  # type: ignore[import-untyped]  # noqa: PLC0415 - only this recipe needs it

        super().__init__(servers, path, **options)
        self._package = redlock
        self._owner_tried = 0

        class Numbered(redlock.Redlock):  # type: ignore[misc]  # untyped
            def get_unique_id(inner) -> bytes:  # noqa: N805 - the outer object is self
                return str(self._owner_tried).encode()

        self._redlock: Any = Numbered(self._all, retry_count=1, retry_delay=0.001)

    def _try(self, owner: int) -> Granted | None:
        self._owner_tried = owner
        try:
            taken = self._redlock.lock(self._key, round(TTL_S * 1000))
        except (self._package.MultipleRedlockException, redis.RedisError) as error:
            raise Unanswered(f"{type(error).__name__}: {error}") from error
        return Granted(None) if taken else None
