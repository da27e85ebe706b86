"""Barriers."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.barrier.faulty_barriers import (
    AnyEventBarrier,
    HalvesTimeoutBarrier,
    IgnoresTimeoutBarrier,
    SleepsThroughBarrier,
    UnsyncedBarrier,
)
from rumpus.recipes.barrier.kazoo_barrier import KazooBarrier
from rumpus.recipes.barrier.node_barrier import Barrier

BARRIERS: Final[Mapping[str, type[Barrier]]] = {
    "rechecking": Barrier,
    "kazoo": KazooBarrier,
    "sleeps-through": SleepsThroughBarrier,
    "any-event": AnyEventBarrier,
    "unsynced": UnsyncedBarrier,
    "ignores-timeout": IgnoresTimeoutBarrier,
    "halves-timeout": HalvesTimeoutBarrier,
}
