"""One call of a recipe that is retried, in rounds, over lost connections and sessions.

For recipes whose writes are safe to repeat: creates of nodes with unique names, and multis that
check their preconditions. Such a recipe defines one *round*, which begins by reading the present
state; a round that got no answer is simply made again.
"""

from collections.abc import Callable
from typing import Any, Self, TypeVar

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import NoNodeError, SessionExpiredError
from kazoo.protocol.states import WatchedEvent

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import over_sessions
from rumpus.recipes.requests.session import Session, Unanswered
from rumpus.recipes.requests.transaction import raise_refusal

Found = TypeVar("Found")
Answer = TypeVar("Answer")


class RetryingCall:
    """One call of a recipe, used as a context manager.

    Args:
        client: a started client with kazoo's threading handler.
        timeout: seconds for all rounds together; None is for ever.
        grace: seconds after the timeout for which answers are still awaited.
    """

    def __init__(self, client: KazooClient, timeout: float | None, grace: float) -> None:
        self._client = client
        self.deadline = Deadline(timeout, allowance=grace)
        self.session = Session(client)
        self.unsure = False
        """Whether a write got no answer, and its outcome is still unknown."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()

    def rounds(self, one: Callable[[], Found | None]) -> Found | None:
        """Make rounds until one finds something; None when the time is over.

        After the loss of a session, rounds go on in the client's next one.

        Raises:
            ZookeeperError: the server refused a request, and the round did not expect it.
        """

        def renew() -> None:
            self.session.close()
            self.session = Session(self._client)

        return over_sessions(self.deadline, one, renew)

    def read(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Make a request that changes nothing. Raises what ``Session.ask`` does."""
        return self.session.ask(self.deadline, method, *args, **options)

    def write(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Make a write; sets ``unsure`` if its outcome is unknown. Raises as ``Session.ask``."""
        try:
            return self.session.ask(self.deadline, method, *args, **options)
        except (SessionExpiredError, Unanswered):
            self.unsure = True
            raise

    def create_with_parents(self, path: str, data: bytes = b"") -> None:
        """Create a persistent node, and its parents if they are missing.

        Raises:
            NodeExistsError: the node exists.
            SessionExpiredError, Unanswered, ZookeeperError: as ``Session.ask``.
        """
        try:
            self.write(self._client.create_async, path, data)
        except NoNodeError:
            self.write(self._client.ensure_path_async, path.rpartition("/")[0])
            self.write(self._client.create_async, path, data)

    def commit(self, transaction: TransactionRequest, what: str) -> list[Any]:
        """Commit a multi; the answers of its parts.

        Raises:
            ZookeeperError: the error of the part for which the multi was refused.
            SessionExpiredError, Unanswered: as ``Session.ask``.
        """

        def multi(_what: str) -> Any:
            return transaction.commit_async()

        answers: list[Any] = self.write(multi, what)
        raise_refusal(answers)
        return answers

    def settle(self, path: str) -> None:
        """Wait until every earlier request of this client has happened or never will.

        Requests of a lost session are refused; for the others see ``Session.catch_up``.

        Args:
            path: the path of a node that never exists.
        """
        self.session.catch_up(self.deadline, path)

    def news(self, _event: WatchedEvent | None = None) -> None:
        """A watch callback that ends ``wait``."""
        self.session.wake.set()

    def wait(self, *until: Deadline) -> None:
        """Wait for news (clear ``session.wake`` before the look), or for the first deadline."""
        lefts = [left for each in (self.deadline, *until) if (left := each.left()) is not None]
        self.session.wake.wait(min(lefts, default=None))


def until_answered(
    client: KazooClient, deadline: Deadline, attempt: Callable[[Session], Answer]
) -> Answer:
    """Make attempts until one returns, each in the client's present session.

    Raises:
        Unanswered: the time is over, and there was no answer.
        ConnectionClosedError: the client was stopped.
        ZookeeperError: what else the server answered.
    """
    with RetryingCall(client, deadline.left(), grace=0.0) as call:
        found = call.rounds(lambda: (attempt(call.session),))
    if found is None:
        raise Unanswered("no answer in time")
    return found[0]
