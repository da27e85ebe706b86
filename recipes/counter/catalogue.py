"""Counters."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.common_mutants import FIRST_SESSION, RESTS_AFTER_TIMEOUT
from rumpus.recipes.contests.faulty_calls import DoesNotCatchUp
from rumpus.recipes.counter import faulty_counters
from rumpus.recipes.counter.kazoo_counter import KazooCounter
from rumpus.recipes.counter.receipt_counter import Counter

COUNTERS: Final[Mapping[str, CatalogueEntry[Counter]]] = {
    "receipts": sound(Counter),
    "kazoo": sound(KazooCounter),
    "adds-again": mutant(
        faulty_counters.AddsAgainCounter,
        "adds again after a lost reply, without looking whether the first addition was made: both "
        "may count",
        {"miscount"},
    ),
    "blind-write": mutant(
        faulty_counters.BlindWriteCounter,
        "writes the new total without a version check: of two additions at once one is lost",
        {"miscount"},
    ),
    "unsynced": mutant(
        variant(Counter, DoesNotCatchUp),
        "reads the total without catching up first: a server that lags does not show additions "
        "that were made before the read",
        {"miscount"},
    ),
    "adds-one": mutant(
        faulty_counters.AddsOneCounter, "adds one, whatever amount it is given", {"miscount"}
    ),
    "looks-afterwards": mutant(
        faulty_counters.LooksAfterwardsCounter,
        "returns the total that it reads after its addition: if others have added meanwhile, two "
        "clients are told the same total",
        {"miscount"},
    ),
    "rests-after-timeout": mutant(
        faulty_counters.RestsAfterTimeoutCounter, RESTS_AFTER_TIMEOUT, {"overdue-call"}
    ),
    "first-session": mutant(faulty_counters.FirstSessionCounter, FIRST_SESSION, {"stuck-waiter"}),
}
