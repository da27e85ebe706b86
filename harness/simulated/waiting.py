"""Waiting in virtual time, for parts of the harness that run in a simulated world.

Everything here is called by tasks of one world. Only one of them runs at a time, so no locks are
needed.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rumpus.simulation.kernel.errors import SimulationError
from rumpus.simulation.kernel.simulator import SECOND

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Task, World


def park(simulator: "World", seconds: float | None, waits_for: str) -> bool:
    """Let the current task wait until it is woken; False if the virtual time is over first.

    Raises:
        SimulationError: no task runs.
    """
    task = simulator.current
    if task is None:
        raise SimulationError(f"only a task can wait for {waits_for}")
    return task.park(None if seconds is None else round(seconds * SECOND), waits_for)


def sleeper(simulator: "World") -> Callable[[float], None]:
    """A function like ``time.sleep`` that waits in a world's virtual time."""

    def sleep(seconds: float) -> None:
        park(simulator, seconds, "time to pass")

    return sleep


class Flag:
    """Like ``threading.Event``, but it can be set only once and never cleared."""

    __slots__ = ("_set", "_simulator", "_waiting")

    def __init__(self, simulator: "World") -> None:
        self._simulator = simulator
        self._set = False
        self._waiting: list[Task] = []

    def set(self) -> None:
        """Wake all tasks that wait; later calls of ``wait`` return at once."""
        self._set = True
        waiting, self._waiting = self._waiting, []
        for task in waiting:
            task.wake()

    def wait(self, seconds: float) -> bool:
        """Wait until it is set, at most so many virtual seconds; whether it is set."""
        if not self._set:
            task = self._simulator.current
            if task is not None:
                self._waiting.append(task)
            park(self._simulator, seconds, "a flag")
        return self._set
