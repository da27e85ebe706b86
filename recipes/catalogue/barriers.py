"""Barriers."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.barrier import Barrier
from rumpus.recipes.faulty.barriers import (
    AnyEventBarrier,
    HalvesTimeoutBarrier,
    IgnoresTimeoutBarrier,
    SleepsThroughBarrier,
    UnsyncedBarrier,
)
from rumpus.recipes.kazoo_barrier import KazooBarrier

BARRIERS: Final[Mapping[str, type[Barrier]]] = {
    "rechecking": Barrier,
    "kazoo": KazooBarrier,
    "sleeps-through": SleepsThroughBarrier,
    "any-event": AnyEventBarrier,
    "unsynced": UnsyncedBarrier,
    "ignores-timeout": IgnoresTimeoutBarrier,
    "halves-timeout": HalvesTimeoutBarrier,
}
