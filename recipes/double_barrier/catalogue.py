"""Double barriers."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.faulty_calls import DeafCall, EndlessCall, HastyCall
from rumpus.recipes.double_barrier import faulty_double_barriers, published_double_barriers
from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier
from rumpus.recipes.double_barrier.kazoo_double_barrier import KazooDoubleBarrier
from rumpus.recipes.double_barrier.published_double_barriers import LowestLeavesLast

DOUBLE_BARRIERS: Final[Mapping[str, CatalogueEntry[DoubleBarrier]]] = {
    "roll": sound(DoubleBarrier),
    "lowest-last": sound(LowestLeavesLast),
    "kazoo": sound(KazooDoubleBarrier),
    "ready-stays": mutant(
        faulty_double_barriers.ReadyStaysBarrier,
        "what says that the barrier is open is never taken away, as in the published recipe, "
        "whose node 'ready' nobody removes: from the second round on everybody walks in",
        {"early-entry"},
        printed="L 3.2",
    ),
    "counts-ready": mutant(
        faulty_double_barriers.CountsReadyBarrier,
        "counts the node that says that the barrier is open among the members, once there is one",
        {"early-entry"},
        printed="L 3.2",
    ),
    "waits-for-one": mutant(
        faulty_double_barriers.WaitsForOneBarrier,
        "watches one of the others when it leaves, and when that one has gone leaves too, "
        "without looking whether there are more: it may have died",
        {"early-exit"},
    ),
    "sleeps-through": mutant(
        variant(DoubleBarrier, _call_class=DeafCall),
        "waits for the notification of its watch, and does not look again after a reconnect: a "
        "watch that was lost with its connection never tells",
        {"stuck-waiter"},
    ),
    "ignores-timeout": mutant(
        variant(DoubleBarrier, _call_class=EndlessCall),
        "enter and leave take a timeout and wait for ever",
        {"overdue-call"},
    ),
    "halves-timeout": mutant(
        variant(DoubleBarrier, _call_class=HastyCall),
        "enter gives up after half of its timeout",
        {"early-timeout"},
    ),
    "never-inside": mutant(
        faulty_double_barriers.NeverInsideDoubleBarrier,
        "says of every member that it is not inside, from the beginning",
        {"unbelieving-holder"},
    ),
    "inside-for-good": mutant(
        faulty_double_barriers.InsideForGoodDoubleBarrier,
        "says that it is inside until it leaves, whatever became of its session",
        {"unaware-holder"},
    ),
    "hides-loss": mutant(
        faulty_double_barriers.HidesLossDoubleBarrier,
        "leave answers yes too when the session had ended inside, and the others went on without "
        "it",
        {"false-exit"},
    ),
    "published": mutant(
        published_double_barriers.PublishedDoubleBarrier,
        "the node ready is counted among the children when leaving too: the list is never empty, "
        "the lowest waits for ready to go, all others for the lowest",
        {"stuck-waiter"},
        printed="L 3.2",
    ),
    "published-entry": mutant(
        published_double_barriers.PublishedEntry,
        "nobody removes the node ready, and it is counted among the children: a later round lets "
        "its last members in one too early, and leaves the first ones waiting for an event that "
        "never comes",
        {"early-entry", "stuck-waiter"},
        printed="L 3.2",
    ),
}
