"""A board, shared by all clients' scripts, on which a script leaves tasks for other clients."""

from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from rumpus.checker.history import Op
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client


@dataclass(eq=False)
class Task:
    """An operation for a client: not before the time ``at``, nor before the ``others`` have ended.

    ``at`` is in nanoseconds since the start of the run. ``ended``: with whatever outcome.
    """

    step: Invocation
    at: int = 0
    others: Sequence["Task"] = ()
    ended: bool = False


class Board:
    """The tasks left for each client, and the task that each is doing."""

    def __init__(self) -> None:
        self._tasks: dict[int, list[Task]] = defaultdict(list)
        self._doing: dict[int, Task] = {}

    def add(self, client: int, task: Task) -> None:
        """Leave a client a task."""
        self._tasks[client].append(task)

    def take(self, client: Client, first: str = "") -> Task | None:
        """Take the oldest task that the client can do now, preferably of operation ``first``."""
        own = self._tasks[client.number]
        due = [task for task in own if task.at <= client.time and all(t.ended for t in task.others)]
        task = min(due, key=lambda task: task.step.f != first, default=None)
        if task is not None:
            own.remove(task)
        return task

    def next_moment(self, client: Client) -> int | None:
        """When the first of the client's later tasks may begin, in ns; None if there is none."""
        own = self._tasks[client.number]
        return min((task.at for task in own if task.at > client.time), default=None)

    def do(self, client: Client, task: Task) -> Generator[Invocation, Op, Op]:
        """Part of a script: do the task; returns its completion."""
        self._doing[client.number] = task
        came = yield task.step
        self.given_up(client)
        return came

    def given_up(self, client: Client) -> Task | None:
        """End the task that the client is doing and return it; None if there is none.

        For a script whose client's former process ended in the middle of a task.
        """
        task = self._doing.pop(client.number, None)
        if task is not None:
            task.ended = True
        return task
