"""Queues with one known mistake each, which the harness must find."""

import threading
import uuid
from typing import ClassVar

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import (
    ConnectionClosedError,
    NoNodeError,
    SessionExpiredError,
)
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.queue.acknowledged_queue import AcknowledgedQueue, ElementClaim
from rumpus.recipes.queue.element_queue import Catch, Place
from rumpus.recipes.queue.fifo_queue import FifoQueue, TakingElementQueue
from rumpus.recipes.queue.interfaces import NothingDone, QueueUnknown
from rumpus.recipes.queue.priority_queue import PriorityQueue
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.ledger import Ledger, pause
from rumpus.recipes.requests.session import Unanswered


class _GetsThenDeletes(TakingElementQueue):
    def _catch(self, place: Place, ledger: Ledger, deadline: Deadline) -> Catch | None:
        node = f"{self._folder}/{place.name}"
        try:
            element, _ = ledger.session.ask(deadline, self._client.get_async, node)
        except NoNodeError:
            return None
        try:
            ledger.session.ask(deadline, self._client.delete_async, node)
        except NoNodeError:
            pass  # the mistake: as if an earlier try of ours had done it
        except (SessionExpiredError, Unanswered) as error:
            raise QueueUnknown("whether it was taken got no answer", element) from error
        return Catch(place.name, element, ledger)


class _WaitsForNotification(TakingElementQueue):
    def __init__(self, client: KazooClient, path: str, *, grace: float = 2.0) -> None:
        super().__init__(client, path, grace=grace)
        self._fired = threading.Event()

    def _children(self, folder: str, ledger: Ledger, deadline: Deadline) -> list[str]:
        def news(event: WatchedEvent) -> None:
            if event.type == EventType.CHILD:
                self._fired.set()

        self._fired.clear()
        names: list[str] = ledger.session.ask(
            deadline, self._client.get_children_async, folder, news
        )
        return names

    def _await_news(self, ledger: Ledger, deadline: Deadline) -> None:  # noqa: ARG002 - the mistake
        self._fired.wait(deadline.left())


class _FailsUnanswered(TakingElementQueue):
    def _put(self, element: bytes, stem: str, timeout: float | None) -> None:
        try:
            super()._put(element, stem, timeout)
        except QueueUnknown as error:
            raise NothingDone(f"{self._path}: no answer, so it was not added") from error


class _IgnoresTimeout(TakingElementQueue):
    def _deadline(self, timeout: float | None) -> Deadline:  # noqa: ARG002 - that is the mistake
        return super()._deadline(None)


class GetThenDeleteQueue(_GetsThenDeletes, FifoQueue):
    """It takes an element that is gone already for one that it took."""

    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 3.3"
    mistake: ClassVar[str] = (
        "reads an element, then deletes its node, and does not mind that it is gone already: two "
        "consumers that read it both take it"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"duplicate-element"})


class NotificationOnlyQueue(_WaitsForNotification, FifoQueue):
    """It waits for nothing but its watch."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a waiter looks again only when its watch fires: one whose connection dropped, and its "
        "watch with it, sleeps on when it is back"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter"})


class FailsUnansweredQueue(_FailsUnanswered, FifoQueue):
    """It says of a put that got no answer that it failed."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "takes a put that got no answer in time for one that failed: its element comes out all the "
        "same, beside that of whoever puts it again"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"phantom-element"})


class IgnoresTimeoutQueue(_IgnoresTimeout, FifoQueue):
    """Its consumers do not give up."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "take takes a timeout and waits for ever"
    expected: ClassVar[frozenset[str]] = frozenset({"overdue-call"})


class UnsyncedQueue(FifoQueue):
    """It believes any list that shows nothing."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "says that the queue is empty by the list of a server that may be behind, without a sync"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"out-of-order"})

    def _look(self, ledger: Ledger, deadline: Deadline, *, last: bool) -> list[Place]:  # noqa: ARG002 - the mistake
        return super()._look(ledger, deadline, last=False)


class EphemeralElementQueue(FifoQueue):
    """Its elements are ephemeral."""

    ephemeral: ClassVar[bool] = True
    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 3.3"
    mistake: ClassVar[str] = (
        "elements are ephemeral nodes: they vanish with the session of whoever put them"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"lost-element"})


class NoLookupQueue(FifoQueue):
    """It puts again when a put got no answer."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "creates an element again when the create got no answer, without looking whether the "
        "first one is there"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"duplicate-element"})

    def _put(self, element: bytes, stem: str, timeout: float | None) -> None:
        deadline = self._deadline(timeout)
        while True:
            ledger = self._ledger()
            node = f"{self._folder}/{uuid.uuid4().hex}{stem}"
            try:
                ledger.open(deadline)
                ledger.session.ask(
                    deadline, self._client.create_async, node, element, sequence=True
                )
            except ConnectionClosedError:
                raise
            except (SessionExpiredError, Unanswered) as error:
                if deadline.passed:
                    raise QueueUnknown("no answer in time to a put") from error
                pause(deadline)
            else:
                return


class SortsByNameQueue(FifoQueue):
    """It takes the names' order for the elements'."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "sorts elements by their names, in which a unique mark stands before the number"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"out-of-order"})

    def _place(self, name: str) -> Place:
        return Place(0, 0, name)


class _UntiedClaim(ElementClaim):
    def acknowledge(self, timeout: float | None = None) -> None:
        assert isinstance(self._queue, UntiedAcknowledgementQueue)
        self._queue.remove(self._catch, timeout)


class UntiedAcknowledgementQueue(AcknowledgedQueue):
    """Its acknowledgement removes the element whoever has it."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "acknowledging deletes the element by its path, whether its claim stands or not: a "
        "consumer whose session has expired removes what another works on, or has removed"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"duplicate-element"})

    def claim(self, timeout: float | None = None) -> ElementClaim | None:
        """As the sound one's."""
        caught = self._next(timeout)
        return None if caught is None else _UntiedClaim(self, caught)

    def remove(self, catch: Catch, timeout: float | None) -> None:
        """Delete the element, then the claim, in whichever session there is."""
        deadline = self._deadline(timeout)
        for node in (self.node(catch.name), self.claim_node(catch.name)):
            while True:
                session = self._ledger().session
                try:
                    session.ask(deadline, self._client.delete_async, node)
                except NoNodeError:
                    break  # the mistake: as if an earlier try of ours had done it
                except ConnectionClosedError:
                    raise
                except (SessionExpiredError, Unanswered) as error:
                    if deadline.passed:
                        raise QueueUnknown("no answer in time", catch.element) from error
                    pause(deadline)
                else:
                    break


class PersistentClaimQueue(AcknowledgedQueue):
    """Its claims are persistent."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "the claim is a persistent node: when its consumer dies nobody else gets the element"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"orphan-node"})

    def _grab(self, transaction: TransactionRequest, name: str) -> None:
        transaction.check(self.node(name), version=0)
        transaction.create(self.claim_node(name))


class CachedListQueue(PriorityQueue):
    """It works off an old list."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "keeps the list of elements and takes from it until nothing is left: what is more urgent "
        "and comes later has to wait"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"out-of-order"})

    def __init__(self, client: KazooClient, path: str, *, grace: float = 2.0) -> None:
        super().__init__(client, path, grace=grace)
        self._kept: list[Place] = []

    def _look(self, ledger: Ledger, deadline: Deadline, *, last: bool) -> list[Place]:
        if not self._kept:
            super()._look(ledger, deadline, last=last)
            self._kept = self._list(ledger, deadline)
        first, self._kept = self._kept[:1], self._kept[1:]
        return first


class TextPriorityQueue(PriorityQueue):
    """It compares priorities as text."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "sorts elements by their names, in which priorities are not padded: 10 comes before 9"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"out-of-order"})

    def _place(self, name: str) -> Place:
        place = super()._place(name)
        return place._replace(priority=int(str(place.priority).ljust(2, "0")))


class UnsyncedPriorityQueue(PriorityQueue):
    """It takes the most urgent element of a list that may be old."""

    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 3.4"
    mistake: ClassVar[str] = (
        "lists without a sync: a server that is behind does not show what is more urgent"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"out-of-order"})

    def _look(self, ledger: Ledger, deadline: Deadline, *, last: bool) -> list[Place]:  # noqa: ARG002 - the mistake
        ledger.open(deadline)
        return self._list(ledger, deadline)[:1]


class EphemeralElementPriorityQueue(PriorityQueue):
    """As ``EphemeralElementQueue``."""

    ephemeral: ClassVar[bool] = True
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = EphemeralElementQueue.mistake
    expected: ClassVar[frozenset[str]] = EphemeralElementQueue.expected


class GetThenDeletePriorityQueue(_GetsThenDeletes, PriorityQueue):
    """As ``GetThenDeleteQueue``."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = GetThenDeleteQueue.mistake
    expected: ClassVar[frozenset[str]] = GetThenDeleteQueue.expected


class NotificationOnlyPriorityQueue(_WaitsForNotification, PriorityQueue):
    """As ``NotificationOnlyQueue``."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = NotificationOnlyQueue.mistake
    expected: ClassVar[frozenset[str]] = NotificationOnlyQueue.expected


class FailsUnansweredPriorityQueue(_FailsUnanswered, PriorityQueue):
    """As ``FailsUnansweredQueue``."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = FailsUnansweredQueue.mistake
    expected: ClassVar[frozenset[str]] = FailsUnansweredQueue.expected


class IgnoresTimeoutPriorityQueue(_IgnoresTimeout, PriorityQueue):
    """As ``IgnoresTimeoutQueue``."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = IgnoresTimeoutQueue.mistake
    expected: ClassVar[frozenset[str]] = IgnoresTimeoutQueue.expected
