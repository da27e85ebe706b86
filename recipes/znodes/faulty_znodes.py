"""Uses of plain znodes with one known mistake each, which the harness must find."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered
from rumpus.recipes.requests.watched_znode import WatchedZnode
from rumpus.recipes.znodes.append_log import AppendLog
from rumpus.recipes.znodes.ephemeral_nodes import EphemeralNodes
from rumpus.recipes.znodes.guarded_znodes import Entry, GuardedZnodes, Sight
from rumpus.recipes.znodes.multi_write import NAMES, MultiWrite
from rumpus.recipes.znodes.register import ABSENT, LinearizableRegister, LocalRegister, Reading
from rumpus.recipes.znodes.sequence import SequentialNodes, VersionNumbers
from rumpus.recipes.znodes.znode_access import Asker, NotAsked, ZnodeAccess

CACHED_S = 0.2
"""For so long a cached answer is given."""


class FirstSessionOnly(ZnodeAccess):
    """Asks in its first session for ever."""

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._first: Session | None = None

    @contextmanager
    def _asking(self) -> Iterator[Asker]:
        if self._first is None:
            self._first = Session(self._client)
        identity = self._first.id
        if identity is None:
            raise NotAsked("no connection")
        yield Asker(self._client, self._first, identity, self._path)


class _UnsyncedAsker(Asker):
    def catch_up(self) -> None:
        """Nothing: the mistake."""


class Unsynced(ZnodeAccess):
    """Reads what its server has."""

    @contextmanager
    def _asking(self) -> Iterator[Asker]:
        session = Session(self._client)
        try:
            identity = session.id
            if identity is None:
                raise NotAsked("no connection")
            yield _UnsyncedAsker(self._client, session, identity, self._path)
        finally:
            session.close()


class CachesReads(LocalRegister):
    """Reads from a cache that its own writes do not reach."""

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._cache: dict[str, tuple[float, Reading]] = {}

    def read(self, key: str) -> Reading:
        """What was read a moment ago, or is there now."""
        now = time.monotonic()
        cached = self._cache.get(key)
        if cached is None or now - cached[0] > CACHED_S:
            cached = self._cache[key] = (now, super().read(key))
        return cached[1]


class IgnoresVersionRegister(LinearizableRegister):
    """It compares, then sets."""

    def _set(self, ask: Asker, key: str, value: str, version: int) -> Reading | None:
        if version != -1:
            stat = ask(self._client.exists_async, self._node(key))
            if stat is None or stat.version != version:
                return None
        return super()._set(ask, key, value, -1)


class OverwritesRegister(LinearizableRegister):
    """It takes a register that was absent for one that still is."""

    def cas(self, key: str, version: int, value: str) -> Reading | None:
        """A write, if the register was absent."""
        return self.write(key, value) if version == ABSENT else super().cas(key, version, value)


class RetriesCasRegister(LinearizableRegister):
    """It tries a compare-and-set again that got no answer."""

    def cas(self, key: str, version: int, value: str) -> Reading | None:
        """The same, twice if need be."""
        try:
            return super().cas(key, version, value)
        except Unanswered:
            return super().cas(key, version, value)


class BlindAppendLog(AppendLog):
    """It does not look whether another was quicker."""

    def _put(self, ask: Asker, node: str, data: bytes, version: int | None) -> None:
        super()._put(ask, node, data, None if version is None else -1)


class RetriesAppendLog(AppendLog):
    """It appends again when it got no answer."""

    def append(self, key: str, piece: str) -> None:
        """The same, twice if need be."""
        try:
            super().append(key, piece)
        except Unanswered:
            super().append(key, piece)


class CountsChildrenSequence(SequentialNodes):
    """It numbers its nodes itself."""

    def generate(self) -> int:
        """One more than the highest."""
        with self._asking() as ask:
            names = ask(self._client.get_children_async, self._path)
            number = max((int(name.rpartition("-")[2]) for name in names), default=-1) + 1
            try:
                ask(self._client.create_async, f"{self._path}/n-{number:010d}", ephemeral=True)
            except NodeExistsError:
                return number + 1
            return number


class ReadsThenSetsSequence(VersionNumbers):
    """It reads a number, and writes the next one."""

    def generate(self) -> int:
        """One more than what was read."""
        with self._asking() as ask:
            data, _ = ask(self._client.get_async, self._path)
            number = int(data or b"0") + 1
            ask(self._client.set_async, self._path, str(number).encode())
            return number


class PersistentNodes(EphemeralNodes):
    """Its nodes stay."""

    def _create(self, ask: Asker, node: str) -> None:
        ask(self._client.create_async, node)


class TidiesUpNodes(EphemeralNodes):
    """It tidies up after others."""

    def _create(self, ask: Asker, node: str) -> None:
        try:
            super()._create(ask, node)
        except NodeExistsError:
            ask(self._client.delete_async, node)
            super()._create(ask, node)


class OneByOneWrite(MultiWrite):
    """It writes node by node."""

    def write(self, value: str) -> int:
        """Put a value into all nodes."""
        with self._asking() as ask:
            stats = [ask(self._client.set_async, self._node(n), value.encode()) for n in NAMES]
            return int(stats[-1].version)


class IgnoresVersionWrite(MultiWrite):
    """It writes whatever version is there."""

    def write_if(self, value: str, version: int) -> int | None:
        """The same as ``write``."""
        return self.write(value)


class UncheckedReadWrite(MultiWrite):
    """It reads node by node."""

    def _stood(self, ask: Asker, versions: dict[str, int]) -> bool:
        return True


class EventOnlyWatch(WatchedZnode):
    """It looks again when it is told of a change, and only then."""

    def _signal(self, session: Session) -> threading.Event:
        return threading.Event()

    def _is_news(self, event: WatchedEvent) -> bool:
        return bool(event.type != EventType.NONE)


class WatchesOnceWatch(WatchedZnode):
    """It leaves one watch for each znode."""

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._watched: set[str] = set()

    def _look(self, ask: Asker, key: str, told: threading.Event) -> Reading:
        if key in self._watched:
            return self.read(key)
        self._watched.add(key)
        return super()._look(ask, key, told)


class AnyNewsWatch(WatchedZnode):
    """It takes any news for the change."""

    def _wait_once(
        self, session: Session, key: str, version: int, deadline: Deadline
    ) -> Reading | None:
        told = self._signal(session)
        with self._asking() as ask:
            seen = self._look(ask, key, told)
        if seen.version == version and not told.wait(deadline.left()):
            return None
        return seen


class UnguardedZnodes(GuardedZnodes):
    """It makes its nodes open to everybody."""

    def make(self, name: str, value: str, acl: Sequence[Entry]) -> Sight:
        """The same, open to everybody."""
        return super().make(name, value, [(31, "world", "anyone")])


class CountsVersionsZnodes(GuardedZnodes):
    """It takes the Stat before a change, and counts the change itself."""

    def write(self, name: str, value: str) -> Sight:
        """The same, with a Stat of its own making."""
        with self._asking() as ask:
            stat = ask(self._client.exists_async, self._node(name))
        super().write(name, value)
        if stat is None:
            raise NoNodeError
        return Sight(stat._replace(version=stat.version + 1), data=value)


class ListsOnParentZnodes(GuardedZnodes):
    """It takes a list to hold for all below its node, and gives it to the children."""

    def grow(self, name: str, child: str) -> None:
        """The same, for the maker alone."""
        self._create(f"{name}/{child}", "", [(31, "auth", "")])


class HalvesTimeoutWatch(WatchedZnode):
    """Its waiters give up too early."""

    def await_change(self, key: str, version: int, timeout: float) -> Reading | None:
        """Wait for half of the time."""
        return super().await_change(key, version, timeout / 2)


class IgnoresTimeoutWatch(WatchedZnode):
    """Its waiters do not give up."""

    def await_change(self, key: str, version: int, timeout: float) -> Reading | None:
        """Wait for ever."""
        return super().await_change(key, version, threading.TIMEOUT_MAX)
