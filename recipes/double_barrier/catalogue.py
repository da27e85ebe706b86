"""Double barriers."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound
from rumpus.recipes.contests.common_mutants import call_mutants
from rumpus.recipes.double_barrier import faulty_double_barriers, published_double_barriers
from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier
from rumpus.recipes.double_barrier.kazoo_double_barrier import (
    KazooBareDoubleBarrier,
    KazooDoubleBarrier,
)
from rumpus.recipes.double_barrier.published_double_barriers import LowestLeavesLast

DOUBLE_BARRIERS: Final[Mapping[str, CatalogueEntry[DoubleBarrier]]] = {
    "roll": sound(DoubleBarrier),
    "lowest-last": sound(LowestLeavesLast),
    "kazoo": sound(KazooDoubleBarrier),
    "kazoo-bare": sound(KazooBareDoubleBarrier),
    "ready-stays": mutant(
        faulty_double_barriers.ReadyStaysBarrier,
        "never closes the barrier again, as in the published recipe, in which nobody removes the "
        "node 'ready': from the second round on everybody enters at once",
        {"early-entry"},
        printed="L 3.2",
    ),
    "counts-ready": mutant(
        faulty_double_barriers.CountsReadyBarrier,
        "counts the node that says that the barrier is open as a member",
        {"early-entry"},
        printed="L 3.2",
    ),
    "waits-for-one": mutant(
        faulty_double_barriers.WaitsForOneBarrier,
        "when it leaves, watches one other member and returns when that one has left, without "
        "looking whether more are inside",
        {"early-exit"},
    ),
    "unchecked-members": mutant(
        faulty_double_barriers.UncheckedMembersBarrier,
        "opens a round without checking, in the same transaction, that the members that it has "
        "counted are still there",
        {"early-entry"},
    ),
    "unversioned-roll": mutant(
        faulty_double_barriers.UnversionedRollBarrier,
        "opens a round whatever the roll is by then: members of a round that somebody else has "
        "just opened take theirs for over",
        {"early-exit"},
    ),
    "waits-for-next": mutant(
        faulty_double_barriers.WaitsForNextBarrier,
        "when it leaves, waits for the members of the latest round, even if that is a later one "
        "than its own",
        {"stuck-waiter"},
    ),
    **call_mutants(DoubleBarrier),
    "never-inside": mutant(
        faulty_double_barriers.NeverInsideDoubleBarrier,
        "inside is always false, even for a member that has entered",
        {"unbelieving-holder"},
    ),
    "inside-for-good": mutant(
        faulty_double_barriers.InsideForGoodDoubleBarrier,
        "inside stays true until it leaves, even after its session has ended",
        {"unaware-holder", "disconnected-belief"},
    ),
    "hides-loss": mutant(
        faulty_double_barriers.HidesLossDoubleBarrier,
        "leave returns normally when the session had ended inside, although the others went on "
        "without this member",
        {"false-exit"},
    ),
    "published": mutant(
        published_double_barriers.PublishedDoubleBarrier,
        "counts the node 'ready' among the children when it leaves, too: the list never becomes "
        "empty, the lowest waits for 'ready' to go and all others wait for the lowest",
        {"stuck-waiter"},
        printed="L 3.2",
    ),
    "published-entry": mutant(
        published_double_barriers.PublishedEntry,
        "nobody removes the node 'ready', and it is counted among the children: in a later round "
        "the last members enter when one is still missing, and the first ones wait for an event "
        "that never comes",
        {"early-entry", "stuck-waiter"},
        printed="L 3.2",
    ),
}
