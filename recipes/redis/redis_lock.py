"""The lock of Redis's documentation ("Distributed Locks with Redis", redis.io).

It is acquired by ``SET key value NX PX ms``, and released by a script that compares and deletes.
``RedisLock`` uses one server. ``SentinelLock`` asks the Sentinels which server is the primary. A
primary acknowledges a write before its replicas have it. So a failover can lose a grant, and the
new primary grants the lock again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from rumpus.recipes.leases.lease_lock import LEASE, REQUEST_S, TTL_S, Granted, LeaseLock
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.servers import Address, Servers

TRY: Final = """
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return redis.call('incr', KEYS[2])
end
return 0
"""
"""Writes the key, and draws the grant's token in the same step."""

REMOVE: Final = """
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
end
return 0
"""

GROUP: Final = "rumpus"
"""The name by which Sentinels know the primary and its replicas."""

_NO_RETRY = Retry(NoBackoff(), 0)

NO_WINDOW: Final = (
    "Order is not promised. A holder that is frozen between a look and its action can act after "
    "the lease has passed on."
)


def connection(address: Address, timeout: float = REQUEST_S) -> Any:
    """A client of one server, which connects when it is first used and repeats nothing."""
    host, port = address
    return redis.Redis(
        host, port, socket_timeout=timeout, socket_connect_timeout=timeout, retry=_NO_RETRY
    )


@contextmanager
def answered() -> Iterator[None]:
    """Turn the library's errors into ``Unanswered``."""
    try:
        yield
    except (redis.RedisError, OSError) as error:
        raise Unanswered(f"{type(error).__name__}: {error}") from error


class RedisLock(LeaseLock):
    """The lock on one server; see the module."""

    system: ClassVar[str] = "redis"
    library: ClassVar[str] = "redis"
    promises: ClassVar[Promises] = Promises(
        prevents=LEASE | {"token-regression"}, tokens=True, notes=NO_WINDOW
    )

    remove_script: ClassVar[str] = REMOVE

    def __init__(self, servers: Servers, path: str, **options: Any) -> None:
        super().__init__(servers, path, **options)
        self._redis: Any = None

    def _server(self) -> Any:
        """A client of the server that has the key."""
        if self._redis is None:
            self._redis = connection(next(iter(self._servers.of("").values())))
        return self._redis

    def _forget_server(self) -> None:
        """Called when a request was not answered."""

    def _call(self, script: str, owner: int, *more: int) -> int:
        keys = [self._key, f"{self._key}:token"]
        try:
            with answered():
                return int(self._server().eval(script, len(keys), *keys, owner, *more))
        except Unanswered:
            self._forget_server()
            raise

    def _try(self, owner: int) -> Granted | None:
        token = self._call(TRY, owner, round(TTL_S * 1000))
        return Granted(token) if token else None

    def _remove(self, owner: int) -> bool:
        return bool(self._call(self.remove_script, owner))

    def left(self) -> list[str]:
        """The server, if it has the key."""
        return [self._key] if self._server().exists(self._key) else []


class SentinelLock(RedisLock):
    """The same on the primary that Sentinels name, with replicas; see the module."""

    system: ClassVar[str] = "redis-sentinel"
    promises: ClassVar[Promises] = Promises(
        prevents=LEASE | {"token-regression"},
        tokens=True,
        notes=f"{NO_WINDOW} The recipe claims exclusion as its users do, and cannot keep it: "
        "replication is asynchronous.",
    )

    def __init__(self, servers: Servers, path: str, **options: Any) -> None:
        super().__init__(servers, path, **options)
        # In any order, so that not all clients depend on the same one.
        sentinels = list(servers.of("sentinel").values())
        self._draws.shuffle(sentinels)
        make: Any = Sentinel
        self._sentinel = make(
            sentinels,
            socket_timeout=REQUEST_S,
            socket_connect_timeout=REQUEST_S,
            retry=_NO_RETRY,
        )

    def _server(self) -> Any:
        if self._redis is None:
            try:
                name, _ = self._sentinel.discover_master(GROUP)
            except MasterNotFoundError as error:
                raise Unanswered(str(error)) from error
            if isinstance(name, bytes):
                name = name.decode()
            self._redis = connection(self._servers.of("")[name])
        return self._redis

    def _forget_server(self) -> None:
        if self._redis is not None:
            self._redis.close()
            self._redis = None
