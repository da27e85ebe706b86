"""Simulated processes, with the tasks that run in them: they live, freeze and die together.

A process stands for one of an operating system, a task for one of its threads: a greenlet that
parks and is woken. Servers have no tasks, only callbacks.
"""

import traceback
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Protocol

from greenlet import greenlet

from rumpus.simulation.kernel.clock import Clock
from rumpus.simulation.kernel.errors import Hung, ProcessKilled, SimulationError
from rumpus.simulation.kernel.trace import Trace

FIRST_PID = 1000

MOST_UNWINDINGS = 50
"""How often a task of a killed process may catch its end before it is given up."""

NEVER = 1 << 100
"""A virtual time that no world reaches."""


class Interrupts(Protocol):
    """Preempts tasks where they do not block (``simulation.kernel.preemption``)."""

    def at_primitive(self, world: "World") -> None:
        """Called by each operation of a lock, clock or socket; another task may run first."""


class World(Protocol):
    """What processes, and all that is in them, ask of the world that they live in."""

    epoch: int
    """What wall clocks show when the world begins, in nanoseconds since 1970."""
    now: int
    """Virtual nanoseconds since the world began."""
    steps: int
    """Steps that tasks have taken."""
    trace: Trace
    hub: greenlet
    """Where the main loop runs; tasks return to it."""
    current: "Task | None"
    """The task that runs, None while a callback does."""
    ready: "list[Task]"
    """Tasks that wait for their turn."""
    interrupts: Interrupts | None
    """To be asked at operations of primitives, if there is something to ask."""
    processes: "list[Process]"
    """All that were ever started and have not been forgotten, the dead included."""
    failures: list[tuple[int, str, BaseException]]
    """Exceptions that escaped from tasks: when, which task, what."""

    def random(self, name: str) -> Random:
        """A stream of random numbers of its own for a purpose, decided by seed and name."""

    def identity(self) -> int:
        """A number that no one else in this world has."""

    def call_at(self, time: int, callback: Callable[[Any], object], argument: Any = None) -> None:
        """Have ``callback(argument)`` called in the main loop at a virtual time (ns)."""

    def call_after(
        self, delay: int, callback: Callable[[Any], object], argument: Any = None
    ) -> None:
        """``call_at`` so many nanoseconds from now."""

    def make_ready(self, task: "Task") -> None:
        """Let a task run when it is chosen; it stays back while its process is frozen."""

    def take_from_ready(self, leaving: "Callable[[Task], bool]") -> "list[Task]":
        """Remove the ready tasks of which ``leaving`` is true; they are returned in order."""


class Task:
    """Runs ``function`` once it is chosen for the first time; made by ``Process.spawn``."""

    __slots__ = (
        "_alarms",
        "_block",
        "_deadline",
        "_timed_out",
        "finished",
        "greenlet",
        "identity",
        "loads",
        "missed",
        "name",
        "parked",
        "process",
        "stalled",
        "waits_for",
    )

    def __init__(self, process: "Process", function: Callable[[], object], name: str) -> None:
        simulator = process.simulator
        self.process = process
        self.name = name
        self.identity = simulator.identity()
        self.parked = False
        self.finished = False
        self.stalled = False
        self.missed = False
        """Whether it became ready while it was stalled."""
        self.loads = 0
        """How many modules it is executing: it is not preempted then, or what a program imports
        would decide where it is preempted later."""
        self.waits_for = "its first step"
        self._timed_out = False
        self._deadline = NEVER
        self._alarms: list[int] = []
        """When the simulator calls ``_alarm``, latest first. A wait is mostly over long before its
        time, and the alarm that it asked for serves those that come after it."""
        self._block = simulator.hub.switch

        def body() -> None:
            try:
                if not process.dead:
                    function()
            except ProcessKilled:
                pass
            except (
                KeyboardInterrupt,
                Hung,
            ):  # for the real program: they leave the world by ``run``
                raise
            except BaseException as error:
                if not process.dead:
                    simulator.trace.append(f"{process.name}/{name}: {type(error).__name__}")
                    simulator.failures.append((simulator.now, f"{process.name}/{name}", error))
            finally:
                self.finished = True
                process.tasks.pop(self, None)

        self.greenlet = greenlet(body, simulator.hub)

    def park(self, timeout: int | None = None, waits_for: str = "") -> bool:
        """Block the current task, which must be this one, until ``wake``.

        Args:
            timeout: nanoseconds on the process's own clock; None: for ever.
            waits_for: in words, for dumps.

        Returns:
            False if the time is over, True if woken.
        """
        process = self.process
        if process.dead:
            raise ProcessKilled
        simulator = process.simulator
        self._timed_out = False
        self.parked = True
        self.waits_for = waits_for
        if timeout is None:
            self._deadline = NEVER
        else:
            if process.clock.rate != 1:
                timeout = int(timeout / process.clock.rate)
            deadline = simulator.now + timeout if timeout > 0 else simulator.now
            self._deadline = deadline
            alarms = self._alarms
            if not alarms or deadline < alarms[-1]:
                self._set_alarm()
        self._block()
        if process.dead:
            raise ProcessKilled
        return not self._timed_out

    def _set_alarm(self) -> None:
        self._alarms.append(self._deadline)
        self.process.simulator.call_at(self._deadline, self._alarm)

    def _alarm(self, _: object) -> None:
        alarms = self._alarms
        alarms.pop()
        if self.parked and self._deadline != NEVER:
            simulator = self.process.simulator
            if self._deadline > simulator.now:
                if not alarms or self._deadline < alarms[-1]:
                    self._set_alarm()
            else:
                self._timed_out = True
                self.parked = False
                simulator.make_ready(self)

    def wake(self) -> None:
        """Let a parked task go on; nothing happens to one that is not parked."""
        if self.parked and not self.finished:
            self.parked = False
            process = self.process
            if self.stalled or process.frozen or process.dead:
                process.simulator.make_ready(self)
            else:  # as it would do
                process.simulator.ready.append(self)

    def pass_on(self) -> None:
        """Let other ready tasks run first, perhaps."""
        process = self.process
        if process.dead:
            raise ProcessKilled
        self.waits_for = "its next step"
        process.simulator.make_ready(self)
        self._block()
        if process.dead:
            raise ProcessKilled

    def stall(self) -> None:
        """Keep the task from running, whatever becomes ready, until ``unstall``."""
        self.stalled = True
        if self.process.simulator.take_from_ready(lambda task: task is self):
            self.missed = True
        if self in self.process.held_tasks:
            self.process.held_tasks.remove(self)
            self.missed = True

    def unstall(self) -> None:
        """Let it run again."""
        self.stalled = False
        if self.missed:
            self.missed = False
            self.process.simulator.make_ready(self)

    def unwind(self) -> None:
        """End the task of a dead process: its ``finally`` blocks run, to no effect outside."""
        simulator = self.process.simulator
        before, simulator.current = simulator.current, self
        try:
            for _ in range(MOST_UNWINDINGS):
                if self.greenlet.dead or not self.greenlet:
                    break
                self.greenlet.throw(ProcessKilled)
            else:
                raise SimulationError(f"task {self.name} of {self.process.name} cannot be ended")
        finally:
            simulator.current = before
            self.finished = True
            self.process.tasks.pop(self, None)

    def describe(self) -> Iterator[str]:
        """Lines that say what it waits for and where it is."""
        process = self.process
        marks = [
            mark for mark, set_ in (("frozen", process.frozen), ("stalled", self.stalled)) if set_
        ]
        yield f"{process.name}/{self.name} waits for {self.waits_for} {' '.join(marks)}".rstrip()
        frame: Any = self.greenlet.gr_frame
        for line in traceback.format_list(traceback.extract_stack(frame)) if frame else ():
            yield from (f"    {part.strip()}" for part in line.splitlines())


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

    def __init__(self, simulator: World, name: str, host: str) -> None:
        self.simulator = simulator
        self.name = name
        self.host = host
        self.pid = FIRST_PID + len(simulator.processes)
        self.clock = Clock(simulator, simulator.epoch)
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
