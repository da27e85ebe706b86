"""Waiting for the notification of a watch, and for nothing else: a mistake of several families."""

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
