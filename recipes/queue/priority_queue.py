"""A queue that gives out the most urgent element first.

ZooKeeper's recipe ("ZooKeeper Recipes and Solutions, Priority Queues"): the name of an element's
node contains the priority before the number; lower is sooner. A consumer calls ``sync`` before it
lists, so that it sees more urgent elements. This implementation differs in two points:

- a *write* goes before the list, because a deposed leader that has not noticed answers ``sync`` by
  itself, from an old state;
- a consumer that loses an element to another lists again. It does not try the next element of its
  old list, because more urgent ones may have been put since.

So each take gets the element that was most urgent when its list was made.
"""

from typing import ClassVar

from rumpus.recipes.promises import Promises
from rumpus.recipes.queue.element_queue import MARK, Place
from rumpus.recipes.queue.fifo_queue import AT_MOST_ONCE, NO_SECOND_CHANCE, TakingElementQueue
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.ledger import Ledger

LEAST_URGENT = 99


class PriorityQueue(TakingElementQueue):
    """Lower priorities are sooner; equals come out in the order of their creates."""

    promises: ClassVar[Promises] = Promises(
        prevents=AT_MOST_ONCE | {"out-of-order", "overdue-call"},
        notes=NO_SECOND_CHANCE
        + "A more urgent element that is put while a take is on its way may have to wait for the "
        "next one.",
    )

    def put(self, element: bytes, timeout: float | None = None, *, priority: int = 0) -> None:
        """Add an element of a priority from 0 to 99, the lower the sooner.

        Raises:
            ValueError: there is no such priority.
            QueueUnknown, NotDone: as ``FifoQueue.put``.
        """
        if not 0 <= priority <= LEAST_URGENT:
            raise ValueError(f"a priority is a number from 0 to {LEAST_URGENT}, not {priority}")
        self._put(element, f"{MARK}{priority:02d}-", timeout)

    def _look(self, ledger: Ledger, deadline: Deadline, *, last: bool) -> list[Place]:  # noqa: ARG002 - every look is as fresh as the last
        return super()._look(ledger, deadline, last=True)[:1]
