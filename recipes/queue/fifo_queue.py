"""A queue that delivers each element at most once, in the order in which they were put.

See ``recipes.queue.element_queue`` for the algorithm. An element is taken by the transaction that
removes its node.
"""

from typing import ClassVar

from kazoo.client import TransactionRequest
from kazoo.exceptions import SessionExpiredError

from rumpus.recipes.promises import Promises
from rumpus.recipes.queue.element_queue import MARK, Catch, ElementQueue
from rumpus.recipes.queue.interfaces import Delivery, QueueUnknown
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.ledger import Attempt

AT_MOST_ONCE = frozenset({"lost-element", "duplicate-element", "phantom-element", "stuck-waiter"})
"""What a queue without claims prevents, apart from anomalies of order.

It has no nodes but its elements, so ``orphan-node`` does not apply.
"""

NO_SECOND_CHANCE = (
    "An element is removed before its consumer works on it, and is gone if that consumer dies. "
    "A take whose session ended before its answer came may have removed its element: nobody can "
    "say. "
)


class TakingElementQueue(ElementQueue):
    """Elements are taken by removing them."""

    delivery: ClassVar[Delivery] = "at-most-once"

    def take(self, timeout: float | None = None) -> bytes | None:
        """As ``TakingQueue.take``. None: at some moment of the call there was nothing."""
        caught = self._next(timeout)
        return None if caught is None else caught.element

    def _grab(self, transaction: TransactionRequest, name: str) -> None:
        transaction.delete(f"{self._folder}/{name}")

    def _doubt(self, catch: Catch, _attempt: Attempt, error: Exception, deadline: Deadline) -> None:
        if not isinstance(error, SessionExpiredError) or not self._there(catch.name, deadline):
            raise QueueUnknown(
                f"{self._path}: whether {catch.name} was taken got no answer", catch.element
            ) from error


class FifoQueue(TakingElementQueue):
    """First in, first out, by the order of the creates on the servers."""

    promises: ClassVar[Promises] = Promises(
        prevents=AT_MOST_ONCE | {"out-of-order", "overdue-call"},
        notes=NO_SECOND_CHANCE
        + "Every element wakes every waiting consumer, and no consumer is promised its turn.",
    )

    def put(self, element: bytes, timeout: float | None = None) -> None:
        """Add an element.

        Raises:
            QueueUnknown: no answer in time; or it is not there, and the session that put it has
                ended: it was put and taken, or never put.
            NotDone: it was not added.
        """
        self._put(element, MARK, timeout)
