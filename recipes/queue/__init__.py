"""Queues: first in first out, with acknowledgement, by priority."""

from rumpus.recipes.outcomes import ClaimLost
from rumpus.recipes.queue.acknowledged_queue import AcknowledgedQueue
from rumpus.recipes.queue.fifo_queue import FifoQueue
from rumpus.recipes.queue.interfaces import QueueUnknown
from rumpus.recipes.queue.priority_queue import PriorityQueue

__all__ = ["AcknowledgedQueue", "ClaimLost", "FifoQueue", "PriorityQueue", "QueueUnknown"]
