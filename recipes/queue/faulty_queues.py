"""Queues with one known mistake each, which the harness must find."""

import threading
import uuid
from collections.abc import Sequence
from itertools import count

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import NoNodeError, SessionExpiredError
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.mistake import given, made
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.queue.acknowledged_queue import AcknowledgedQueue, ElementClaim
from rumpus.recipes.queue.element_queue import Catch, Place
from rumpus.recipes.queue.fifo_queue import FifoQueue, TakingElementQueue
from rumpus.recipes.queue.interfaces import QueueUnknown
from rumpus.recipes.queue.priority_queue import PriorityQueue
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.ledger import Ledger
from rumpus.recipes.requests.session import Unanswered


class EphemeralElements(TakingElementQueue):
    _ephemeral = True

    def _put(self, element: bytes, stem: str, timeout: float | None) -> None:
        made(element.decode())
        super()._put(element, stem, timeout)


class GetsThenDeletes(TakingElementQueue):
    def _catch(self, place: Place, ledger: Ledger, deadline: Deadline) -> Catch | None:
        node = f"{self._folder}/{place.name}"
        try:
            element, _ = ledger.session.ask(deadline, self._client.get_async, node)
        except NoNodeError:
            return None
        try:
            ledger.session.ask(deadline, self._client.delete_async, node)
        except NoNodeError:
            made(element.decode())  # as if an earlier try of ours had done it
        except (SessionExpiredError, Unanswered) as error:
            raise QueueUnknown("whether it was taken got no answer", element) from error
        return Catch(place.name, element, ledger)


class WaitsForNotification(TakingElementQueue):
    def __init__(self, client: KazooClient, path: str, *, grace: float = 2.0) -> None:
        super().__init__(client, path, grace=grace)
        self._fired = threading.Event()
        self._waits = False

    def _children(self, folder: str, ledger: Ledger, deadline: Deadline) -> list[str]:
        def news(event: WatchedEvent) -> None:
            if event.type == EventType.CHILD:
                self._fired.set()
            elif self._waits:
                made(own=True)

        self._fired.clear()
        names: list[str] = ledger.session.ask(
            deadline, self._client.get_children_async, folder, news
        )
        return names

    def _await_news(self, ledger: Ledger, deadline: Deadline) -> None:
        self._waits = True
        self._fired.wait(deadline.left())
        self._waits = False


class FailsUnanswered(TakingElementQueue):
    def _put(self, element: bytes, stem: str, timeout: float | None) -> None:
        try:
            super()._put(element, stem, timeout)
        except QueueUnknown as error:
            made(element.decode())
            raise NotDone(f"{self._path}: no answer, so it was not added") from error


class IgnoresTimeout(TakingElementQueue):
    def _deadline(self, timeout: float | None) -> Deadline:
        if timeout is not None:
            made(own=True)
        return super()._deadline(None)


class UnsyncedQueue(FifoQueue):
    def _look(self, ledger: Ledger, deadline: Deadline, *, last: bool) -> list[Place]:
        if last:
            made(own=True)
        return super()._look(ledger, deadline, last=False)


class NoLookupQueue(FifoQueue):
    def _put(self, element: bytes, stem: str, timeout: float | None) -> None:
        deadline = self._deadline(timeout)
        tries = count()

        def create(ledger: Ledger) -> None:
            if next(tries):
                made(element.decode())
            node = f"{self._folder}/{uuid.uuid4().hex}{stem}"
            ledger.open(deadline)
            ledger.session.ask(deadline, self._client.create_async, node, element, sequence=True)

        self._keep_asking(deadline, create)


class _SortsWrongly(TakingElementQueue):
    def _list(self, ledger: Ledger, deadline: Deadline) -> list[Place]:
        places = super()._list(ledger, deadline)
        sound = super()._place
        given(places, sorted(places, key=lambda place: sound(place.name)))
        return places


class SortsByNameQueue(_SortsWrongly, FifoQueue):
    def _place(self, name: str) -> Place:
        return Place(0, 0, name)


class _UntiedClaim(ElementClaim):
    def acknowledge(self, timeout: float | None = None) -> None:
        assert isinstance(self._queue, UntiedAcknowledgementQueue)
        self._queue.remove(self._catch, timeout)


class UntiedAcknowledgementQueue(AcknowledgedQueue):
    def claim(self, timeout: float | None = None) -> ElementClaim | None:
        caught = self._next(timeout)
        return None if caught is None else _UntiedClaim(self, caught)

    def remove(self, catch: Catch, timeout: float | None) -> None:
        deadline = self._deadline(timeout)
        if catch.ledger.session.lost:
            made(catch.element.decode())
        for node in (self.node(catch.name), self.claim_node(catch.name)):

            def delete(ledger: Ledger, node: str = node) -> None:
                try:
                    ledger.session.ask(deadline, self._client.delete_async, node)
                except NoNodeError:
                    made(catch.element.decode())  # as if an earlier try had done it

            self._keep_asking(deadline, delete, catch.element)


class PersistentClaimQueue(AcknowledgedQueue):
    def _grab(self, transaction: TransactionRequest, name: str) -> None:
        made(self.claim_node(name))
        transaction.check(self.node(name), version=0)
        transaction.create(self.claim_node(name))


class CachedListQueue(PriorityQueue):
    _kept: Sequence[Place] = ()

    def _look(self, ledger: Ledger, deadline: Deadline, *, last: bool) -> list[Place]:
        if not self._kept:
            super()._look(ledger, deadline, last=last)
            self._kept = self._list(ledger, deadline)
        else:
            made()
        first, self._kept = self._kept[:1], self._kept[1:]
        return list(first)


class TextPriorityQueue(_SortsWrongly, PriorityQueue):
    def _place(self, name: str) -> Place:
        place = super()._place(name)
        return place._replace(priority=int(str(place.priority).ljust(2, "0")))


class UnsyncedPriorityQueue(PriorityQueue):
    def _look(self, ledger: Ledger, deadline: Deadline, *, last: bool) -> list[Place]:
        made(own=True)
        ledger.open(deadline)
        return self._list(ledger, deadline)[:1]
