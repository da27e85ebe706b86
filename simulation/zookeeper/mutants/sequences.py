"""Servers that number sequential nodes wrongly, or tell a wrong number."""

from typing import Any

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.serving.outstanding_changes import Record
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.tree.data_tree import DataTree


class NumbersByChildren(Preparer):
    """Sequence numbers are the number of present children, not the parent's cversion."""

    def _next_number(self, parent: Record) -> int:
        return parent.child_count


class NumbersByEpoch(Preparer):
    """A new leader counts on from the children that it finds, not from all that ever were."""

    def __init__(self, tree: DataTree, *args: Any) -> None:
        super().__init__(tree, *args)
        self._missing: dict[int, int] = {}
        """By czxid of a node of an earlier epoch: its children that are not counted any more."""

    def _next_number(self, parent: Record) -> int:
        if parent.czxid >> 32 == self._zxid >> 32:
            return super()._next_number(parent)
        missing = parent.cversion - parent.child_count
        return parent.cversion - self._missing.setdefault(parent.czxid, missing)


MUTANTS = (
    ServerMutant(
        "repeated-sequence",
        "number sequential znodes by the present children, not by all that were ever created",
        GUIDE + "Sequence Nodes -- Unique Naming",
        "sequence",
        "sequential",
        frozenset({"duplicate-sequence", "illegal-change"}),
        {Preparer: NumbersByChildren},
    ),
    ServerMutant(
        "sequence-of-epoch",
        "number sequential znodes from the present children after a change of the leader",
        "ZOOKEEPER-1046 (a new sequential node results in a NodeExists error: lost cversion)",
        "sequence",
        "sequential",
        frozenset({"illegal-change"}),
        {Preparer: NumbersByEpoch},
    ),
)
