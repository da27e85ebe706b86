"""Servers that do not end what has ended: ephemeral znodes, and sessions."""

from collections.abc import Iterable

from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.serving.session_tracker import SessionTracker
from rumpus.simulation.zookeeper.storage.database import Database
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import CloseSessionTxn, Transaction
from rumpus.simulation.zookeeper.tree.watches import WatchManager


class ClosesNamesOnly(Preparer):
    """The end of a session names no ephemeral nodes: `KeepsEphemerals` applies it."""

    def _prepare_close_session(self, _body: bytes) -> Transaction:
        return CloseSessionTxn(())


class KeepsEphemerals(DataTree):
    """A session ends, and its ephemeral nodes stay."""

    def _close_session(
        self, session: int, paths: Iterable[str], zxid: int, watches: WatchManager | None
    ) -> None:
        """Remove nothing."""


class RevivesSessions(SessionTracker):
    """A session that has expired goes on when its client comes back."""

    def touch(self, session: int, timeout: int) -> bool:
        """Take up any session that is not known: it has ended."""
        if session not in self._sessions:
            self.track(session, timeout)
        return super().touch(session, timeout)


class KeepsNodesOfRevived(Database):
    """A server that begins to lead leaves the nodes of sessions alone that its disk has not."""

    def begin_serving(self) -> None:
        """Write a snapshot, and remove nothing."""
        self.take_snapshot()
