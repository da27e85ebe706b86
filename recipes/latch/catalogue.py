"""Latches."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound
from rumpus.recipes.contests.common_mutants import call_mutants
from rumpus.recipes.latch import faulty_latches
from rumpus.recipes.latch.tally_latch import Latch

LATCHES: Final[Mapping[str, CatalogueEntry[Latch]]] = {
    "tally": sound(Latch),
    "counts-again": mutant(
        faulty_latches.CountsAgainLatch,
        "creates its node under a new name when it tries again after a lost reply: one client "
        "counts twice",
        {"early-entry"},
    ),
    "off-by-one": mutant(
        faulty_latches.LastOneMissingLatch,
        "opens when one count is still missing",
        {"early-entry"},
    ),
    "exact": mutant(
        faulty_latches.ExactLatch,
        "opens at exactly the count: a waiter that reads when one more has counted waits for ever",
        {"stuck-waiter"},
    ),
    "ephemeral": mutant(
        faulty_latches.EphemeralLatch,
        "counts by ephemeral nodes: a count is lost when the session of its client ends",
        {"stuck-waiter"},
    ),
    **call_mutants(Latch),
}
