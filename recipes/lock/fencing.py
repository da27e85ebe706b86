"""Fences: resources that refuse a former holder once a later one has acted.

No lock can stop a holder that was paused between its last check and its action. The resource can:
each grant comes with a higher token, each action carries the token of its grant, and the
resource remembers the highest token it has seen and refuses lower ones (Burrows, The Chubby lock
service, OSDI 2006: sequencers; Kleppmann, How to do distributed locking, 2016: fencing tokens).
What was refused never happens.

``MemoryFence`` is for a resource within one process. ``ZooKeeperFence`` is for a resource that
consists of znodes: it writes the token and the change in one transaction, so that nothing can
happen between comparison and write. The fence's znode holds the highest token seen. A read of it
may be stale; then its version is outdated, and the transaction is refused as a whole. But a higher
token that was read is certain to have been seen, as the highest token never decreases.

A fence refuses only lower tokens, so a holder can write any number of times with its own token.
"""

import threading
from collections.abc import Callable
from typing import Any

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import BadVersionError, NoNodeError, SessionExpiredError

from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered
from rumpus.recipes.requests.transaction import commit, raise_refusal


class StaleToken(NotDone):
    """A higher token has been seen: the lock has passed on. Nothing was done."""


class MemoryFence:
    """The highest token seen, for a resource within this process. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._highest: int | None = None

    def act(self, token: int | None, action: Callable[[], None]) -> None:
        """Carry out an action, one at a time.

        Raises:
            StaleToken: a higher token has been seen, or ``token`` is None.
        """
        with self._lock:
            if token is None or (self._highest is not None and token < self._highest):
                raise StaleToken(f"token {token}, and {self._highest} has been seen")
            self._highest = token
            action()


class ZooKeeperFence:
    """The highest token seen, in a znode; what it protects are other znodes.

    Args:
        client: a started client with kazoo's threading handler.
        path: the fence's znode, made when it is first needed. Its data is the token in decimal.
    """

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client = client
        self._path = path

    def write(
        self,
        token: int | None,
        change: Callable[[TransactionRequest], None] | None = None,
        timeout: float | None = None,
    ) -> list[Any]:
        """Carry out a change of znodes, unless a higher token has been seen.

        Args:
            token: the token of the caller's grant.
            change: adds its requests to the transaction (``txn.set_data(...)``). Without a change
                only the token is written, which from now on keeps out all lower tokens.
            timeout: seconds; None is for ever.

        Returns:
            The results of the change's requests.

        Raises:
            StaleToken: a higher token has been seen. Nothing was done.
            OutcomeUnknown: no answer in time. If it was done, no higher token had been seen then.
            KazooException: a request of the change was refused; so nothing was done.
        """
        deadline = Deadline(timeout)
        session = Session(self._client)
        try:
            while True:
                version = self._admit(session, token, deadline)
                try:
                    return self._commit(session, token, version, change, deadline)
                except _Overtaken:
                    if deadline.passed:
                        raise OutcomeUnknown(f"{self._path}: no turn among other writers") from None
        except (Unanswered, SessionExpiredError) as error:
            raise OutcomeUnknown(f"{self._path}: no answer in time") from error
        finally:
            session.close()

    def _admit(self, session: Session, token: int | None, deadline: Deadline) -> int:
        """Compare the token with the fence; the version of the fence's znode that was read."""
        try:
            data, stat = session.ask(deadline, self._client.get_async, self._path)
        except NoNodeError:
            session.ask(deadline, self._client.ensure_path_async, self._path)
            data, stat = session.ask(deadline, self._client.get_async, self._path)
        highest = int(data or 0)
        if token is None or token < highest:
            raise StaleToken(f"{self._path}: token {token}, and {highest} has been seen")
        return int(stat.version)

    def _commit(
        self,
        session: Session,
        token: int | None,
        version: int,
        change: Callable[[TransactionRequest], None] | None,
        deadline: Deadline,
    ) -> list[Any]:
        """Write the token and the change together.

        Raises:
            _Overtaken: somebody else has written to the fence since the look.
        """
        transaction = self._client.transaction()
        transaction.set_data(self._path, str(token).encode(), version)
        if change is not None:
            change(transaction)

        answers = commit(session, deadline, transaction, self._path)
        if isinstance(answers[0], BadVersionError):
            raise _Overtaken
        raise_refusal(answers)
        return answers[1:]


class _Overtaken(Exception):  # noqa: N818 - a turn of events
    """Another write came between the look at the fence and ours: look again."""
