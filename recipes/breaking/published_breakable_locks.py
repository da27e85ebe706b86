"""Locks whose holders are put on a blacklist, as far as a document's recipe goes on ZooKeeper."""

from contextlib import suppress
from typing import Final

from kazoo.client import KazooClient
from kazoo.exceptions import SessionExpiredError
from kazoo.protocol.states import WatchedEvent

from rumpus.recipes.breaking.breakable_lock import BlacklistLock
from rumpus.recipes.breaking.session_blacklist import BlacklistGuard
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered

LOOK_S: Final = 1.0
"""How long a look at the list may take."""


class _AskedGuard(BlacklistGuard):
    """Looks at the list when its application asks it to, and at no other time."""

    def start(self) -> None:
        """It has no thread of its own."""

    def obey(self, client: KazooClient) -> None:
        """End the client's session if the list names it."""
        session = Session(client)
        try:
            present = session.id
            with suppress(SessionExpiredError, Unanswered):
                if present is not None and self._blacklist.names(
                    present, session, Deadline(LOOK_S), _ignored
                ):
                    self._end(present)
        finally:
            session.close()


def _ignored(_event: WatchedEvent) -> None:
    """Nobody waits for news."""


class CooperativeBlacklistLock(BlacklistLock):
    """The holder looks at the list when it is done with its work."""

    _guard_class = _AskedGuard

    def release(self) -> None:
        """Look at the list, then let go; ``NotHeld`` if the list named the session."""
        assert isinstance(self._guard, _AskedGuard)
        self._guard.obey(self._client)
        super().release()
