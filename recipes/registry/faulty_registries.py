"""Service registries with one known mistake each, which the harness must find."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from kazoo.client import KazooClient
from kazoo.exceptions import SessionExpiredError

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.faulty_calls import REST_S
from rumpus.recipes.mistake import made
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.registry.service_registry import (
    Registration,
    RegistrationUnknown,
    ServiceRegistry,
)
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered


class ReturnsEarlyRegistry(ServiceRegistry):
    def _finish_withdrawals(self, deadline: Deadline) -> None:
        if self._withdrawn:
            made()
            self._withdrawn.clear()


class Once(Registration):
    _reregisters = False
    _told = False

    def wait_confirmed(self, timeout: float | None) -> bool:
        self._told = self._told or super().wait_confirmed(timeout)
        return self._told

    def verify(self, _deadline: Deadline) -> bool:
        return self._told

    def _remove(self, entry: Entry) -> None:
        if self._wanted:
            made(self.address)
        super()._remove(entry)


class RestsAfterTimeoutRegistry(ServiceRegistry):
    def register(self, address: str, timeout: float | None = None) -> None:
        with _rest():
            super().register(address, timeout)

    def deregister(self, timeout: float | None = None) -> None:
        with _rest():
            super().deregister(timeout)

    def discover(self, timeout: float | None = None) -> list[str]:
        with _rest():
            return super().discover(timeout)


@contextmanager
def _rest() -> Iterator[None]:
    try:
        yield
    except (OutcomeUnknown, Unanswered, SessionExpiredError):
        made(own=True)
        time.sleep(REST_S)
        raise


class FirstSessionRegistry(ServiceRegistry):
    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._first = Session(client)

    def register(self, address: str, timeout: float | None = None) -> None:
        if self._first.lost:
            made(address, own=True)
            time.sleep(timeout or 0.0)
            raise RegistrationUnknown(f"{self._path}: the session has ended")
        super().register(address, timeout)
