"""Uses of plain znodes with one known mistake each, which the harness must find."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.mistake import made
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered
from rumpus.recipes.znodes.append_log import AppendLog
from rumpus.recipes.znodes.ephemeral_nodes import EphemeralNodes
from rumpus.recipes.znodes.guarded_znodes import Entry, GuardedZnodes, Sight
from rumpus.recipes.znodes.multi_write import NAMES, MultiWrite
from rumpus.recipes.znodes.register import ABSENT, LinearizableRegister, LocalRegister, Reading
from rumpus.recipes.znodes.sequence import SequentialNodes, VersionNumbers
from rumpus.recipes.znodes.watched_znode import WatchedZnode
from rumpus.recipes.znodes.znode_access import Asker, NotAsked, ZnodeAccess

CACHED_S = 0.2
"""Seconds for which ``CachesReads`` answers from its cache."""


class FirstSessionOnly(ZnodeAccess):
    _first: Session | None = None

    @contextmanager
    def _asking(self) -> Iterator[Asker]:
        if self._first is None:
            self._first = Session(self._client)
        if self._first.lost:
            made(own=True)
        identity = self._first.id
        if identity is None:
            raise NotAsked("no connection")
        yield Asker(self._client, self._first, identity, self._path)


class UnsyncedAsker(Asker):
    def catch_up(self) -> None:
        """Nothing: the mistake."""
        made(own=True)


class CachesReads(LocalRegister):
    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._cache: dict[str, tuple[float, Reading]] = {}

    def read(self, key: str) -> Reading:
        now = time.monotonic()
        cached = self._cache.get(key)
        if cached is None or now - cached[0] > CACHED_S:
            cached = self._cache[key] = (now, super().read(key))
        else:
            made(own=True)
        return cached[1]


class IgnoresVersionRegister(LinearizableRegister):
    def _set(self, ask: Asker, key: str, value: str, version: int) -> Reading | None:
        if version != -1:
            stat = ask(self._client.exists_async, self._node(key))
            if stat is None or stat.version != version:
                return None
        reading = super()._set(ask, key, value, -1)
        if reading is not None and version not in (-1, reading.version - 1):
            made(self._node(key))
        return reading


class OverwritesRegister(LinearizableRegister):
    def cas(self, key: str, version: int, value: str) -> Reading | None:
        if version != ABSENT:
            return super().cas(key, version, value)
        reading = self.write(key, value)
        if reading.version > 0:
            made(self._node(key))
        return reading


class RetriesCasRegister(LinearizableRegister):
    def cas(self, key: str, version: int, value: str) -> Reading | None:
        try:
            return super().cas(key, version, value)
        except Unanswered:
            made(self._node(key))
            return super().cas(key, version, value)


class BlindAppendLog(AppendLog):
    def _put(self, ask: Asker, node: str, data: bytes, version: int | None) -> None:
        if version is None:
            super()._put(ask, node, data, None)
        elif ask(self._client.set_async, node, data, -1).version != version + 1:
            made(node)


class RetriesAppendLog(AppendLog):
    def append(self, key: str, piece: str) -> None:
        try:
            super().append(key, piece)
        except Unanswered:
            made(piece)
            super().append(key, piece)


class CountsChildrenSequence(SequentialNodes):
    def generate(self) -> int:
        with self._asking() as ask:
            names = ask(self._client.get_children_async, self._path)
            number = max((int(name.rpartition("-")[2]) for name in names), default=-1) + 1
            made(number)
            try:
                ask(self._client.create_async, f"{self._path}/n-{number:010d}", ephemeral=True)
            except NodeExistsError:
                return number + 1
            return number


class ReadsThenSetsSequence(VersionNumbers):
    def generate(self) -> int:
        with self._asking() as ask:
            data, stat = ask(self._client.get_async, self._path)
            number = int(data or b"0") + 1
            now = ask(self._client.set_async, self._path, str(number).encode())
            if now.version != stat.version + 1:
                made(number)
            return number


class PersistentNodes(EphemeralNodes):
    def _create(self, ask: Asker, node: str) -> None:
        made(node)
        ask(self._client.create_async, node)


class TidiesUpNodes(EphemeralNodes):
    def _create(self, ask: Asker, node: str) -> None:
        try:
            super()._create(ask, node)
        except NodeExistsError:
            made(node)
            ask(self._client.delete_async, node)
            super()._create(ask, node)


class OneByOneWrite(MultiWrite):
    def write(self, value: str) -> int:
        with self._asking() as ask:
            made(value)
            stats = [ask(self._client.set_async, self._node(n), value.encode()) for n in NAMES]
            return int(stats[-1].version)


class IgnoresVersionWrite(MultiWrite):
    def write_if(self, value: str, version: int) -> int | None:
        written = self.write(value)
        if written != version + 1:
            made(value)
        return written


class UncheckedReadWrite(MultiWrite):
    def _stood(self, ask: Asker, versions: dict[str, int]) -> bool:
        made(own=True)
        return True


class EventOnlyWatch(WatchedZnode):
    def _signal(self, session: Session) -> threading.Event:
        return threading.Event()

    def _is_news(self, event: WatchedEvent) -> bool:
        if event.type == EventType.NONE:
            made(own=True)
        return bool(event.type != EventType.NONE)


class WatchesOnceWatch(WatchedZnode):
    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._watched: set[str] = set()

    def _look(self, ask: Asker, key: str, told: threading.Event) -> Reading:
        if key in self._watched:
            made(own=True)
            return self.read(key)
        self._watched.add(key)
        return super()._look(ask, key, told)


class AnyNewsWatch(WatchedZnode):
    def _wait_once(
        self, session: Session, key: str, version: int, deadline: Deadline
    ) -> Reading | None:
        told = self._signal(session)
        with self._asking() as ask:
            seen = self._look(ask, key, told)
        if seen.version == version and not told.wait(deadline.left()):
            return None
        if seen.version == version:
            made(own=True)
        return seen


class UnguardedZnodes(GuardedZnodes):
    def make(self, name: str, value: str, acl: Sequence[Entry]) -> Sight:
        made(self._node(name))
        return super().make(name, value, [(31, "world", "anyone")])


class CountsVersionsZnodes(GuardedZnodes):
    def write(self, name: str, value: str) -> Sight:
        with self._asking() as ask:
            stat = ask(self._client.exists_async, self._node(name))
        super().write(name, value)
        if stat is None:
            raise NoNodeError
        made(self._node(name))
        return Sight(stat._replace(version=stat.version + 1), data=value)


class ListsOnParentZnodes(GuardedZnodes):
    def grow(self, name: str, child: str) -> None:
        made(self._node(f"{name}/{child}"))
        self._create(f"{name}/{child}", "", [(31, "auth", "")])


class HalvesTimeoutWatch(WatchedZnode):
    def await_change(self, key: str, version: int, timeout: float) -> Reading | None:
        changed = super().await_change(key, version, timeout / 2)
        if changed is None:
            made(own=True)
        return changed


class IgnoresTimeoutWatch(WatchedZnode):
    def await_change(self, key: str, version: int, timeout: float) -> Reading | None:
        made(own=True)
        return super().await_change(key, version, threading.TIMEOUT_MAX)
