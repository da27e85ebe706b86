"""Databases whose primary fails over."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.failover.database import FailoverDatabase
from rumpus.recipes.failover.faulty_failover import (
    AcknowledgesFirst,
    BelievesTheNext,
    HalfQuorum,
    NeverStepsDown,
    NeverTruncates,
    NoCatchUp,
    NoEpochCheck,
    PersistentCandidates,
    ReadsCached,
    ReadsMarks,
    ReadsSorted,
    ReadsUnconfirmed,
    RemembersAddresses,
    RepeatsTail,
    ShrinkingQuorum,
)
from rumpus.recipes.failover.kazoo_failover import KazooElectionDatabase

FAILOVER: Final[Mapping[str, type[FailoverDatabase]]] = {
    "quorum": FailoverDatabase,
    "kazoo-election": KazooElectionDatabase,
    "acknowledges-first": AcknowledgesFirst,
    "no-epoch-check": NoEpochCheck,
    "no-catch-up": NoCatchUp,
    "shrinking-quorum": ShrinkingQuorum,
    "no-recheck": BelievesTheNext,
    "repeats-tail": RepeatsTail,
    "reads-marks": ReadsMarks,
    "reads-cached": ReadsCached,
    "reads-sorted": ReadsSorted,
    "remembers-addresses": RemembersAddresses,
    "persistent-candidates": PersistentCandidates,
    "never-steps-down": NeverStepsDown,
    "half-quorum": HalfQuorum,
    "reads-unconfirmed": ReadsUnconfirmed,
    "never-truncates": NeverTruncates,
}
