"""A board on which scripts leave each other tasks: shared by the scripts of all clients."""

from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from rumpus.checker.history import Op
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client


@dataclass(eq=False)
class Task:
    """An operation for a client, not before a moment of the run, nor before others have ended.

    ``ended``: with whatever outcome.
    """

    step: Invocation
    at: int = 0
    others: Sequence["Task"] = ()
    ended: bool = False


class Board:
    """What clients are to do, and what they are at."""

    def __init__(self) -> None:
        self._tasks: dict[int, list[Task]] = defaultdict(list)
        self._doing: dict[int, Task] = {}

    def add(self, client: int, task: Task) -> None:
        """Leave a client a task."""
        self._tasks[client].append(task)

    def take(self, client: Client, first: str = "") -> Task | None:
        """A task that the client can do now, of this operation if there is one; the oldest."""
        own = self._tasks[client.number]
        due = [task for task in own if task.at <= client.time and all(t.ended for t in task.others)]
        task = min(due, key=lambda task: task.step.f != first, default=None)
        if task is not None:
            own.remove(task)
        return task

    def do(self, client: Client, task: Task) -> Generator[Invocation, Op, Op]:
        """Part of a script: the task, and what came of it."""
        self._doing[client.number] = task
        came = yield task.step
        self.given_up(client)
        return came

    def given_up(self, client: Client) -> Task | None:
        """What the client's former process was at when it ended, if anything."""
        task = self._doing.pop(client.number, None)
        if task is not None:
            task.ended = True
        return task
