"""Priority queues: like queues, but the most urgent element comes out first."""

from typing import ClassVar

from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client
from rumpus.recipes.queue.catalogue import PRIORITY_QUEUES
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.queues.queue import Consumer, QueueWorkload, Value

PRIORITIES = 12
"""How many priorities there are; 0 is the most urgent. Some have two digits."""


class PriorityQueueWorkload(QueueWorkload):
    """Clients put elements of several priorities into a queue and take them out."""

    name = "priority-queue"
    catalogue = PRIORITY_QUEUES
    elsewhere: ClassVar = {}
    model = "priority-queue"
    urgency = True

    @operation()
    def enqueue(self, consumer: Consumer, value: Value, priority: int, timeout: float) -> None:
        """Put an element with a priority."""
        consumer.queue.put(str(value).encode(), timeout, priority=priority)

    @operation(name="enqueue-all")
    def enqueue_all(
        self, consumer: Consumer, values: list[Value], priority: int, timeout: float
    ) -> None:
        """Put several elements with one priority, all or none."""
        elements = [str(value).encode() for value in values]
        consumer.queue.put_all(elements, timeout, priority=priority)

    def put_all(self, client: Client, values: list[str], timeout: float) -> Invocation:
        """The call that puts several elements, with one priority."""
        priority = 1 + client.draws.below(PRIORITIES - 1)
        return self.enqueue_all(values=values, priority=priority, timeout=round(timeout, 3))

    def put(self, client: Client, value: str, timeout: float, *, urgent: bool) -> Invocation:
        """The call that puts an element: at priority 0 if it is urgent, else at any other."""
        priority = 0 if urgent else 1 + client.draws.below(PRIORITIES - 1)
        return self.enqueue(value=value, priority=priority, timeout=round(timeout, 3))


PRIORITY_QUEUE = PriorityQueueWorkload()
