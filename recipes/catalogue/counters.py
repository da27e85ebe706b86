"""Counters."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.counter import Counter
from rumpus.recipes.faulty.counters import (
    AddsAgainCounter,
    AddsOneCounter,
    BlindWriteCounter,
    FirstSessionCounter,
    LooksAfterwardsCounter,
    UnsyncedCounter,
)
from rumpus.recipes.kazoo_counter import KazooCounter

COUNTERS: Final[Mapping[str, type[Counter]]] = {
    "receipts": Counter,
    "kazoo": KazooCounter,
    "adds-again": AddsAgainCounter,
    "blind-write": BlindWriteCounter,
    "unsynced": UnsyncedCounter,
    "adds-one": AddsOneCounter,
    "looks-afterwards": LooksAfterwardsCounter,
    "first-session": FirstSessionCounter,
}
