"""Mistakes in how a call reads, waits and gives up, shared by the mutants of several families."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from kazoo.client import KazooClient
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.mistake import made
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import RetryingCall

Found = TypeVar("Found")


REST_S: Final = 8.0
"""How long a call that is over rests before it tells that."""


class DeafCall(RetryingCall):
    """Ignores a lost connection. Its watch is lost with the connection, so it waits for ever."""

    _told = False
    _waits = False

    def news(self, event: WatchedEvent | None = None) -> None:
        """React to node changes only: kazoo reports a lost watch by an event of type ``NONE``."""
        if event is not None and event.type != EventType.NONE:
            self._told = True
            super().news(event)
        elif self._waits:
            made(own=True)

    def wait(self, *until: Deadline) -> None:
        """Wait for a node change, or for the first deadline."""
        self._waits = True
        while not self._told and not any(each.passed for each in (self.deadline, *until)):
            super().wait(*until)
            self.session.wake.clear()
        self._told = self._waits = False


class EndlessCall(RetryingCall):
    """Ignores its timeout: goes on until it has found what it looks for."""

    def __init__(self, client: KazooClient, timeout: float | None, grace: float) -> None:
        if timeout is not None:
            made(own=True)
        super().__init__(client, None, grace)


class HastyCall(RetryingCall):
    """Gives up after half of its timeout."""

    def __init__(self, client: KazooClient, timeout: float | None, grace: float) -> None:
        super().__init__(client, None if timeout is None else timeout / 2, grace)

    def rounds(self, one: Callable[[], Found | None]) -> Found | None:
        """See ``RetryingCall.rounds``."""
        found = super().rounds(one)
        if found is None:
            made(own=True)
        return found


class DoesNotCatchUp:
    """Reads without catching up first: the answer may be stale, as the server may lag."""

    def _catch_up(self, *_: Any) -> None:
        """Nothing: the mistake."""
        made(own=True)
