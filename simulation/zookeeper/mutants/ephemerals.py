"""Servers that keep ephemeral nodes or sessions after their end."""

from collections.abc import Iterable

from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.serving.session_tracker import SessionTracker
from rumpus.simulation.zookeeper.storage.database import Database
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import CloseSessionTxn, Transaction
from rumpus.simulation.zookeeper.tree.watches import WatchManager


class ClosesNamesOnly(Preparer):
    """closeSession lists no ephemeral nodes; needs `KeepsEphemerals` to apply it."""

    def _prepare_close_session(self, _body: bytes) -> Transaction:
        return CloseSessionTxn(())


class KeepsEphemerals(DataTree):
    """closeSession leaves the ephemeral nodes of the session."""

    def _close_session(
        self, session: int, paths: Iterable[str], zxid: int, watches: WatchManager | None
    ) -> None:
        """Remove nothing."""


class RevivesSessions(SessionTracker):
    """An expired session is resumed when its client reconnects."""

    def touch(self, session: int, timeout: int) -> bool:
        """Track a session that is not tracked: it has expired or was closed."""
        if session not in self._sessions:
            self.track(session, timeout)
        return super().touch(session, timeout)


class KeepsNodesOfRevived(Database):
    """A new leader keeps ephemeral nodes whose sessions are not in its database."""

    def begin_serving(self) -> None:
        """Write a snapshot, and delete no nodes."""
        self.take_snapshot()
