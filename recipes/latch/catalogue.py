"""Latches."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.faulty_calls import DeafCall, EndlessCall, HastyCall
from rumpus.recipes.latch import faulty_latches
from rumpus.recipes.latch.tally_latch import Latch

LATCHES: Final[Mapping[str, CatalogueEntry[Latch]]] = {
    "tally": sound(Latch),
    "counts-again": mutant(
        faulty_latches.CountsAgainLatch,
        "tries again under a new name after a lost connection: a lost reply counts twice",
        {"early-entry"},
    ),
    "off-by-one": mutant(
        faulty_latches.LastOneMissingLatch, "goes on when one is still missing", {"early-entry"}
    ),
    "exact": mutant(
        faulty_latches.ExactLatch,
        "goes on when exactly so many have counted: sleeps when one more did",
        {"stuck-waiter"},
    ),
    "ephemeral": mutant(
        variant(Latch, _ephemeral=True),
        "counts by ephemeral nodes: a count goes with the session of whoever counted",
        {"stuck-waiter"},
    ),
    "sleeps-through": mutant(
        variant(Latch, _call_class=DeafCall),
        "waits for the notification of the next count, and does not look again after a reconnect: "
        "a watch that was lost with its connection never tells",
        {"stuck-waiter"},
    ),
    "ignores-timeout": mutant(
        variant(Latch, _call_class=EndlessCall),
        "wait takes a timeout and waits for ever",
        {"overdue-call"},
    ),
    "halves-timeout": mutant(
        variant(Latch, _call_class=HastyCall),
        "wait gives up after half of its timeout",
        {"early-timeout"},
    ),
}
