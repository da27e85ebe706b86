"""Redlock: the lock on a majority of independent Redis servers.

It is described in "Distributed Locks with Redis" (redis.io), and doubted by Kleppmann, "How to do
distributed locking" (2016).

A client writes its key to all servers, one after the other, and holds the lock if a majority took
it before its time to live was over. It rests on two assumptions: no server forgets a key before its
time (or it stays away for as long after a restart), and clocks run at about the same rate.

Redlock has no tokens. ``FencedRedlock`` adds them: each server that takes the key counts on. The
highest count is the token, once all servers of the majority have it. Any later majority shares a
server with this one, and so counts higher, unless a server forgets.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final

from rumpus.recipes.leases.lease_lock import DRIFT, LEASE, TTL_S, Granted, LeaseLock
from rumpus.recipes.promises import Promises
from rumpus.recipes.redis.redis_lock import NO_WINDOW, REMOVE, answered, connection
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.servers import Servers

SERVER_S: Final = 0.1
"""Seconds that one server may take to answer: a dead one must cost little of the lease."""

TRY: Final = "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0"

RAISE: Final = """
if tonumber(redis.call('get', KEYS[1]) or '0') < tonumber(ARGV[1]) then
    redis.call('set', KEYS[1], ARGV[1])
end
return 1
"""


class Redlock(LeaseLock):
    """See the module."""

    system: ClassVar[str] = "redis-independent"
    library: ClassVar[str] = "redis"
    promises: ClassVar[Promises] = Promises(prevents=LEASE, notes=NO_WINDOW + " No tokens.")

    def __init__(self, servers: Servers, path: str, **options: Any) -> None:
        super().__init__(servers, path, **options)
        self._all = [connection(each, SERVER_S) for each in servers.of("").values()]
        self._quorum = self.quorum_of(len(self._all))

    @staticmethod
    def quorum_of(servers: int) -> int:
        """How many of the servers are a majority."""
        return servers // 2 + 1

    def _try(self, owner: int) -> Granted | None:
        began = time.monotonic()
        taken: list[Any] = []
        silent = 0
        for server in self._all:
            try:
                with answered():
                    if server.eval(TRY, 1, self._key, owner, round(TTL_S * 1000)):
                        taken.append(server)
            except Unanswered:
                silent += 1
        token = self._token_of(taken) if len(taken) >= self._quorum else Granted(None)
        in_time = time.monotonic() - began < TTL_S * (1 - DRIFT) - 0.002
        if len(taken) >= self._quorum and token is not None and in_time:
            return token
        if taken or silent:
            # Free at once what was taken, so that others need not wait for its end.
            self._remove(owner)
        return None

    def _token_of(self, taken: Sequence[Any]) -> Granted | None:  # noqa: ARG002 - for subclasses
        """The grant's token, from the servers that took the key; None if it cannot be had."""
        return Granted(None)

    def _remove(self, owner: int) -> bool:
        removed, silent = 0, 0
        for server in self._all:
            try:
                with answered():
                    removed += int(server.eval(REMOVE, 1, self._key, owner))
            except Unanswered:
                silent += 1
        if removed < self._quorum <= removed + silent:
            raise Unanswered(f"{silent} of {len(self._all)} servers did not answer")
        return removed >= self._quorum

    def left(self) -> list[str]:
        """The servers that have the key, if they are a majority."""
        there = []
        for server in self._all:
            with suppress(Unanswered), answered():
                if server.exists(self._key):
                    there.append(self._key)
        return there if len(there) >= self._quorum else []


class ForgetfulRedlock(Redlock):
    """Redlock on servers that keep nothing on disk, and are started again at once.

    The documents say that such a server must stay away for the time to live.
    """

    system: ClassVar[str] = "redis-forgetful"


class FencedRedlock(Redlock):
    """Redlock with tokens; see the module."""

    promises: ClassVar[Promises] = Redlock.promises.and_more(
        frozenset({"token-regression", "stale-action"}),
        f"{NO_WINDOW} The resource checks tokens, and refuses that action.",
        tokens=True,
        fenced=True,
    )

    def _token_of(self, taken: Sequence[Any]) -> Granted | None:
        counter = f"{self._key}:token"
        try:
            with answered():
                token = max(int(server.incr(counter)) for server in taken)
                for server in taken:
                    server.eval(RAISE, 1, counter, token)
        except Unanswered:
            return None
        return Granted(token)
