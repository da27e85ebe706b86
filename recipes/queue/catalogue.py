"""Queues, those that give out the most urgent element first apart."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.queue.acknowledged_queue import AcknowledgedQueue
from rumpus.recipes.queue.faulty_queues import (
    CachedListQueue,
    EphemeralElementPriorityQueue,
    EphemeralElementQueue,
    FailsUnansweredPriorityQueue,
    FailsUnansweredQueue,
    GetThenDeletePriorityQueue,
    GetThenDeleteQueue,
    IgnoresTimeoutPriorityQueue,
    IgnoresTimeoutQueue,
    NoLookupQueue,
    NotificationOnlyPriorityQueue,
    NotificationOnlyQueue,
    PersistentClaimQueue,
    SortsByNameQueue,
    TextPriorityQueue,
    UnsyncedPriorityQueue,
    UnsyncedQueue,
    UntiedAcknowledgementQueue,
)
from rumpus.recipes.queue.fifo_queue import FifoQueue
from rumpus.recipes.queue.interfaces import ClaimingQueue, TakingQueue
from rumpus.recipes.queue.kazoo_queue import KazooLockingQueue, KazooQueue
from rumpus.recipes.queue.priority_queue import PriorityQueue

QUEUES: Final[Mapping[str, type[TakingQueue] | type[ClaimingQueue]]] = {
    "fifo": FifoQueue,
    "acknowledged": AcknowledgedQueue,
    "kazoo": KazooQueue,
    "kazoo-locking": KazooLockingQueue,
    "ephemeral-elements": EphemeralElementQueue,
    "get-then-delete": GetThenDeleteQueue,
    "no-lookup": NoLookupQueue,
    "sorts-by-name": SortsByNameQueue,
    "notification-only": NotificationOnlyQueue,
    "untied-acknowledgement": UntiedAcknowledgementQueue,
    "persistent-claim": PersistentClaimQueue,
    "fails-unanswered": FailsUnansweredQueue,
    "unsynced": UnsyncedQueue,
    "ignores-timeout": IgnoresTimeoutQueue,
}

PRIORITY_QUEUES: Final[Mapping[str, type[TakingQueue] | type[ClaimingQueue]]] = {
    "priority": PriorityQueue,
    "kazoo": KazooQueue,
    "cached-list": CachedListQueue,
    "text-priority": TextPriorityQueue,
    "unsynced": UnsyncedPriorityQueue,
    "ephemeral-elements": EphemeralElementPriorityQueue,
    "get-then-delete": GetThenDeletePriorityQueue,
    "notification-only": NotificationOnlyPriorityQueue,
    "fails-unanswered": FailsUnansweredPriorityQueue,
    "ignores-timeout": IgnoresTimeoutPriorityQueue,
}
