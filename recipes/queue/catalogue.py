"""Queues, and priority queues."""

from collections.abc import Mapping
from typing import Final, TypeVar

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.common_mutants import IGNORES_TIMEOUT
from rumpus.recipes.queue import faulty_queues
from rumpus.recipes.queue.acknowledged_queue import AcknowledgedQueue
from rumpus.recipes.queue.fifo_queue import FifoQueue, TakingElementQueue
from rumpus.recipes.queue.interfaces import ClaimingQueue, TakingQueue
from rumpus.recipes.queue.kazoo_queue import (
    KazooBareLockingQueue,
    KazooLockingQueue,
    KazooQueue,
)
from rumpus.recipes.queue.priority_queue import PriorityQueue

Kind = TypeVar("Kind", bound=TakingElementQueue)


def common_mutants(queue: type[Kind], printed: str) -> dict[str, CatalogueEntry[Kind]]:
    """The mutants that both kinds of queue have.

    Args:
        queue: the sound queue.
        printed: where a document prints the first two mistakes, for this kind of queue.
    """
    return {
        "ephemeral-elements": mutant(
            variant(queue, faulty_queues.EphemeralElements),
            "elements are ephemeral nodes: they vanish when the session that put them ends",
            {"lost-element"},
            printed,
        ),
        "get-then-delete": mutant(
            variant(queue, faulty_queues.GetsThenDeletes),
            "reads an element and then deletes its node, and ignores that it is gone already: two "
            "consumers that read it both take it",
            {"duplicate-element"},
            printed,
        ),
        "notification-only": mutant(
            variant(queue, faulty_queues.WaitsForNotification),
            "a waiter reads again only when its watch fires, which kazoo drops with the "
            "connection: after a reconnect the waiter waits for ever",
            {"stuck-waiter"},
        ),
        "fails-unanswered": mutant(
            variant(queue, faulty_queues.FailsUnanswered),
            "treats a put that got no answer in time as failed: the element may come out "
            "nevertheless, beside the one that is put again",
            {"phantom-element"},
        ),
        "ignores-timeout": mutant(
            variant(queue, faulty_queues.IgnoresTimeout), IGNORES_TIMEOUT, {"overdue-call"}
        ),
    }


QUEUES: Final[Mapping[str, CatalogueEntry[TakingQueue] | CatalogueEntry[ClaimingQueue]]] = {
    "fifo": sound(FifoQueue),
    "acknowledged": sound(AcknowledgedQueue),
    "kazoo": sound(KazooQueue),
    "kazoo-locking": sound(KazooLockingQueue),
    "kazoo-locking-bare": sound(KazooBareLockingQueue),
    **common_mutants(FifoQueue, "L 3.3"),
    "no-lookup": mutant(
        faulty_queues.NoLookupQueue,
        "creates an element again when the create got no answer, without looking whether the "
        "first one is there",
        {"duplicate-element"},
    ),
    "sorts-by-name": mutant(
        faulty_queues.SortsByNameQueue,
        "sorts elements by their names, which begin with a unique mark, not by their numbers",
        {"out-of-order"},
    ),
    "untied-acknowledgement": mutant(
        faulty_queues.UntiedAcknowledgementQueue,
        "acknowledge deletes the element without checking its claim: a consumer whose session has "
        "expired removes an element that another consumer works on, or has removed",
        {"duplicate-element"},
    ),
    "persistent-claim": mutant(
        faulty_queues.PersistentClaimQueue,
        "the claim is a persistent node: when its consumer dies nobody else gets the element",
        {"orphan-node"},
    ),
    "unsynced": mutant(
        faulty_queues.UnsyncedQueue,
        "says that the queue is empty without catching up first: a server that lags does not show "
        "all elements",
        {"out-of-order"},
    ),
}

PRIORITY_QUEUES: Final[
    Mapping[str, CatalogueEntry[TakingQueue] | CatalogueEntry[ClaimingQueue]]
] = {
    "priority": sound(PriorityQueue),
    "kazoo": sound(KazooQueue),
    "cached-list": mutant(
        faulty_queues.CachedListQueue,
        "keeps the list of elements and takes from it until it is empty: more urgent elements "
        "that are put meanwhile come out later",
        {"out-of-order"},
    ),
    "text-priority": mutant(
        faulty_queues.TextPriorityQueue,
        "sorts elements by their names, in which priorities are not padded: 10 comes before 9",
        {"out-of-order"},
    ),
    "unsynced": mutant(
        faulty_queues.UnsyncedPriorityQueue,
        "lists without catching up first: a server that lags does not show more urgent elements",
        {"out-of-order"},
        printed="L 3.4",
    ),
    **common_mutants(PriorityQueue, ""),
}
