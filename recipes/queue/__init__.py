"""Queues: first in first out, with acknowledgement, by priority."""

from rumpus.recipes.queue.acknowledged_queue import AcknowledgedQueue
from rumpus.recipes.queue.fifo_queue import FifoQueue
from rumpus.recipes.queue.interfaces import ClaimLost, NothingDone, QueueUnknown
from rumpus.recipes.queue.priority_queue import PriorityQueue

__all__ = [
    "AcknowledgedQueue",
    "ClaimLost",
    "FifoQueue",
    "NothingDone",
    "PriorityQueue",
    "QueueUnknown",
]
