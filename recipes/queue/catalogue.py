"""The catalogue of queues; priority queues have a catalogue of their own."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.queue import faulty_queues
from rumpus.recipes.queue.acknowledged_queue import AcknowledgedQueue
from rumpus.recipes.queue.fifo_queue import FifoQueue
from rumpus.recipes.queue.interfaces import ClaimingQueue, TakingQueue
from rumpus.recipes.queue.kazoo_queue import KazooLockingQueue, KazooQueue
from rumpus.recipes.queue.priority_queue import PriorityQueue

EPHEMERAL_ELEMENTS: Final = (
    "elements are ephemeral nodes: they vanish with the session of whoever put them"
)

GET_THEN_DELETE: Final = (
    "reads an element, then deletes its node, and does not mind that it is gone already: two "
    "consumers that read it both take it"
)

NOTIFICATION_ONLY: Final = (
    "a waiter looks again only when its watch fires: one whose connection dropped, and its "
    "watch with it, sleeps on when it is back"
)

FAILS_UNANSWERED: Final = (
    "takes a put that got no answer in time for one that failed: its element comes out all "
    "the same, beside that of whoever puts it again"
)

IGNORES_TIMEOUT: Final = "take takes a timeout and waits for ever"

QUEUES: Final[Mapping[str, CatalogueEntry[TakingQueue] | CatalogueEntry[ClaimingQueue]]] = {
    "fifo": sound(FifoQueue),
    "acknowledged": sound(AcknowledgedQueue),
    "kazoo": sound(KazooQueue),
    "kazoo-locking": sound(KazooLockingQueue),
    "ephemeral-elements": mutant(
        variant(FifoQueue, _ephemeral=True), EPHEMERAL_ELEMENTS, {"lost-element"}, printed="L 3.3"
    ),
    "get-then-delete": mutant(
        variant(FifoQueue, faulty_queues.GetsThenDeletes),
        GET_THEN_DELETE,
        {"duplicate-element"},
        printed="L 3.3",
    ),
    "no-lookup": mutant(
        faulty_queues.NoLookupQueue,
        "creates an element again when the create got no answer, without looking whether the "
        "first one is there",
        {"duplicate-element"},
    ),
    "sorts-by-name": mutant(
        faulty_queues.SortsByNameQueue,
        "sorts elements by their names, in which a unique mark stands before the number",
        {"out-of-order"},
    ),
    "notification-only": mutant(
        variant(FifoQueue, faulty_queues.WaitsForNotification), NOTIFICATION_ONLY, {"stuck-waiter"}
    ),
    "untied-acknowledgement": mutant(
        faulty_queues.UntiedAcknowledgementQueue,
        "acknowledging deletes the element by its path, whether its claim stands or not: a "
        "consumer whose session has expired removes what another works on, or has removed",
        {"duplicate-element"},
    ),
    "persistent-claim": mutant(
        faulty_queues.PersistentClaimQueue,
        "the claim is a persistent node: when its consumer dies nobody else gets the element",
        {"orphan-node"},
    ),
    "fails-unanswered": mutant(
        variant(FifoQueue, faulty_queues.FailsUnanswered), FAILS_UNANSWERED, {"phantom-element"}
    ),
    "unsynced": mutant(
        faulty_queues.UnsyncedQueue,
        "says that the queue is empty by the list of a server that may be behind, without a sync",
        {"out-of-order"},
    ),
    "ignores-timeout": mutant(
        variant(FifoQueue, faulty_queues.IgnoresTimeout), IGNORES_TIMEOUT, {"overdue-call"}
    ),
}

PRIORITY_QUEUES: Final[
    Mapping[str, CatalogueEntry[TakingQueue] | CatalogueEntry[ClaimingQueue]]
] = {
    "priority": sound(PriorityQueue),
    "kazoo": sound(KazooQueue),
    "cached-list": mutant(
        faulty_queues.CachedListQueue,
        "keeps the list of elements and takes from it until nothing is left: what is more urgent "
        "and comes later has to wait",
        {"out-of-order"},
    ),
    "text-priority": mutant(
        faulty_queues.TextPriorityQueue,
        "sorts elements by their names, in which priorities are not padded: 10 comes before 9",
        {"out-of-order"},
    ),
    "unsynced": mutant(
        faulty_queues.UnsyncedPriorityQueue,
        "lists without a sync: a server that is behind does not show what is more urgent",
        {"out-of-order"},
        printed="L 3.4",
    ),
    "ephemeral-elements": mutant(
        variant(PriorityQueue, _ephemeral=True), EPHEMERAL_ELEMENTS, {"lost-element"}
    ),
    "get-then-delete": mutant(
        variant(PriorityQueue, faulty_queues.GetsThenDeletes),
        GET_THEN_DELETE,
        {"duplicate-element"},
    ),
    "notification-only": mutant(
        variant(PriorityQueue, faulty_queues.WaitsForNotification),
        NOTIFICATION_ONLY,
        {"stuck-waiter"},
    ),
    "fails-unanswered": mutant(
        variant(PriorityQueue, faulty_queues.FailsUnanswered), FAILS_UNANSWERED, {"phantom-element"}
    ),
    "ignores-timeout": mutant(
        variant(PriorityQueue, faulty_queues.IgnoresTimeout), IGNORES_TIMEOUT, {"overdue-call"}
    ),
}
