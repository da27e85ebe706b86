"""Partitioners."""

from collections.abc import Mapping
from typing import Any, Final

from rumpus.recipes.partitioner.faulty_partitioners import (
    BelievesForGoodPartitioner,
    CountsSharesPartitioner,
    EvictingPartitioner,
    GivesUpPartitioner,
    HalvesTimeoutPartitioner,
    NeverHeldPartitioner,
    NoLockPartitioner,
    PersistentNodePartitioner,
    StaysListedPartitioner,
    UnnoticedChangePartitioner,
)
from rumpus.recipes.partitioner.kazoo_partitioner import KazooPartitioner
from rumpus.recipes.partitioner.member_partitioner import Partitioner

PARTITIONERS: Final[Mapping[str, type[Any]]] = {
    "partitioner": Partitioner,
    "kazoo": KazooPartitioner,
    "no-lock": NoLockPartitioner,
    "evicting": EvictingPartitioner,
    "unnoticed-change": UnnoticedChangePartitioner,
    "persistent-node": PersistentNodePartitioner,
    "counts-shares": CountsSharesPartitioner,
    "believes-for-good": BelievesForGoodPartitioner,
    "never-held": NeverHeldPartitioner,
    "gives-up": GivesUpPartitioner,
    "halves-timeout": HalvesTimeoutPartitioner,
    "stays-listed": StaysListedPartitioner,
}
