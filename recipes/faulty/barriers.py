"""Barriers with one known mistake each, which the harness must find."""

from typing import ClassVar

from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent

from recipes.barrier import Barrier
from recipes.deadline import Deadline
from recipes.session import Session


class SleepsThroughBarrier(Barrier):
    """It waits for the notification only."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "waits for the notification that the node is gone, and does not look again after a "
        "reconnect: a watch that was lost with its connection never tells"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter"})

    def _await(self, session: Session, deadline: Deadline) -> bool:
        gone: list[WatchedEvent] = []

        def news(event: WatchedEvent) -> None:
            if event.type == EventType.DELETED:
                gone.append(event)
                session.wake.set()

        try:
            session.ask(deadline, self._client.get_async, self._path, news)
        except NoNodeError:
            return True
        while not gone and not deadline.passed:
            session.wake.clear()
            session.wake.wait(deadline.left())
        return bool(gone)


class AnyEventBarrier(Barrier):
    """It goes on whatever it is told."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "goes on at the first event, without looking: it may have told of a lost watch"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"early-entry"})

    def _await(self, session: Session, deadline: Deadline) -> bool:
        told: list[WatchedEvent] = []

        def news(event: WatchedEvent) -> None:
            told.append(event)
            session.wake.set()

        session.wake.clear()
        try:
            session.ask(deadline, self._client.get_async, self._path, news)
        except NoNodeError:
            return True
        session.wake.wait(deadline.left())
        return bool(told)


class StaleLookBarrier(Barrier):
    """It looks at whatever its server has."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "looks without a write before: a server that lags does not know the barrier yet"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"early-entry"})

    def _catch_up(self, session: Session, deadline: Deadline) -> None:
        """It does not."""
