"""Barriers."""

from collections.abc import Mapping
from typing import Final

from recipes.barrier import Barrier
from recipes.faulty.barriers import (
    AnyEventBarrier,
    HalvesTimeoutBarrier,
    IgnoresTimeoutBarrier,
    SleepsThroughBarrier,
    UnsyncedBarrier,
)
from recipes.kazoo_barrier import KazooBarrier

BARRIERS: Final[Mapping[str, type[Barrier]]] = {
    "rechecking": Barrier,
    "kazoo": KazooBarrier,
    "sleeps-through": SleepsThroughBarrier,
    "any-event": AnyEventBarrier,
    "unsynced": UnsyncedBarrier,
    "ignores-timeout": IgnoresTimeoutBarrier,
    "halves-timeout": HalvesTimeoutBarrier,
}
