"""The core of queues: persistent sequential nodes, and consumers that take them in order.

The algorithm is ZooKeeper's published queue recipe ("ZooKeeper Recipes and Solutions, Queues"):
an element is a sequential child of one folder; a consumer lists the folder with a watch, tries to
take the lowest first, and tries the next if another consumer was quicker. This implementation adds
what faults make necessary:

- elements are *persistent*: an ephemeral one would vanish with its producer;
- an element is put, and taken, by a transaction that happens at most once
  (``requests.ledger``); if the session ends before a put is answered, the element is looked for by
  its unique mark;
- a waiter looks again after every change of its connection, because a lost connection drops its
  watches;
- a folder that somebody has deleted while it was empty is created again.

**Stale lists do no harm to the order.** Numbers are assigned in the order of creates, so a list
that shows an element shows every lower one too, except those that are gone for good. But a stale
list could make a call report "empty" wrongly, so a write goes before the list on which that answer
is based.
"""

import re
import threading
import uuid
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, Final, NamedTuple, TypeVar

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import (
    ConnectionClosedError,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
)

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.paths import absolute
from rumpus.recipes.promises import Promises
from rumpus.recipes.queue.interfaces import Delivery, QueueUnknown
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.ledger import Attempt, Ledger
from rumpus.recipes.requests.retries import pause
from rumpus.recipes.requests.session import Unanswered

MARK: Final = "-queue-"
"""Between the unique mark of an element and its priority, if any, and number."""

_ELEMENT: Final = re.compile(re.escape(MARK) + r"(?:(\d+)-)?(-?\d{10})$")


Found = TypeVar("Found")


class Place(NamedTuple):
    """The sort key of an element: the least one is delivered first."""

    priority: int
    number: int
    name: str


class Catch(NamedTuple):
    """An element that we took or claimed, and the ledger of the session in which we did."""

    name: str
    element: bytes
    ledger: Ledger


class ElementQueue(Recipe):
    """One client's side of the queue at ``path``.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode that the queue lives below; it belongs to this recipe alone.
        grace: seconds by which a call may exceed its timeout, to await late answers.
    """

    promises: ClassVar[Promises]
    delivery: ClassVar[Delivery]
    sees_empty: ClassVar[bool] = True

    _ephemeral: ClassVar[bool] = False
    """Whether elements vanish with the session that put them."""

    def __init__(self, client: KazooClient, path: str, *, grace: float = 2.0) -> None:
        self._client = client
        self._path = absolute(path)
        self._grace = grace
        self._folder = self.elements(path)
        self._taking = threading.Lock()
        self._renewing = threading.Lock()
        self._latest: Ledger | None = None

    @classmethod
    def elements(cls, path: str) -> str:
        """The znode whose children are the elements of the queue at ``path``."""
        return f"{path}/elements"

    @classmethod
    def claims(cls, path: str) -> str | None:  # noqa: ARG003 - for those that have some
        """The znode whose children are the claims (named as their elements); None if no claims."""
        return None

    def close(self) -> None:
        """Stop listening to the client. Our ephemeral nodes stay until its session ends."""
        with self._renewing:
            if self._latest is not None:
                self._latest.session.close()
                self._latest = None

    def _put(self, element: bytes, stem: str, timeout: float | None) -> None:
        """Create an element's node; ``stem`` is the part of its name between mark and number."""
        deadline = self._deadline(timeout)
        mark = uuid.uuid4().hex
        node = f"{self._folder}/{mark}{stem}"
        attempt = Attempt(
            lambda transaction: transaction.create(
                node, element, ephemeral=self._ephemeral, sequence=True
            )
        )
        while not attempt.happened:
            ledger = self._ledger()
            try:
                ledger.carry_out(attempt, deadline)
            except NoNodeError:
                self._restore(ledger, deadline)
            except ConnectionClosedError:
                raise
            except SessionExpiredError as error:
                if attempt.in_doubt and not self._there(mark, deadline):
                    raise QueueUnknown(
                        f"{self._path}: put and taken by now, or never put; the session that "
                        "asked has ended"
                    ) from error
                if attempt.in_doubt:
                    return
                self._rest(deadline, error)
            except Unanswered as error:
                if attempt.in_doubt:
                    raise QueueUnknown(f"{self._path}: no answer in time to a put") from error
                self._rest(deadline, error)

    def _next(self, timeout: float | None) -> Catch | None:
        """Wait for an element and make it ours; see ``take`` and ``claim`` of the interfaces."""
        deadline = self._deadline(timeout)
        if not deadline.acquire(self._taking):
            raise NotDone(f"{self._path}: other threads of this client were waiting")
        try:
            return self._wait(deadline)
        finally:
            self._taking.release()

    def _wait(self, deadline: Deadline) -> Catch | None:
        last = False
        while True:
            ledger = self._ledger()
            try:
                ledger.session.wake.clear()
                found = self._look(ledger, deadline, last=last)
                for place in found:
                    caught = self._catch(place, ledger, deadline)
                    if caught:
                        return caught
                if last and not found:
                    return None
                if deadline.passed:
                    last = True
                elif not found:
                    self._await_news(ledger, deadline)
            except NoNodeError:
                self._restore(ledger, deadline)
            except ConnectionClosedError:
                raise
            except (SessionExpiredError, Unanswered) as error:
                self._rest(deadline, error)

    def _look(self, ledger: Ledger, deadline: Deadline, *, last: bool) -> list[Place]:
        """The elements to try, first one first; a ``last`` look is no older than the call."""
        ledger.open(deadline)
        if last:
            ledger.touch(deadline)
        return self._list(ledger, deadline)

    def _list(self, ledger: Ledger, deadline: Deadline) -> list[Place]:
        """The elements in order; leaves a child watch on their folder."""
        return sorted(map(self._place, self._children(self._folder, ledger, deadline)))

    def _children(self, folder: str, ledger: Ledger, deadline: Deadline) -> list[str]:
        session = ledger.session
        names: list[str] = session.ask(
            deadline, self._client.get_children_async, folder, session.watcher()
        )
        return names

    def _place(self, name: str) -> Place:
        match = _ELEMENT.search(name)
        if match is None:
            raise ValueError(f"{name!r} is no element of a queue: the path must be its alone")
        return Place(int(match[1] or 0), int(match[2]), name)

    def _await_news(self, ledger: Ledger, deadline: Deadline) -> None:
        """Wait until a watch fires or the connection changes."""
        ledger.session.wake.wait(deadline.left())

    def _catch(self, place: Place, ledger: Ledger, deadline: Deadline) -> Catch | None:
        """Make an element ours; None if another was quicker."""
        attempt = Attempt(lambda transaction: self._grab(transaction, place.name))
        try:
            element, _ = ledger.session.ask(
                deadline, self._client.get_async, f"{self._folder}/{place.name}"
            )
            ledger.carry_out(attempt, deadline)
        except (NoNodeError, NodeExistsError):
            return None
        except (SessionExpiredError, Unanswered) as error:
            if attempt.in_doubt:
                self._doubt(Catch(place.name, element, ledger), attempt, error, deadline)
            raise
        return Catch(place.name, element, ledger)

    @abstractmethod
    def _grab(self, transaction: TransactionRequest, name: str) -> None:
        """Add the operations that take or claim an element.

        They are refused with NoNode or NodeExists if another consumer has it.
        """

    @abstractmethod
    def _doubt(self, catch: Catch, attempt: Attempt, error: Exception, deadline: Deadline) -> None:
        """Deal with a take or claim that got no answer; returns if we certainly do not have it.

        Raises:
            QueueUnknown: nobody can say whether we have it.
        """

    def _there(self, mark: str, deadline: Deadline) -> bool:
        """Whether an element is there, once no request of an ended session can change that.

        Raises:
            QueueUnknown: no answer in time.
        """

        def look(ledger: Ledger) -> list[str]:
            ledger.touch(deadline)
            try:
                names: list[str] = ledger.session.ask(
                    deadline, self._client.get_children_async, self._folder
                )
            except NoNodeError:  # somebody has deleted the empty folder
                return []
            return names

        return any(name.startswith(mark) for name in self._keep_asking(deadline, look))

    def _keep_asking(
        self, deadline: Deadline, attempt: Callable[[Ledger], Found], element: bytes | None = None
    ) -> Found:
        """Make attempts until one is answered, each with the present session's ledger.

        Raises:
            QueueUnknown: no answer in time, about that element.
        """
        while True:
            try:
                return attempt(self._ledger())
            except ConnectionClosedError:
                raise
            except (SessionExpiredError, Unanswered) as error:
                if deadline.passed:
                    raise QueueUnknown(f"{self._path}: no answer in time", element) from error
                pause(deadline)

    @staticmethod
    def _restore(ledger: Ledger, deadline: Deadline) -> None:
        """Create the folders again that somebody has deleted while they were empty."""
        with suppress(SessionExpiredError, Unanswered):  # the next try meets that, too
            ledger.restore(deadline)

    def _deadline(self, timeout: float | None) -> Deadline:
        return Deadline(timeout, allowance=self._grace / 2)

    def _rest(self, deadline: Deadline, error: Exception) -> None:
        if deadline.passed:
            raise NotDone(f"{self._path}: the ensemble could not be asked in time") from error
        pause(deadline)

    def _ledger(self) -> Ledger:
        """The ledger of the client's present session; a new one once a session is known lost."""
        with self._renewing:
            if self._latest is None or self._latest.session.lost:
                claims = self.claims(self._path)
                self._latest = Ledger(
                    self._client,
                    f"{self._path}/ledgers",
                    [self._folder, *([claims] if claims else [])],
                )
            return self._latest
