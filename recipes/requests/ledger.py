"""Transactions (multis) that happen at most once each, even if their replies are lost.

A transaction that got no answer may have happened. Sending it again is safe if it can happen only
once. So every transaction also writes its unique mark into the *ledger*, an ephemeral node of the
session, on condition that the node's version is what it was when the transaction was first sent.
If the transaction has happened, sending it again is refused for that version. If it has not, it
happens now, or is refused for a reason of its own. This is safe because requests of one session are
carried out in order, and a request left over on an old connection is refused once the session has
moved to another server.

The ledger works only as long as its session lives. If the session ends while a transaction is in
doubt, the caller has to find out from the znodes that the transaction would have changed.
"""

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import BadVersionError, NodeExistsError, SessionExpiredError, ZookeeperError
from kazoo.interfaces import IAsyncResult

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import within_session
from rumpus.recipes.requests.session import Session, Unanswered
from rumpus.recipes.requests.transaction import raise_refusal


class Attempt:
    """One transaction. It has ``happened``, or it has not, or whether it has is ``in_doubt``.

    Args:
        compose: adds the transaction's operations to a kazoo ``TransactionRequest``.
    """

    def __init__(self, compose: Callable[[TransactionRequest], None]) -> None:
        self.compose = compose
        self.mark = uuid.uuid4().hex.encode()
        self.happened = False
        self.in_doubt = False


class Ledger:
    """Carries out transactions in one session, one at a time. May be shared by threads.

    Args:
        client: a started client with kazoo's threading handler.
        folder: the parent of the ledger's node.
        needed: further paths to create, if they are missing, before the first transaction.
    """

    def __init__(self, client: KazooClient, folder: str, needed: Sequence[str] = ()) -> None:
        self.session = Session(client)
        self._client = client
        self._folder = folder
        self._needed = needed
        self._node = f"{folder}/{uuid.uuid4().hex}"
        self._opened = False
        self._version = 0
        self._doubtful: Attempt | None = None
        self._turn = threading.Lock()

    def carry_out(self, attempt: Attempt, deadline: Deadline) -> None:
        """Make a transaction happen, if it has not. Call again if it raises ``Unanswered``.

        Raises:
            Unanswered: no answer in time; the attempt says whether it is in doubt.
            SessionExpiredError: the session is lost; an attempt in doubt remains in doubt.
            ZookeeperError: the server refused it: it has not happened.
        """
        with self._alone(deadline):
            self._make_node(deadline)
            if self._doubtful not in (None, attempt):
                self._settle(deadline)
            if not attempt.happened:
                self._commit(attempt, deadline)

    def happened(self, attempt: Attempt, deadline: Deadline) -> bool:
        """Whether a transaction has happened. If it has not by now, it never will.

        Raises:
            SessionExpiredError, Unanswered: as ``carry_out``.
        """
        with self._alone(deadline):
            if self._doubtful is attempt:
                self._settle(deadline)
            return attempt.happened

    def open(self, deadline: Deadline) -> None:
        """Create the ledger's node and the needed paths; sends nothing once that is done.

        Raises:
            SessionExpiredError, Unanswered: as ``carry_out``.
        """
        with self._alone(deadline):
            self._make_node(deadline)

    def restore(self, deadline: Deadline) -> None:
        """Create those of the needed paths again that somebody has deleted.

        Raises:
            SessionExpiredError, Unanswered: as ``carry_out``.
        """
        with self._alone(deadline):
            self._make_needed(deadline)

    def touch(self, deadline: Deadline) -> None:
        """Write, and nothing else: what the session reads afterwards is no older than this call.

        ``sync`` would not do: a leader that has been deposed and has not noticed answers it by
        itself, whereas a write needs a quorum.

        Raises:
            SessionExpiredError, Unanswered: as ``carry_out``.
        """
        self.carry_out(Attempt(_nothing), deadline)

    @contextmanager
    def _alone(self, deadline: Deadline) -> Iterator[None]:
        left = deadline.left_for_answers()
        if not self._turn.acquire(timeout=-1 if left is None else left):
            raise Unanswered("another transaction of this session waits for its answer")
        try:
            yield
        finally:
            self._turn.release()

    def _make_node(self, deadline: Deadline) -> None:
        if self._opened:
            return
        self._make_needed(deadline)
        with suppress(NodeExistsError):  # ours: an earlier try got no answer
            self._insist(deadline, self._client.create_async, self._node, ephemeral=True)
        self._opened = True

    def _make_needed(self, deadline: Deadline) -> None:
        for path in (self._folder, *self._needed):
            self._insist(deadline, self._client.ensure_path_async, path)

    def _commit(self, attempt: Attempt, deadline: Deadline) -> None:
        self._doubtful = attempt
        try:
            self._went_through(attempt, deadline)  # False: an earlier try of it went through
        except (SessionExpiredError, Unanswered):
            raise
        except ZookeeperError:
            self._conclude(attempt, happened=False)
            raise
        self._version += 1
        self._conclude(attempt, happened=True)

    def _settle(self, deadline: Deadline) -> None:
        """Find out whether the attempt in doubt has happened.

        Send an empty transaction for the same ledger version: exactly one of the two happens.
        """
        doubtful = self._doubtful
        assert doubtful is not None
        happened = False
        if not self._went_through(Attempt(_nothing), deadline):
            # The attempt has happened, or an earlier empty transaction that got no answer has.
            mark, _ = self._insist(deadline, self._client.get_async, self._node)
            happened = mark == doubtful.mark
        self._version += 1
        self._conclude(doubtful, happened=happened)

    def _conclude(self, attempt: Attempt, *, happened: bool) -> None:
        attempt.happened, attempt.in_doubt, self._doubtful = happened, False, None

    def _went_through(self, attempt: Attempt, deadline: Deadline) -> bool:
        """Send an attempt until there is an answer; False if the ledger has another version."""
        answers = self._insist(deadline, self._send, self._node, attempt)
        if isinstance(answers[0], BadVersionError):
            return False
        raise_refusal(answers)
        return True

    def _send(self, node: str, attempt: Attempt) -> IAsyncResult:
        transaction = self._client.transaction()
        transaction.set_data(node, attempt.mark, version=self._version)
        attempt.compose(transaction)
        attempt.in_doubt = True
        return transaction.commit_async()

    def _insist(
        self, deadline: Deadline, method: Callable[..., Any], *args: Any, **options: Any
    ) -> Any:
        """Ask until there is an answer."""
        return within_session(
            deadline, lambda: self.session.ask(deadline, method, *args, **options)
        )


def _nothing(_transaction: TransactionRequest) -> None:
    """Add no operation: the transaction only writes its mark into the ledger."""
