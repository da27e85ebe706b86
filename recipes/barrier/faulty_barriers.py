"""Barriers with one known mistake each, which the harness must find."""

from typing import ClassVar

from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import WatchedEvent

from rumpus.recipes.barrier.node_barrier import Barrier
from rumpus.recipes.contests.deaf_call import DeafCall
from rumpus.recipes.contests.endless_call import EndlessCall
from rumpus.recipes.contests.hasty_call import HastyCall
from rumpus.recipes.requests.retrying_call import RetryingCall


class SleepsThroughBarrier(Barrier):
    """It waits for the notification only."""

    call = DeafCall
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "waits for the notification that the node is gone, and does not look again after a "
        "reconnect: a watch that was lost with its connection never tells"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter"})


class AnyEventBarrier(Barrier):
    """It goes on whatever it is told."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "goes on at the first event, without looking: it may have told of a lost watch"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"early-entry"})

    def _await(self, call: RetryingCall) -> bool:
        told: list[WatchedEvent] = []

        def news(event: WatchedEvent) -> None:
            told.append(event)
            call.news()

        call.session.wake.clear()
        try:
            call.read(self._client.get_async, self._path, news)
        except NoNodeError:
            return True
        call.wait()
        return bool(told)


class UnsyncedBarrier(Barrier):
    """It believes any server that there is no barrier."""

    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 3.1"
    mistake: ClassVar[str] = (
        "looks without a sync: a server that is behind has not heard of the barrier yet"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"early-entry"})

    def _catch_up(self, call: RetryingCall) -> None:
        """Nothing: the mistake."""


class IgnoresTimeoutBarrier(Barrier):
    """Its waiters do not give up."""

    call = EndlessCall
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "wait takes a timeout and waits for ever"
    expected: ClassVar[frozenset[str]] = frozenset({"overdue-call"})


class HalvesTimeoutBarrier(Barrier):
    """Its waiters give up too early."""

    call = HastyCall
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "wait gives up after half of its timeout"
    expected: ClassVar[frozenset[str]] = frozenset({"early-timeout"})
