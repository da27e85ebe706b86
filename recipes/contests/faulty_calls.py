"""Mistakes of several families in how a call looks, waits and gives up."""

from typing import Any

from kazoo.client import KazooClient
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import RetryingCall


class DeafCall(RetryingCall):
    """Sleeps through a lost connection, which takes the watch along, and never looks again."""

    _told = False

    def news(self, event: WatchedEvent | None = None) -> None:
        """Hears of changes to nodes only: kazoo tells of a lost watch by an event of no type."""
        if event is not None and event.type != EventType.NONE:
            self._told = True
            super().news(event)

    def wait(self, *until: Deadline) -> None:
        """Until told, or the first deadline."""
        while not self._told and not any(each.passed for each in (self.deadline, *until)):
            super().wait(*until)
            self.session.wake.clear()
        self._told = False


class EndlessCall(RetryingCall):
    """Goes on until it has found what it looks for."""

    def __init__(self, client: KazooClient, timeout: float | None, grace: float) -> None:
        super().__init__(client, None, grace)


class HastyCall(RetryingCall):
    """Takes half of the time that it is given."""

    def __init__(self, client: KazooClient, timeout: float | None, grace: float) -> None:
        super().__init__(client, None if timeout is None else timeout / 2, grace)


class DoesNotCatchUp:
    """A look shows what the server at hand has, which may be behind."""

    def _catch_up(self, *_: Any) -> None:
        """Nothing: the mistake."""
