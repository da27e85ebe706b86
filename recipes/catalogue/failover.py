"""Databases whose primary fails over."""

from collections.abc import Mapping
from typing import Final

from recipes.failover import FailoverDatabase
from recipes.faulty.failover import (
    AcknowledgesFirst,
    BelievesTheNext,
    NoCatchUp,
    NoEpochCheck,
    ShrinkingQuorum,
)
from recipes.kazoo_failover import KazooElectionDatabase

FAILOVER: Final[Mapping[str, type[FailoverDatabase]]] = {
    "quorum": FailoverDatabase,
    "kazoo-election": KazooElectionDatabase,
    "acknowledges-first": AcknowledgesFirst,
    "no-epoch-check": NoEpochCheck,
    "no-catch-up": NoCatchUp,
    "shrinking-quorum": ShrinkingQuorum,
    "no-recheck": BelievesTheNext,
}
