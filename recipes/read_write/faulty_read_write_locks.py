"""Read-write locks with one known mistake each, which the harness must find."""

import threading
from functools import cached_property
from typing import ClassVar

from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.mistake import given, made
from rumpus.recipes.read_write.read_write_lock import READ, WRITE, ReadContest, WriteContest
from rumpus.recipes.read_write.revocable_lock import UNLOCK, RevocableReadWriteLock
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session


class Barging(ReadContest):
    def _blocking(self, ahead: list[str]) -> list[str]:
        blocking = ahead if ahead and WRITE in ahead[0] else []
        return given(blocking, super()._blocking(ahead), *ahead)


class Mislabelled(WriteContest):
    mark: ClassVar[str] = READ

    def _create(self, entry: Entry, deadline: Deadline, *, ephemeral: bool = True) -> str:
        made(f"{self._path}/{entry.mark}")
        return super()._create(entry, deadline, ephemeral=ephemeral)


class ReadersIgnored(WriteContest):
    def _blocking(self, ahead: list[str]) -> list[str]:
        return given([node for node in ahead if WRITE in node], ahead, *ahead)


class AsksFirstLock(RevocableReadWriteLock):
    def _holding(self, session: Session, deadline: Deadline) -> list[str]:
        holding = super()._holding(session, deadline)
        return given(holding[:1], holding, *holding)


class NotifiedOnlyLock(RevocableReadWriteLock):
    _watched: str | None = None

    @cached_property
    def _notified(self) -> threading.Event:
        return threading.Event()

    def _look(self, entry: Entry, deadline: Deadline) -> bool:
        def news(event: WatchedEvent) -> None:
            if event.type == EventType.CHANGED:
                self._notified.set()
                entry.session.wake.set()

        entry.session.wake.clear()
        if self._watched != entry.node:
            self._notified.clear()
            data, _ = entry.session.ask(deadline, self._client.get_async, entry.node, news)
            self._watched = entry.node
            if data == UNLOCK:
                made(entry.node)
        elif not self._notified.is_set():
            made(entry.node)
        return self._notified.is_set()
