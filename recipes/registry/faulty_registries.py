"""Service registries with one known mistake each, which the harness must find."""

import time
from typing import ClassVar

from kazoo.client import KazooClient

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.registry.service_registry import (
    Registration,
    RegistrationUnknown,
    ServiceRegistry,
    ServiceView,
)
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session
from rumpus.recipes.view.faulty_views import NotifiedOnly


class _Persistent(Registration):
    def _create(self, entry: Entry, deadline: Deadline, *, ephemeral: bool = False) -> str:
        return super()._create(entry, deadline, ephemeral=ephemeral)


class _Once(Registration):
    reregisters = False
    _told = False

    def wait_confirmed(self, timeout: float | None) -> bool:
        self._told = self._told or super().wait_confirmed(timeout)
        return self._told

    def verify(self, _deadline: Deadline) -> bool:
        return self._told


class _NoLookup(Registration):
    def _find(self, _entry: Entry, _deadline: Deadline) -> str | None:
        return None


class _NotifiedOnly(NotifiedOnly, ServiceView):
    pass


class PersistentRegistry(ServiceRegistry):
    """Its entries are not ephemeral."""

    registration = _Persistent
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "the entry is persistent: it outlives whoever registered it"
    expected: ClassVar[frozenset[str]] = frozenset({"ghost-entry"})


class RegisteredOnceRegistry(ServiceRegistry):
    """It registers once."""

    registration = _Once
    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 4.1"
    mistake: ClassVar[str] = (
        "does not register again after its session was lost: it serves on, and nobody finds it"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"missing-entry"})


class NoLookupRegistry(ServiceRegistry):
    """It creates again when a create got no answer."""

    registration = _NoLookup
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "registers again after a lost reply without looking for its entry: it is listed twice, "
        "and the first entry stays when it deregisters"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"ghost-entry"})


class NotifiedOnlyRegistry(ServiceRegistry):
    """Its watched view misses what happens during a reconnect."""

    view = _NotifiedOnly
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "its view lists again on a notification only: the watches were gone with the connection"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stale-view"})


class UnsyncedRegistry(ServiceRegistry):
    """It lists what its server has."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "lists without a sync: a server that is behind lacks those who have registered, and has "
        "those who have left"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"missing-entry", "ghost-entry"})

    def _catch_up(self, session: Session, deadline: Deadline) -> None:
        """Nothing: the mistake."""


class FirstSessionRegistry(ServiceRegistry):
    """It never leaves its first session."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "registers in its first session only: once that has expired nothing is registered any "
        "more, although the client has a new one"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter"})

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._first = Session(client)

    def register(self, address: str, timeout: float | None = None) -> None:
        """As the sound one's, while the first session lives."""
        if self._first.lost:
            time.sleep(timeout or 0.0)
            raise RegistrationUnknown(f"{self._path}: the session has ended")
        super().register(address, timeout)
