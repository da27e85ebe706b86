"""A session with the cell, and its lease: *safe*, in *jeopardy*, or *expired*.

Burrows, section 2.8. The client's lease is a conservative estimate of how long its session is
certain to live (``recipes.requests.session_validity`` has the rule for ZooKeeper, where heartbeats
take the place of KeepAlives). While the lease lasts, the session is *safe*. When it runs out, the
client cannot tell whether the servers have ended its session: it is in *jeopardy*. It empties its
cache, and calls block. If the lease is renewed within the *grace period*, the session is safe
again; a change of leader is survived like that. If not, or if the servers say that the session has
ended, it is *expired* for good: all its handles are invalid.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import ClassVar

from kazoo.client import KazooClient

from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE, pause
from rumpus.recipes.requests.session import Session
from rumpus.recipes.requests.session_validity import SessionValidity


class Standing(Enum):
    """What a client knows about its session."""

    SAFE = "safe"
    JEOPARDY = "jeopardy"
    EXPIRED = "expired"


class HandleInvalid(NotDone):
    """The handle cannot be used any more: open another one.

    Its session expired, it was closed or poisoned, or its file was deleted.
    """


class InJeopardy(NotDone):
    """The lease ran out, and was not renewed before the call's timeout. Nothing was done."""


class Lease:
    """The lease of the client's present ZooKeeper session. See the module.

    Args:
        client: a started client with kazoo's threading handler.
        path: the parent of the znodes that heartbeats delete; these never exist.
        grace: the grace period in seconds.
    """

    _validity_class: ClassVar[type[SessionValidity]] = SessionValidity

    def __init__(self, client: KazooClient, path: str, grace: float) -> None:
        self._client = client
        self.session = Session(client)
        self._validity = self._validity_class(client, path)
        self._grace = grace
        self._looking = threading.Lock()
        self._safe_until = time.monotonic()
        self._ended = False
        self._listeners: list[Callable[[Standing], None]] = []
        self._telling = threading.Lock()
        self._told = Standing.SAFE
        self._validity.keep()
        threading.Thread(target=self._watch, name="lease", daemon=True).start()

    def remaining(self) -> float:
        """Seconds for which the session is certain to live; 0 in jeopardy and once expired."""
        left = self._validity.remaining()  # first: it may be a later session's
        return 0.0 if self._ended or self.session.lost else left

    @property
    def standing(self) -> Standing:
        """What the client knows now."""
        with self._looking:
            left, now = self.remaining(), time.monotonic()
            if left > 0:
                self._safe_until = now + left
                return Standing.SAFE
            over = now > self._safe_until + self._grace
            self._ended = self._ended or self.session.lost or over
            return Standing.EXPIRED if self._ended else Standing.JEOPARDY

    def admit(self, deadline: Deadline) -> None:
        """Wait until the session is safe: calls block in jeopardy.

        Raises:
            HandleInvalid: the session has expired.
            InJeopardy: the time is over.
        """
        while (standing := self.standing) is not Standing.SAFE:
            if standing is Standing.EXPIRED:
                raise HandleInvalid("the session has expired")
            if deadline.passed:
                raise InJeopardy("in jeopardy")
            pause(deadline)

    def listen(self, listener: Callable[[Standing], None]) -> None:
        """Call ``listener``, which must not block, with each new standing from now on.

        A session that is not safe by now is told at once: whoever opened a file saw it safe.
        """
        self._tell()
        with self._telling:
            self._listeners.append(listener)
            if self._told is not Standing.SAFE:
                listener(self._told)

    def forget(self, listener: Callable[[Standing], None]) -> None:
        """Call ``listener`` no more. Never blocks."""
        with suppress(ValueError):
            self._listeners.remove(listener)

    def close(self) -> None:
        """End the lease: the session counts as expired from now on."""
        self._ended = True

    def _watch(self) -> None:
        while self._told is not Standing.EXPIRED:
            self._tell()
            time.sleep(min(PAUSE, self.remaining()) or PAUSE)
        self._validity.let_go()
        self.session.close()

    def _tell(self) -> None:
        with self._telling:
            standing = self.standing
            if standing is not self._told:
                self._told = standing
                for listener in [*self._listeners]:
                    listener(standing)
