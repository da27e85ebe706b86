"""The fault ``queue-clearing``: an operator deletes the znodes of all who wait in a queue."""

from collections.abc import Iterator

from kazoo.exceptions import KazooException, NoNodeError

from rumpus import ClientFault, Draft, Finding, Targets, Turn


class QueueClearing(ClientFault):
    """As by hand, when a queue seems stuck. The first in line keeps its node."""

    kind = "queue-clearing"
    summary = "an operator deletes the znodes of all who wait in a queue"
    works_on = "znodes of queues"

    deleted = 0

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """It concerns all clients: nobody knows beforehand who waits."""
        return Draft(Targets(role="all"))

    def inject(self) -> None:
        """Clear the first queue in which somebody waits; wait for one for at most 5 s."""
        self.context.until(self._clear_a_queue, timeout=5.0)

    def in_force(self) -> Finding:
        return Finding(self.deleted > 0, f"{self.deleted} znodes deleted")

    def heal(self) -> None:
        """Who waited must queue up again by itself."""

    def _clear_a_queue(self) -> bool:
        for parent, queue in self._queues("/"):
            first, *waiting = (f"{parent}/{name}" for name in queue)
            clearing = self.context.kazoo.transaction()
            clearing.check(first, -1)  # all fails if the first has left meanwhile
            for path in waiting:
                clearing.delete(path)
            if waiting and not any(isinstance(r, KazooException) for r in clearing.commit()):
                self.deleted = len(waiting)
                return True
        return False

    def _queues(self, path: str) -> Iterator[tuple[str, list[str]]]:
        """Paths, and the names of their children with sequence numbers, in order of these."""
        try:
            names = self.context.kazoo.get_children(path)
        except NoNodeError:
            return
        if queue := sorted((n for n in names if n[-10:].isdigit()), key=lambda n: n[-10:]):
            yield path, queue
        for name in names:
            if name not in queue and name != "zookeeper":
                yield from self._queues(f"{path.rstrip('/')}/{name}")
