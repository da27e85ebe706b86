"""Barriers."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.barrier import faulty_barriers
from rumpus.recipes.barrier.kazoo_barrier import KazooBarrier
from rumpus.recipes.barrier.node_barrier import Barrier
from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.faulty_calls import DeafCall, DoesNotCatchUp, EndlessCall, HastyCall

BARRIERS: Final[Mapping[str, CatalogueEntry[Barrier]]] = {
    "rechecking": sound(Barrier),
    "kazoo": sound(KazooBarrier),
    "sleeps-through": mutant(
        variant(Barrier, _call_class=DeafCall),
        "waits for the notification that the node is gone, and does not look again after a "
        "reconnect: a watch that was lost with its connection never tells",
        {"stuck-waiter"},
    ),
    "any-event": mutant(
        faulty_barriers.AnyEventBarrier,
        "goes on at the first event, without looking: it may have told of a lost watch",
        {"early-entry"},
    ),
    "unsynced": mutant(
        variant(Barrier, DoesNotCatchUp),
        "looks without a sync: a server that is behind has not heard of the barrier yet",
        {"early-entry"},
        printed="L 3.1",
    ),
    "ignores-timeout": mutant(
        variant(Barrier, _call_class=EndlessCall),
        "wait takes a timeout and waits for ever",
        {"overdue-call"},
    ),
    "halves-timeout": mutant(
        variant(Barrier, _call_class=HastyCall),
        "wait gives up after half of its timeout",
        {"early-timeout"},
    ),
}
