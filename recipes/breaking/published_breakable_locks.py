"""Locks with a blacklist of sessions, as a document describes them, as far as ZooKeeper can."""

from contextlib import suppress
from typing import Final

from kazoo.client import KazooClient
from kazoo.exceptions import SessionExpiredError
from kazoo.protocol.states import WatchedEvent

from rumpus.recipes.breaking.breakable_lock import BlacklistLock
from rumpus.recipes.breaking.session_blacklist import BlacklistGuard
from rumpus.recipes.mistake import made
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered

LOOK_S: Final = 1.0
"""Seconds that a read of the blacklist may take."""


class _AskedGuard(BlacklistGuard):
    """Reads the list only when its application asks it to."""

    def start(self) -> None:
        """Nothing: it has no thread."""
        made()

    def obey(self, client: KazooClient) -> None:
        """End the client's session if it is listed."""
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
    """Nothing: nobody waits for the event."""


class CooperativeBlacklistLock(BlacklistLock):
    """The holder reads the blacklist only when its work is done."""

    _guard_class = _AskedGuard

    def release(self) -> None:
        """Read the list, then release; raises ``NotHeld`` if the session was listed."""
        assert isinstance(self._guard, _AskedGuard)
        self._guard.obey(self._client)
        super().release()
