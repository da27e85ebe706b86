"""kazoo's queues behind the interface of the queues here.

A thin adapter: kazoo puts, takes, locks and consumes. For ``Queue`` it repairs nothing. It adds
what is needed to report correctly how a call ended, and what kazoo leaves to its users:

- an error from kazoo's ``put``, ``get`` or ``consume`` is reported as an unknown outcome;
- ``Queue.get`` does not wait, so it is called again and again until the timeout;
- ``LockingQueue`` goes on returning an element whose lock it has lost, and can never consume it. So
  after a lost claim a new ``LockingQueue`` object is used (not in ``KazooBareLockingQueue``).

kazoo's requests have no timeout of their own: with no server in reach every call blocks until one
is, whatever its timeout.
"""

import time
from typing import Any, ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.recipe.queue import LockingQueue, Queue

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import ClaimLost
from rumpus.recipes.promises import Promises
from rumpus.recipes.queue.acknowledged_queue import AT_LEAST_ONCE
from rumpus.recipes.queue.fifo_queue import AT_MOST_ONCE
from rumpus.recipes.queue.interfaces import Delivery, QueueUnknown
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE

USUAL_PRIORITY = 100
"""kazoo's default priority."""

_FOUND_NOTHING = (
    "To find nothing says nothing: kazoo may ask a server that lags. Timeouts do not hold while "
    "no server is in reach."
)


class _KazooQueue(Recipe):
    """What the adapters of kazoo's two queues share.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode that the queue lives below.
    """

    sees_empty: ClassVar[bool] = False
    _queue_class: ClassVar[type[Any]]

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client = client
        self._path = path
        self._queue = self._queue_class(client, path)

    def put(
        self,
        element: bytes,
        timeout: float | None = None,  # noqa: ARG002 - kazoo knows none
        *,
        priority: int = USUAL_PRIORITY,
    ) -> None:
        """Let kazoo add an element; blocks until it has an answer.

        Raises:
            QueueUnknown: whatever kazoo raised.
        """
        try:
            self._queue.put(element, priority)
        except KazooException as error:
            raise QueueUnknown(f"{type(error).__name__}: {error}") from error


class KazooQueue(_KazooQueue):
    """``kazoo.recipe.queue.Queue``; see the module."""

    delivery: ClassVar[Delivery] = "at-most-once"
    promises: ClassVar[Promises] = Promises(
        prevents=AT_MOST_ONCE | {"out-of-order"},
        notes="An element is removed before its consumer works on it. " + _FOUND_NOTHING,
    )

    _queue_class = Queue

    @classmethod
    def elements(cls, path: str) -> str:
        """The znode whose children are the elements: the path itself."""
        return path

    @classmethod
    def claims(cls, path: str) -> str | None:  # noqa: ARG003 - the protocol's
        """None: this queue has no claims."""
        return None

    def take(self, timeout: float | None = None) -> bytes | None:
        """Ask kazoo over and over; None if it returned no element before the timeout.

        Raises:
            QueueUnknown: whatever kazoo raised.
        """
        deadline = Deadline(timeout)
        while True:
            try:
                element: bytes | None = self._queue.get()
            except KazooException as error:
                raise QueueUnknown(f"{type(error).__name__}: {error}") from error
            if element is not None or deadline.passed:
                return element
            time.sleep(PAUSE)


class KazooClaim:
    """An element that a ``LockingQueue`` has locked."""

    def __init__(self, queue: "KazooLockingQueue", element: bytes, node: str) -> None:
        self._queue = queue
        self.element = element
        self.node = node

    def acknowledge(self, timeout: float | None = None) -> None:  # noqa: ARG002 - kazoo knows none
        """Let kazoo consume; blocks until it has.

        Raises:
            ClaimLost: kazoo says that it does not hold the lock.
            QueueUnknown: whatever else kazoo raised.
        """
        self._queue.finish("consume")

    def release(self, timeout: float | None = None) -> None:  # noqa: ARG002 - kazoo knows none
        """Let kazoo release; errors are those of ``acknowledge``."""
        self._queue.finish("release")


class KazooLockingQueue(_KazooQueue):
    """``kazoo.recipe.queue.LockingQueue``; see the module."""

    delivery: ClassVar[Delivery] = "at-least-once"
    promises: ClassVar[Promises] = Promises(
        prevents=AT_LEAST_ONCE | {"overdue-call"},
        notes="A consumer is told to look whether it still holds its lock. " + _FOUND_NOTHING,
    )

    _queue_class = LockingQueue

    @classmethod
    def elements(cls, path: str) -> str:
        """The znode whose children are the elements."""
        return f"{path}{LockingQueue.entries}"

    @classmethod
    def claims(cls, path: str) -> str | None:
        """The znode whose children are the locks, by their elements' names."""
        return f"{path}{LockingQueue.lock}"

    def claim(self, timeout: float | None = None) -> KazooClaim | None:
        """Let kazoo wait for an element and lock it; None when it timed out.

        Raises:
            QueueUnknown: whatever kazoo raised.
        """
        try:
            element = self._queue.get(timeout)
        except KazooException as error:
            raise QueueUnknown(f"{type(error).__name__}: {error}") from error
        if element is None:
            return None
        name, _ = self._queue.processing_element
        return KazooClaim(self, element, f"{self.elements(self._path)}/{name}")

    def finish(self, way: str) -> None:
        """Let kazoo ``consume`` or ``release``."""
        try:
            finished = getattr(self._queue, way)()
        except NoNodeError:  # of the lock: kazoo looks for it and does not expect it to be gone
            finished = False
        except KazooException as error:
            raise QueueUnknown(f"{type(error).__name__}: {error}") from error
        if not finished:
            self._lost_claim()
            raise ClaimLost(f"{self._path}: kazoo's lock on the element is gone")

    def _lost_claim(self) -> None:
        """Use a new object from now on: the old one would return the lost element for ever."""
        self._queue = LockingQueue(self._client, self._path)


class KazooBareLockingQueue(KazooLockingQueue):
    """As most users have it: one ``LockingQueue`` object, also after a lost claim."""

    def _lost_claim(self) -> None:
        """Do nothing."""
