"""Barriers."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.barrier import faulty_barriers
from rumpus.recipes.barrier.kazoo_barrier import KazooBarrier
from rumpus.recipes.barrier.node_barrier import Barrier
from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.common_mutants import call_mutants
from rumpus.recipes.contests.faulty_calls import DoesNotCatchUp

BARRIERS: Final[Mapping[str, CatalogueEntry[Barrier]]] = {
    "rechecking": sound(Barrier),
    "kazoo": sound(KazooBarrier),
    "any-event": mutant(
        faulty_barriers.AnyEventBarrier,
        "returns from wait at the first event without reading the node again, although the event "
        "may only report that the connection was lost",
        {"early-entry"},
    ),
    "unsynced": mutant(
        variant(Barrier, DoesNotCatchUp),
        "reads without catching up first: a server that lags does not show the barrier yet",
        {"early-entry"},
        printed="L 3.1",
    ),
    **call_mutants(Barrier),
}
