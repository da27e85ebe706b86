"""One call that has to get through: rounds of requests, over lost connections and sessions.

For recipes whose writes are safe to repeat: nodes with names of their own that are created once,
and multis that check what they rest on. Such a recipe says what one *round* does, beginning with
a look at how things stand; a round that got no answer is simply made again.
"""

from collections.abc import Callable
from typing import Any, Self, TypeVar

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import SessionExpiredError
from kazoo.protocol.states import WatchedEvent

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import over_sessions
from rumpus.recipes.requests.session import Session, Unanswered
from rumpus.recipes.requests.transaction import raise_refusal

Found = TypeVar("Found")
Answer = TypeVar("Answer")


class RetryingCall:
    """One call of a recipe, used as a context.

    Args:
        client: a started client with kazoo's threading handler.
        timeout: seconds for the whole; None is for ever.
        grace: seconds by which answers that are on their way may come later.
    """

    def __init__(self, client: KazooClient, timeout: float | None, grace: float) -> None:
        self._client = client
        self.deadline = Deadline(timeout, allowance=grace)
        self.session = Session(client)
        self.unsure = False
        """Whether a write got no answer, and nothing since has told what became of it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()

    def rounds(self, one: Callable[[], Found | None]) -> Found | None:
        """Make rounds until one finds something; None when the time is over.

        A lost session is followed by the client's next one.

        Raises:
            ZookeeperError: the server refused a request, and the round did not expect it.
        """

        def renew() -> None:
            self.session.close()
            self.session = Session(self._client)

        return over_sessions(self.deadline, one, renew)

    def read(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Ask for something that changes nothing. Raises what ``Session.ask`` does."""
        return self.session.ask(self.deadline, method, *args, **options)

    def write(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Ask for a change, remembering if its outcome is unknown. Raises as ``Session.ask``."""
        try:
            return self.session.ask(self.deadline, method, *args, **options)
        except (SessionExpiredError, Unanswered):
            self.unsure = True
            raise

    def commit(self, transaction: TransactionRequest, what: str) -> list[Any]:
        """Commit a multi; the answers of its parts.

        Raises:
            ZookeeperError: what the first part that failed was answered.
            SessionExpiredError, Unanswered: as ``Session.ask``.
        """

        def multi(_what: str) -> Any:
            return transaction.commit_async()

        answers: list[Any] = self.write(multi, what)
        raise_refusal(answers)
        return answers

    def settle(self, path: str) -> None:
        """Wait until every earlier request of this client has happened or never will.

        Those of a lost session are refused; for the rest see ``Session.catch_up``.

        Args:
            path: of a node that never exists.
        """
        self.session.catch_up(self.deadline, path)

    def news(self, _event: WatchedEvent | None = None) -> None:
        """A watch: ends ``wait``."""
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
