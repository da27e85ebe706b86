"""Uses of etcd's keys with one known mistake each."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from rumpus.recipes.etcd.etcd_access import EtcdAccess, get, pairs, put
from rumpus.recipes.etcd.etcd_keys import EtcdRegister
from rumpus.recipes.etcd.etcd_multi_write import EtcdMultiWrite
from rumpus.recipes.etcd.etcd_watched_keys import EtcdWatchedKeys, Event, EventStream
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.servers import Servers
from rumpus.recipes.znodes.multi_write import NAMES
from rumpus.recipes.znodes.register import Reading

CACHED_S: Final = 0.2
"""Seconds for which ``CachesReads`` answers from its cache."""


class SerializableReads(EtcdRegister):
    """Reads are answered by one server alone."""

    reading: ClassVar[dict[str, Any]] = {"serializable": True}


class GetsThenPuts(EtcdRegister):
    """Compares by itself."""

    def cas(self, key: str, version: int, value: str) -> Reading | None:
        """Read, compare, write."""
        return self.write(key, value) if self.read(key).version == version else None


class RetriesCas(EtcdRegister):
    """Sends a compare-and-set again if the answer was lost."""

    def cas(self, key: str, version: int, value: str) -> Reading | None:
        """Compare and set, at most twice."""
        try:
            return super().cas(key, version, value)
        except Unanswered:
            return super().cas(key, version, value)


class CachesReads(EtcdRegister):
    """Answers reads from a cache."""

    def __init__(self, servers: Servers, path: str) -> None:
        super().__init__(servers, path)
        self._cache: dict[str, tuple[float, Reading]] = {}

    def read(self, key: str) -> Reading:
        """What a register held, a moment ago."""
        now = time.monotonic()
        cached = self._cache.get(key)
        if cached is None or now - cached[0] > CACHED_S:
            cached = self._cache[key] = (now, super().read(key))
        return cached[1]


class _FirstConnectionOnly(EtcdAccess):
    """Does not connect again after an error."""

    _broken = False

    @contextmanager
    def asking(self) -> Iterator[Any]:
        if self._broken:
            raise Unanswered("the connection is lost")
        try:
            with super().asking() as etcd:
                yield etcd
        except Unanswered:
            self._broken = True
            raise


class FirstConnectionRegister(EtcdRegister):
    """Uses its first connection only."""

    access_class = _FirstConnectionOnly


class FirstConnectionMultiWrite(EtcdMultiWrite):
    """Uses its first connection only."""

    access_class = _FirstConnectionOnly


class OneByOne(EtcdMultiWrite):
    """Writes the keys in a transaction each."""

    def write(self, value: str) -> int:
        """Put a value into one key after the other."""
        for name in NAMES:
            key = self._key(name)
            answer = self._access.transaction([], [put(key, value), get(key)])
        return int(pairs(answer, 1)[0]["version"])


class ReadsOneByOne(EtcdMultiWrite):
    """Reads the keys in a transaction each."""

    def read(self) -> tuple[dict[str, str | None], int]:
        """Each key as it is at a moment of its own."""
        found = {}
        for name in NAMES:
            values, version = super().read()
            found[name] = values[name]
        return found, version


class IgnoresVersion(EtcdMultiWrite):
    """Compares no version."""

    def write_if(self, value: str, version: int) -> int | None:
        """Write, whatever the version is."""
        return self.write(value)


class _FromNow(EventStream):
    """Begins its watch again from now on."""

    _begun = False

    def _first_revision(self) -> int:
        first, self._begun = 0 if self._begun else self._next, True
        return first


class FromNow(EtcdWatchedKeys):
    """Begins every watch again from now on."""

    stream_class = _FromNow

    def _next_event(self, key: str, revision: int, deadline: Deadline) -> Reading | None:
        return super()._next_event(key, 0, deadline)


class _FromLastEvent(EventStream):
    """Begins its watch again with the last event that came."""

    def _first_revision(self) -> int:
        return max(self.since, self._next - 1)


class FromLastEvent(EtcdWatchedKeys):
    """Gets the last event twice."""

    stream_class = _FromLastEvent


class _ByKey(EventStream):
    """Hands out the changes of one key after those of another."""

    def take(self, revision: int, timeout: float) -> list[Event] | None:
        taken = super().take(revision, timeout)
        return None if taken is None else sorted(taken, key=lambda event: event.key)


class ByKey(EtcdWatchedKeys):
    """Does not keep the order of changes of different keys."""

    stream_class = _ByKey


class AnyNews(EtcdWatchedKeys):
    """Takes the end of a watch for a change."""

    def _next_event(self, key: str, revision: int, deadline: Deadline) -> Reading | None:
        try:
            changed = super()._next_event(key, revision, deadline)
        except Unanswered:
            changed = None
        return changed or self.read(key)


class IgnoresTimeout(EtcdWatchedKeys):
    """Waits for ever."""

    def await_change(self, key: str, version: int, timeout: float) -> Reading | None:
        """Wait, whatever the timeout is."""
        return super().await_change(key, version, 1e6)


class HalvesTimeout(EtcdWatchedKeys):
    """Gives up early."""

    def await_change(self, key: str, version: int, timeout: float) -> Reading | None:
        """Wait for half of the timeout."""
        return super().await_change(key, version, timeout / 2)


class FirstConnectionWatch(EtcdWatchedKeys):
    """Uses its first connection only."""

    access_class = _FirstConnectionOnly
