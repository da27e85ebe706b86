"""A simulated operating system process: tasks, callbacks and clocks that live and die together."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rumpus.simulation.kernel.clock import Clock
from rumpus.simulation.kernel.task import Task

if TYPE_CHECKING:
    from rumpus.simulation.kernel.simulator import Simulator

FIRST_PID = 1000


class Timer:
    """A callback of a process that is to come. Held back while the process is frozen."""

    __slots__ = ("_arguments", "_callback", "_process", "cancelled")

    def __init__(
        self, process: "Process", callback: Callable[..., object], arguments: tuple[Any, ...]
    ) -> None:
        self._process = process
        self._callback = callback
        self._arguments = arguments
        self.cancelled = False

    def cancel(self) -> None:
        """See to it that it is not called any more."""
        self.cancelled = True

    def fire(self, _: object = None) -> None:
        """Call it now, or when the process is thawed; never if the process is dead."""
        if not self.cancelled:
            process = self._process
            if process.dead:
                return
            if process.frozen:
                process.held.append((self.fire, (None,)))
            else:
                self.cancelled = True
                self._callback(*self._arguments)


class Process:
    """Runs, is frozen and thawed (SIGSTOP, SIGCONT), and dies for good; made by ``Simulator``.

    A restarted program is another process with the same name and host.
    """

    def __init__(self, simulator: "Simulator", name: str, host: str) -> None:
        from rumpus.simulation.kernel.simulator import BOOT  # noqa: PLC0415 - each needs the other

        self.simulator = simulator
        self.name = name
        self.host = host
        self.pid = FIRST_PID + len(simulator.processes)
        self.clock = Clock(simulator, BOOT, simulator.epoch)
        self.frozen = False
        self.dead = False
        self.tasks: dict[Task, None] = {}
        self.held: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        """Callbacks that came while it was frozen."""
        self.held_tasks: list[Task] = []
        """Tasks that became ready while it was frozen."""
        self.at_death: list[Callable[[], object]] = []
        """Called when it dies, before its tasks unwind: sockets are closed by the system here."""
        self.is_traced: Callable[[str], bool] | None = None
        """Which files (``co_filename``) are its program's, at whose lines tasks may lose the
        processor in mode ``lines`` (``simulation.kernel.preemption``); None: no file is."""
        self._spawned = 0

    def spawn(self, function: Callable[[], object], name: str = "") -> Task:
        """Start a task."""
        self._spawned += 1
        task = Task(self, function, f"{self._spawned}:{name or getattr(function, '__name__', '')}")
        self.tasks[task] = None
        self.simulator.make_ready(task)
        return task

    def post(self, callback: Callable[..., object], *arguments: Any) -> None:
        """Call back now; when it is thawed, if it is frozen; never, if it is dead.

        How the network and disks reach the program of a process.
        """
        if self.dead:
            return
        if self.frozen:
            self.held.append((callback, arguments))
        else:
            callback(*arguments)

    def call_later(self, delay: int, callback: Callable[..., object], *arguments: Any) -> Timer:
        """Call back after so many nanoseconds on the process's clock."""
        timer = Timer(self, callback, arguments)
        if self.clock.rate != 1:
            delay = int(delay / self.clock.rate)
        self.simulator.call_after(delay, timer.fire)
        return timer

    def freeze(self) -> None:
        """Stop everything in it; connections stay, and take in what fits into their buffers."""
        if self.dead or self.frozen:
            return
        self.simulator.trace.append(f"freeze {self.name}")
        self.frozen = True
        self.held_tasks += self.simulator.take_from_ready(lambda task: task.process is self)

    def thaw(self) -> None:
        """Let it go on with what came in the meantime, in order."""
        if self.dead or not self.frozen:
            return
        self.simulator.trace.append(f"thaw {self.name}")
        if self.simulator.current is None:
            self._thaw()
        else:  # its callbacks belong into the main loop, not into the task of another process
            self.simulator.call_after(0, self._thaw)

    def _thaw(self, _: object = None) -> None:
        self.frozen = False
        held, self.held = self.held, []
        tasks, self.held_tasks = self.held_tasks, []
        for task in tasks:
            self.simulator.make_ready(task)
        for number, (callback, arguments) in enumerate(held):
            if self.frozen or self.dead:  # a callback may freeze it again, or end it
                self.held[:0] = held[number:]
                break
            callback(*arguments)

    def kill(self) -> None:
        """End it at once (SIGKILL). A task of its own that calls this goes on to its next wait."""
        if self.dead:
            return
        self.simulator.trace.append(f"kill {self.name}")
        self.condemn()
        if self.simulator.current is None:
            self.unwind()
        else:  # stacks are taken down from the main loop, to which they return
            self.simulator.call_after(0, self.unwind)

    def condemn(self) -> None:
        """First half of ``kill``: nothing that it does from now on reaches the world."""
        if not self.dead:
            self.dead = True
            self.simulator.take_from_ready(lambda task: task.process is self)
            self.held.clear()
            self.held_tasks.clear()
            self.is_traced = None  # it holds the program's modules, and all that they hold
            at_death, self.at_death = self.at_death, []
            for callback in at_death:
                callback()

    def unwind(self, _: object = None) -> None:
        """Second half: its tasks' stacks are taken down."""
        for task in list(self.tasks):
            task.unwind()
