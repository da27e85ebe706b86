"""Servers that keep ephemeral nodes or sessions after their end, or never make them ephemeral."""

from collections.abc import Iterable
from typing import Any

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.serving.outstanding_changes import OutstandingChanges
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.serving.session_tracker import SessionTracker
from rumpus.simulation.zookeeper.storage.database import Database
from rumpus.simulation.zookeeper.tree.data_tree import DataTree, Result
from rumpus.simulation.zookeeper.tree.transactions import (
    CloseSessionTxn,
    CreateTxn,
    Header,
    Transaction,
)
from rumpus.simulation.zookeeper.tree.watches import WatchManager
from rumpus.simulation.zookeeper.wire.permissions import AskedAcl

PERSISTENT = 10
"""Each tenth ephemeral node becomes persistent."""


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


class _ForgetsThoseOfMulti(OutstandingChanges):
    """closeSession does not find the nodes that a multi has created."""

    def __init__(self, tree: DataTree) -> None:
        super().__init__(tree)
        self._of_multi: set[str] = set()

    def create(self, path: str, *what: Any) -> None:
        """Create a node, and note whether a multi does."""
        super().create(path, *what)
        (self._of_multi.add if self._undoable else self._of_multi.discard)(path)

    def ephemerals_of(self, session: int) -> dict[str, None]:
        """Paths of the ephemeral nodes of a session that were not created in a multi."""
        found = super().ephemerals_of(session)
        return {path: None for path in found if path not in self._of_multi}


class ForgetsEphemeralsOfMulti(Preparer):
    """closeSession does not list nodes created in a multi; needs `UntracksEphemeralsOfMulti`."""

    def __init__(self, tree: DataTree, *args: Any) -> None:
        super().__init__(tree, *args)
        self.changes = _ForgetsThoseOfMulti(tree)


class UntracksEphemeralsOfMulti(DataTree):
    """An ephemeral node created in a multi is not noted with its session."""

    def _apply_multi(
        self, header: Header, operations: tuple[tuple[int, Any], ...], watches: WatchManager | None
    ) -> Result:
        result = super()._apply_multi(header, operations, watches)
        paths = self.ephemerals.get(header.session)
        if paths is not None and not result.error:
            for _, txn in operations:
                if isinstance(txn, CreateTxn):
                    paths.pop(txn.path, None)
            if not paths:
                del self.ephemerals[header.session]
        return result


class MakesSomePersistent(Preparer):
    """Each tenth ephemeral node is created as a persistent one."""

    def __init__(self, tree: DataTree, *args: Any) -> None:
        super().__init__(tree, *args)
        self._ephemerals = 0

    def _create(
        self, path: str, data: bytes | None, acl: AskedAcl | None, flags: int
    ) -> Transaction:
        if flags in {1, 3}:
            self._ephemerals += 1
            if self._ephemerals % PERSISTENT == 0:
                flags -= 1
        return super()._create(path, data, acl, flags)


class _SparesOne(OutstandingChanges):
    def ephemerals_of(self, session: int) -> dict[str, None]:
        """Paths of the ephemeral nodes of a session, without the last of several."""
        found = super().ephemerals_of(session)
        return dict.fromkeys(list(found)[:-1]) if len(found) > 1 else found


class ClosesAllButOne(Preparer):
    """closeSession lists all ephemeral nodes but one; needs `KeepsUnlisted` to apply it."""

    def __init__(self, tree: DataTree, *args: Any) -> None:
        super().__init__(tree, *args)
        self.changes = _SparesOne(tree)


class KeepsUnlisted(DataTree):
    """closeSession deletes the nodes that it lists, and does not look for others."""

    def _close_session(
        self,
        session: int,  # noqa: ARG002 - ignored
        paths: Iterable[str],
        zxid: int,
        watches: WatchManager | None,
    ) -> None:
        for path in paths:
            self._delete(path, zxid, watches)


MUTANTS = (
    ServerMutant(
        "surviving-ephemerals",
        "end a session and leave its ephemeral znodes behind",
        GUIDE + "Ephemeral Nodes",
        "ephemeral",
        "ephemeral",
        frozenset({"lingering-ephemeral"}),
        {Preparer: ClosesNamesOnly, DataTree: KeepsEphemerals},
    ),
    ServerMutant(
        "revived-sessions",
        "resume an expired session when its client reconnects",
        GUIDE + "ZooKeeper Sessions",
        "ephemeral",
        "ephemeral",
        frozenset({"revived-session"}),
        {SessionTracker: RevivesSessions, Database: KeepsNodesOfRevived},
    ),
    ServerMutant(
        "ephemerals-of-multi",
        "leave ephemeral znodes that were created in a multi when their session ends",
        GUIDE + "Ephemeral Nodes; ZOOKEEPER-965 (multi)",
        "multi",
        "multi",
        frozenset({"lingering-ephemeral"}),
        {
            Preparer: ForgetsEphemeralsOfMulti,
            DataTree: UntracksEphemeralsOfMulti,
            Database: KeepsNodesOfRevived,
        },
    ),
    ServerMutant(
        "persistent-ephemerals",
        "create each tenth ephemeral znode as a persistent one",
        GUIDE + "Ephemeral Nodes; create of the API",
        "ephemeral",
        "ephemeral",
        frozenset({"lingering-ephemeral"}),
        {Preparer: MakesSomePersistent},
    ),
    ServerMutant(
        "one-ephemeral-left",
        "leave one of several ephemeral znodes of a session that ends",
        GUIDE + "Ephemeral Nodes; ZOOKEEPER-2355 (ephemeral node is never deleted)",
        "ephemeral",
        "ephemeral",
        frozenset({"lingering-ephemeral"}),
        {Preparer: ClosesAllButOne, DataTree: KeepsUnlisted, Database: KeepsNodesOfRevived},
    ),
)
