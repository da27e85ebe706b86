"""Fences: resources that refuse a holder whose lock has passed on.

No lock can stop a holder that was paused between its last look and its action. The resource can:
each grant comes with a token that only grows, each action carries the token of its grant, and the
resource remembers the highest token it has seen and refuses lower ones (Burrows, The Chubby lock
service, OSDI 2006: sequencers; Kleppmann, How to do distributed locking, 2016: fencing tokens).
What was refused never happens.

``MemoryFence`` is for a resource that lives in one process, ``ZooKeeperFence`` for one that is
znodes: the token and the change are written in one transaction, so there is no moment between the
comparison and the write. The fence's znode holds the highest token; its version says whether
somebody was quicker. A look at it may be stale: then the version is wrong, and the transaction is
refused as a whole. A higher token that is seen is certain, as tokens never go back.

A fence compares with "lower than": a holder writes as often as it wants under its own token.
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
        """Carry out an action while no other does.

        Raises:
            StaleToken: a higher token has been seen; or there is none to compare.
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
            token: of the grant under which this is done.
            change: adds its requests to the transaction (``txn.set_data(...)``); none but
                raises the fence, which keeps everybody with a lower token out from now on.
            timeout: seconds; None is for ever.

        Returns:
            The results of the change's requests.

        Raises:
            StaleToken: a higher token has been seen. Nothing was done.
            OutcomeUnknown: no answer in time. If it was done, its token had not been overtaken.
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
        """The version of the fence as it was when it let the token pass."""
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
