"""Semaphores."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.semaphore.contest_semaphore import Semaphore
from rumpus.recipes.semaphore.faulty_semaphores import (
    BelievesForGoodSemaphore,
    CountsAllSemaphore,
    CountsFirstSemaphore,
    HalvesTimeoutSemaphore,
    IgnoresTimeoutSemaphore,
    NeverHeldSemaphore,
    NoLookupSemaphore,
    ReleaseByPlaceSemaphore,
    SortsByNameSemaphore,
    WatchesOneSemaphore,
)
from rumpus.recipes.semaphore.kazoo_semaphore import KazooSemaphore

SEMAPHORES: Final[Mapping[str, type[Semaphore]]] = {
    "fair": Semaphore,
    "kazoo": KazooSemaphore,
    "counts-all": CountsAllSemaphore,
    "counts-first": CountsFirstSemaphore,
    "watches-one": WatchesOneSemaphore,
    "no-lookup": NoLookupSemaphore,
    "release-by-place": ReleaseByPlaceSemaphore,
    "sorts-by-name": SortsByNameSemaphore,
    "believes-for-good": BelievesForGoodSemaphore,
    "never-held": NeverHeldSemaphore,
    "ignores-timeout": IgnoresTimeoutSemaphore,
    "halves-timeout": HalvesTimeoutSemaphore,
}
