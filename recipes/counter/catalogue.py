"""Counters."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.faulty_calls import DoesNotCatchUp
from rumpus.recipes.counter import faulty_counters
from rumpus.recipes.counter.kazoo_counter import KazooCounter
from rumpus.recipes.counter.receipt_counter import Counter

COUNTERS: Final[Mapping[str, CatalogueEntry[Counter]]] = {
    "receipts": sound(Counter),
    "kazoo": sound(KazooCounter),
    "adds-again": mutant(
        faulty_counters.AddsAgainCounter,
        "tries again after a lost connection, without looking whether it was added: a lost reply "
        "counts twice",
        {"miscount"},
    ),
    "blind-write": mutant(
        faulty_counters.BlindWriteCounter,
        "reads, adds and writes without the version: of two that do so at once one is lost",
        {"miscount"},
    ),
    "unsynced": mutant(
        variant(Counter, DoesNotCatchUp),
        "reads the total without a sync: a server that is behind lacks what was added before",
        {"miscount"},
    ),
    "adds-one": mutant(
        faulty_counters.AddsOneCounter, "adds one, whatever it is told to add", {"miscount"}
    ),
    "looks-afterwards": mutant(
        faulty_counters.LooksAfterwardsCounter,
        "reads the total after its addition and takes it for its own: others have added "
        "meanwhile, and two are told the same number",
        {"miscount"},
    ),
    "first-session": mutant(
        faulty_counters.FirstSessionCounter,
        "keeps its first session for ever: once that has expired no call comes through, although "
        "the client has a new one",
        {"stuck-waiter"},
    ),
}
