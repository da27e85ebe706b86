"""Keeping a copy of something on the servers up to date, across connections and sessions.

A ZooKeeper watch fires once, and kazoo drops all watches when the connection is lost: changes
until the next connection are not reported. So a copy is kept by *reading* with a watch, and reading
again after every piece of news: a watch event, a new connection, a new session. The content of the
news does not matter.

**The copy does not go back.** Within a session, a server refuses clients that have seen a later
state than its own. And creating a session is itself a write, so the first read of a new session
sees everything that was committed before the session began.
"""

import time
from abc import ABC, abstractmethod
from typing import Final

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionClosedError, SessionExpiredError

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE, started_again
from rumpus.recipes.requests.session import Session, Unanswered, Watcher

PATIENCE: Final = 5.0
"""Seconds that one look (a read of everything followed) may take before it is begun anew."""


class Follower(ABC):
    """Reads, waits for news, and reads again, on a thread of its own, until it is closed.

    Args:
        client: a started client with kazoo's threading handler.
    """

    def __init__(self, client: KazooClient) -> None:
        self._client = client
        self._closed = False
        self._session: Session | None = None

    @abstractmethod
    def _look(self, session: Session, deadline: Deadline) -> None:
        """Read once, leaving watches that call ``self._news(session)``.

        Raises what ``Session.ask`` does.
        """

    def open(self) -> None:
        """Begin to follow; the first look comes as soon as a server answers."""
        self._client.handler.spawn(self._follow)

    def close(self) -> None:
        """Stop following. Never blocks."""
        self._closed = True
        if self._session is not None:
            self._session.wake.set()

    def look_again(self) -> None:
        """Look once more, as after a piece of news. Never blocks."""
        if self._session is not None:
            self._session.wake.set()

    @property
    def connected(self) -> bool:
        """Whether news can come: false while the connection is lost."""
        return self._session is not None and self._session.connected

    def _news(self, session: Session) -> Watcher:
        """The watcher to leave with every read."""
        return session.watcher()

    def _await_news(self, session: Session) -> None:
        session.wake.wait()

    def _follow(self) -> None:
        session = self._session = Session(self._client)
        while not self._closed:
            session.wake.clear()
            try:
                self._look(session, Deadline(PATIENCE))
                if not self._closed:
                    self._await_news(session)
            except SessionExpiredError as error:
                session.close()
                if isinstance(error, ConnectionClosedError) and not started_again(self._client):
                    break  # the client was stopped for good
                session = self._session = Session(self._client)
                time.sleep(PAUSE)
            except Unanswered:
                time.sleep(PAUSE)
        session.close()
