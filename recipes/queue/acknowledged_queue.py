"""A queue that delivers each element until a consumer acknowledges it.

See ``recipes.queue.element_queue``. To claim an element, a consumer creates an ephemeral node of
the element's name below ``claims``. When it is done, it removes both nodes in one transaction. If
it dies, its claim ends with its session, and the element is delivered again. That transaction is
sent only *in the session that made the claim*: a consumer whose session has expired cannot remove
an element that another consumer has claimed since.
"""

from contextlib import suppress
from typing import ClassVar

from kazoo.client import TransactionRequest
from kazoo.exceptions import ConnectionClosedError, NoNodeError, SessionExpiredError

from rumpus.recipes.outcomes import ClaimLost
from rumpus.recipes.promises import Promises
from rumpus.recipes.queue.element_queue import MARK, Catch, ElementQueue, Place
from rumpus.recipes.queue.interfaces import Delivery, QueueUnknown
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.ledger import Attempt, Ledger
from rumpus.recipes.requests.session import Unanswered

AT_LEAST_ONCE = frozenset(
    {
        "lost-element",
        "duplicate-element",
        "phantom-element",
        "stuck-waiter",
        "orphan-node",
        "out-of-order",
    }
)


class ElementClaim:
    """An element that a consumer works on; see ``recipes.queue.interfaces.Claim``."""

    def __init__(self, queue: "AcknowledgedQueue", catch: Catch) -> None:
        self._queue = queue
        self._catch = catch
        self._acknowledging = Attempt(self._remove_both)
        self._releasing = Attempt(self._remove_claim)

    @property
    def element(self) -> bytes:
        """What was put."""
        return self._catch.element

    @property
    def node(self) -> str:
        """Full path of the element's node."""
        return self._queue.node(self._catch.name)

    @property
    def held(self) -> bool:
        """Whether we may rely, right now, on nobody else having claimed the element.

        False while the connection is lost, and false for good once the session is lost.
        """
        ended = self._acknowledging.happened or self._releasing.happened
        return not ended and self._catch.ledger.session.reliable

    def acknowledge(self, timeout: float | None = None) -> None:
        """Remove the element for good. May be called again after an unknown outcome.

        Raises:
            ClaimLost: the claim had ended; the element is delivered again.
            QueueUnknown: no answer in time; or the element is gone, and the session that
                claimed it has ended: we have removed it, or another consumer.
        """
        self._queue.finish(self._catch, self._acknowledging, timeout)

    def release(self, timeout: float | None = None) -> None:
        """Give the element back, to whoever comes next. Errors are those of ``acknowledge``."""
        self._queue.finish(self._catch, self._releasing, timeout)

    def _remove_both(self, transaction: TransactionRequest) -> None:
        self._remove_claim(transaction)
        transaction.delete(self.node)

    def _remove_claim(self, transaction: TransactionRequest) -> None:
        transaction.delete(self._queue.claim_node(self._catch.name))


class AcknowledgedQueue(ElementQueue):
    """Elements are claimed in the order of their creates, and again until one is acknowledged."""

    delivery: ClassVar[Delivery] = "at-least-once"
    promises: ClassVar[Promises] = Promises(
        prevents=AT_LEAST_ONCE | {"overdue-call"},
        notes=(
            "An element comes out again if its consumer dies or gives it back, then after later "
            "ones: the order is that of first claims. A consumer that was paused may work on an "
            "element that another one has by then; only its acknowledgement is refused."
        ),
    )

    @classmethod
    def claims(cls, path: str) -> str | None:
        """The znode whose children are the claims; each has the name of its element."""
        return f"{path}/claims"

    def node(self, name: str) -> str:
        """The path of an element."""
        return f"{self._folder}/{name}"

    def claim_node(self, name: str) -> str:
        """The path of the claim on an element."""
        return f"{self.claims(self._path)}/{name}"

    def put(self, element: bytes, timeout: float | None = None) -> None:
        """Add an element. Errors are those of ``FifoQueue.put``."""
        self._put(element, MARK, timeout)

    def claim(self, timeout: float | None = None) -> ElementClaim | None:
        """As ``ClaimingQueue.claim``."""
        caught = self._next(timeout)
        return None if caught is None else ElementClaim(self, caught)

    def finish(self, catch: Catch, attempt: Attempt, timeout: float | None) -> None:
        """End a claim; see ``ElementClaim``."""
        deadline = self._deadline(timeout)
        try:
            catch.ledger.carry_out(attempt, deadline)
        except ConnectionClosedError:
            raise
        except SessionExpiredError as error:
            if attempt.in_doubt and not self._there(catch.name, deadline):
                raise QueueUnknown(
                    f"{self._path}: {catch.name} is gone, by us or by another consumer",
                    catch.element,
                ) from error
            raise ClaimLost(f"{self._path}: the session that claimed it has ended") from error
        except NoNodeError as error:
            raise ClaimLost(f"{self._path}: {catch.name} was removed by somebody") from error
        except Unanswered as error:
            raise QueueUnknown(f"{self._path}: no answer in time", catch.element) from error

    def _list(self, ledger: Ledger, deadline: Deadline) -> list[Place]:
        """The elements that nobody had claimed. A claim that ends later fires the second watch."""
        elements = super()._list(ledger, deadline)
        claimed = set(self._children(f"{self.claims(self._path)}", ledger, deadline))
        return [place for place in elements if place.name not in claimed]

    def _grab(self, transaction: TransactionRequest, name: str) -> None:
        transaction.check(self.node(name), version=0)
        transaction.create(self.claim_node(name), ephemeral=True)

    def _doubt(self, catch: Catch, attempt: Attempt, error: Exception, _deadline: Deadline) -> None:
        if not isinstance(error, SessionExpiredError):  # a claim ends with its session
            self._client.handler.spawn(self._give_back, catch, attempt)
            raise QueueUnknown(
                f"{self._path}: whether {catch.name} was claimed got no answer", catch.element
            ) from error

    def _give_back(self, catch: Catch, attempt: Attempt) -> None:
        """Remove a claim in doubt; go on until it is gone or its session has ended."""
        forever = Deadline(None)
        removal = Attempt(lambda transaction: transaction.delete(self.claim_node(catch.name)))
        with suppress(SessionExpiredError):  # or the client was stopped; either ends the claim
            if catch.ledger.happened(attempt, forever):
                catch.ledger.carry_out(removal, forever)
