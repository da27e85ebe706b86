"""Counters."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.counter.faulty_counters import (
    AddsAgainCounter,
    AddsOneCounter,
    BlindWriteCounter,
    FirstSessionCounter,
    LooksAfterwardsCounter,
    UnsyncedCounter,
)
from rumpus.recipes.counter.kazoo_counter import KazooCounter
from rumpus.recipes.counter.receipt_counter import Counter

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
