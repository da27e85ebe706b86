"""The lock of an aisle, mended: pickers queue, and each removes nothing but its own node."""

import threading
import time
import uuid
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionClosedError,
    ConnectionLoss,
    NoNodeError,
    OperationTimeoutError,
    SessionExpiredError,
    SessionMovedError,
)
from kazoo.handlers.threading import KazooTimeoutError

UNANSWERED = (
    ConnectionLoss,
    OperationTimeoutError,
    SessionExpiredError,
    SessionMovedError,
    KazooTimeoutError,
)
REQUEST_S = 5.0
LOOK_AGAIN_S = 1.0
PAUSE_S = 0.1


class MendedAisleLock:
    """The children of the path are a queue; the one with the lowest number holds the lock."""

    def __init__(self, client: KazooClient, path: str) -> None:
        self.client = client
        self.path = path
        self._place: _Place | None = None

    def acquire(self, timeout: float = 10.0) -> bool:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            place = _Place(self.client, self.path)
            try:
                if place.is_reached(deadline):
                    self._place = place
                    return True
            except UNANSWERED:
                time.sleep(PAUSE_S)
            finally:
                if self._place is not place:
                    place.leave()
        return False

    def release(self) -> None:
        place, self._place = self._place, None
        if place is not None:
            place.leave()

    @property
    def held(self) -> bool:
        return self._place is not None and self._place.is_ours


class _Place:
    """One attempt: a node with a name that no other attempt has.

    So the node is found again if the reply to its create is lost, and a late delete cannot remove
    the node of a later attempt, ours or anybody's.
    """

    def __init__(self, client: KazooClient, path: str) -> None:
        self.client = client
        self.path = path
        self.mark = uuid.uuid4().hex
        self.tried = False
        self.name: str | None = None
        self.session = 0

    @property
    def is_ours(self) -> bool:
        """Whether the session that made the node lives, as far as the client knows."""
        identity = self.client.client_id
        return self.client.connected and bool(identity) and identity[0] == self.session

    def is_reached(self, deadline: float) -> bool:
        """Queue, and wait until the node is the first; False if the time was over before."""
        self._ask("ensure_path", self.path)
        self.tried = True
        node, stat = self._ask(
            "create", f"{self.path}/{self.mark}-", ephemeral=True, sequence=True, include_data=True
        )
        self.name, self.session = node.rpartition("/")[2], stat.ephemeralOwner
        while True:
            queue = sorted(self._ask("get_children", self.path), key=lambda name: name[-10:])
            if self.name not in queue or not self.is_ours:
                raise SessionExpiredError
            place = queue.index(self.name)
            if place == 0:
                return True
            changed = threading.Event()
            ahead = f"{self.path}/{queue[place - 1]}"
            if self._ask("exists", ahead, watch=lambda _, changed=changed: changed.set()):
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                changed.wait(min(left, LOOK_AGAIN_S))

    def leave(self) -> None:
        """Remove the node; if no server answers, go on trying in a thread."""
        try:
            self._remove()
        except UNANSWERED:
            self.client.handler.spawn(self._remove_until_answered)

    def _remove_until_answered(self) -> None:
        while True:
            time.sleep(PAUSE_S)
            try:
                self._remove()
                return
            except UNANSWERED:
                continue
            except ConnectionClosedError:
                return  # the client was stopped: the node ends with its session

    def _remove(self) -> None:
        if self.name is None and self.tried:
            # A server that answers a write has carried out all earlier requests of the session.
            # After a read alone, the create could still be on its way.
            self._ask("set", self.path, b"")
            names = self._ask("get_children", self.path)
            self.name = next((name for name in names if name.startswith(self.mark)), None)
        if self.name is not None:
            try:
                self._ask("delete", f"{self.path}/{self.name}")
            except NoNodeError:
                pass  # an earlier delete, or the end of the session, has removed it

    def _ask(self, request: str, *arguments: Any, **options: Any) -> Any:
        """The answer to a request; not later than in ``REQUEST_S`` seconds."""
        asked = getattr(self.client, f"{request}_async")(*arguments, **options)
        return asked.get(timeout=REQUEST_S)
