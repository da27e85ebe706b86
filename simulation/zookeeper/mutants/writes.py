"""Leaders that prepare or apply writes wrongly."""

from typing import Any

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.serving.outstanding_changes import OutstandingChanges
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.tree.data_tree import DataTree, Result
from rumpus.simulation.zookeeper.tree.transactions import Header
from rumpus.simulation.zookeeper.tree.watches import WatchManager
from rumpus.simulation.zookeeper.wire.opcodes import ERROR


class IgnoresVersions(Preparer):
    """The expected version of a request is not checked."""

    def _check_version(self, present: int, wanted: int) -> None:
        """Accept every version."""


class _NeverRolledBack(OutstandingChanges):
    def roll_back(self) -> None:
        """Keep the changes of a multi's operations before the one that failed."""


class KeepsPartsOfMulti(Preparer):
    """A failed multi is not rolled back; needs `AppliesPartsOfMulti` to apply it."""

    def __init__(self, tree: DataTree, *args: Any) -> None:
        super().__init__(tree, *args)
        self.changes = _NeverRolledBack(tree)


class AppliesPartsOfMulti(DataTree):
    """Operations of a multi before the one that failed are applied."""

    def _apply_multi(
        self, header: Header, operations: tuple[tuple[int, Any], ...], watches: WatchManager | None
    ) -> Result:
        failed = next((at for at, (kind, _) in enumerate(operations) if kind == ERROR), None)
        if failed is None:
            return super()._apply_multi(header, operations, watches)
        for kind, txn in operations[:failed]:
            self._apply_one(kind, txn, header, watches)
        return self._failed_multi(operations)


MUTANTS = (
    ServerMutant(
        "ignored-versions",
        "set a znode without checking the version that the request expects",
        GUIDE + "ZooKeeper Stat Structure; setData of the API",
        "register",
        "linearizable",
        frozenset({"illegal-change", "not-linearizable"}),
        {Preparer: IgnoresVersions},
    ),
    ServerMutant(
        "half-multi",
        "apply the operations of a multi that come before the one that failed",
        "ZooKeeper 3.4 release notes, ZOOKEEPER-965: multi is all or nothing",
        "multi",
        "multi",
        frozenset({"torn-multi"}),
        {Preparer: KeepsPartsOfMulti, DataTree: AppliesPartsOfMulti},
    ),
)
