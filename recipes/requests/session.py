"""One ZooKeeper session of a client, and requests that never outlive it.

kazoo makes a new session by itself when one expires, and a request issued a moment too late
goes out under the new one. For a lock that is dangerous: a delete by path could then remove
the node of the present holder. kazoo reports LOST to its state listeners before it drops queued
requests and before it connects anew. So a flag that a listener sets, and a mutex around "check the
flag, enqueue the request", keep every request inside its session: a request either fails with
``SessionExpiredError``, or was enqueued while the session was ours.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionLoss,
    NoNodeError,
    OperationTimeoutError,
    SessionExpiredError,
    SessionMovedError,
)
from kazoo.protocol.states import KazooState, KeeperState, WatchedEvent, ZnodeStat

from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.requests.deadline import Deadline

Watcher = Callable[[WatchedEvent], None]
"""A watch callback."""

LONGEST_REQUEST: Final = 10.0
"""Seconds after which any request is given up, even one without a deadline.

kazoo may forget a request that is enqueued at the very moment in which a session expires.
"""


class Unanswered(OutcomeUnknown):
    """A request got no answer: it may have taken effect, or may yet, or may never."""


class Session:
    """The client's session from now on, until it is lost.

    Args:
        client: a started client with kazoo's threading handler.
    """

    def __init__(self, client: KazooClient) -> None:
        self._client = client
        self._lost = False
        # kazoo's `client_id` is None while the client is not connected.
        self.begun_in: int | None = client._session_id or None  # noqa: SLF001
        """Its id (signed 64 bits), connected or not; None if there was no session then."""
        self._enqueueing = threading.Lock()
        self._oldest: tuple[object, float] = None, 0.0
        """The oldest request that was not answered when that was looked at, and since when."""
        self.wake = threading.Event()
        """Set on every change of the connection; recipes set it on other news too."""
        client.add_listener(self._changed)

    def _changed(self, state: str) -> bool:
        """State listener; runs on kazoo's connection thread. Returning True unregisters it."""
        if state == KazooState.LOST:
            with self._enqueueing:
                self._lost = True
        self.wake.set()
        return self._lost

    def close(self) -> None:
        """Stop listening to the client."""
        self._client.remove_listener(self._changed)

    @property
    def lost(self) -> bool:
        """Whether the session is known to have ended."""
        return self._lost

    @property
    def connected(self) -> bool:
        """Whether the session lives and has a connection, as far as the client knows.

        A connection to a server in read-only mode does not count.
        """
        return not self._lost and self._client.client_state == KeeperState.CONNECTED

    @property
    def reliable(self) -> bool:
        """Whether it is connected, and a server has not been silent for a whole timeout.

        kazoo notices a dead connection by a ping that is not answered, and pings only when nothing
        else was sent for a third of the timeout. A client that sends requests more often than that
        is CONNECTED for as long as TCP tries again, a quarter of an hour by default. So the oldest
        request without an answer is looked at. This is noticed only if it is asked more than once.
        """
        return self.connected and not self._is_silent()

    def _is_silent(self) -> bool:
        try:
            oldest = self._client._pending[0]  # noqa: SLF001 - what was sent and not answered
        except IndexError:
            return False
        known, since = self._oldest
        if oldest is not known:
            self._oldest = oldest, time.monotonic()
            return False
        timeout: float = self._client._session_timeout / 1000  # noqa: SLF001
        return time.monotonic() - since >= timeout

    @property
    def id(self) -> int | None:
        """The session's id (signed 64 bits), None while it is not connected or lost."""
        with self._enqueueing:
            identity = self._client.client_id if self.connected else None
            return identity[0] if identity else None

    def owns(self, stat: ZnodeStat) -> bool:
        """Whether a node is an ephemeral one of this session.

        Raises:
            SessionExpiredError: the session is lost.
            Unanswered: not connected, so the session's id is not known.
        """
        identity = self.id
        if identity is None:
            raise SessionExpiredError if self._lost else Unanswered("no connection")
        return bool(stat.ephemeralOwner == identity)

    def ask(
        self, deadline: Deadline, method: Callable[..., Any], *args: Any, **options: Any
    ) -> Any:
        """Issue one of the client's ``*_async`` methods and wait for its answer.

        Raises:
            SessionExpiredError: the session is lost; its ephemeral nodes are gone or soon will be.
            Unanswered: the connection was lost, or the answer did not come in time.
            ZookeeperError: any other error with which the server answered.
        """
        with self._enqueueing:
            if self._lost:
                raise SessionExpiredError
            answer = method(*args, **options)
        left = deadline.left_for_answers()
        patience = LONGEST_REQUEST if left is None else min(left, LONGEST_REQUEST)
        try:
            return answer.get(timeout=patience)
        except (
            ConnectionLoss,
            OperationTimeoutError,
            SessionMovedError,
            self._client.handler.timeout_exception,
        ) as error:
            path = f" {args[0]}" if args else ""  # the commit of a multi has none
            raise Unanswered(f"{method.__name__}{path}") from error

    def reconnected(self, deadline: Deadline) -> bool:
        """Wait until the session is connected (True) or lost (False).

        Raises:
            Unanswered: neither happened in time.
        """
        while True:
            self.wake.clear()
            if self._lost:
                return False
            if self.connected:
                return True
            if not self.wake.wait(deadline.left()):
                raise Unanswered("no connection")

    def catch_up(self, deadline: Deadline, nowhere: str) -> None:
        """Wait until each earlier request of this session has been carried out or never will be.

        The session's next read sees their effects, and everything committed before this call. To
        that end it makes a write without effect: it deletes a node that does not exist. A session's
        requests are carried out in order; a request left over on an old connection is refused once
        the session has moved to another server; and a server answers a write only after it has
        applied everything up to it. ``sync`` would not do: a deposed leader that has not noticed
        answers a ``sync`` by itself, whereas a write needs a quorum.

        Args:
            deadline: for the answer.
            nowhere: the path of a node that never exists.

        Raises:
            SessionExpiredError, Unanswered: as ``ask``.
        """
        with suppress(NoNodeError):
            self.ask(deadline, self._client.delete_async, nowhere)

    def watcher(self) -> Watcher:
        """A new watch callback: any event sets ``wake``."""
        return lambda _event: self.wake.set()
