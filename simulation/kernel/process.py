"""Simulated processes, and the tasks in them, which freeze and die with their process.

A process stands for an operating system process. A task stands for one of its threads: a greenlet
that blocks (parks) until it is woken. Simulated servers have no tasks, only callbacks.
"""

import math
import traceback
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Protocol

from greenlet import greenlet

from rumpus.simulation.kernel.clock import Clock
from rumpus.simulation.kernel.errors import ProcessKilled, SimulationError, WorldEnded
from rumpus.simulation.kernel.trace import Trace

FIRST_PID = 1000

MOST_UNWINDINGS = 50
"""How often a task of a killed process may catch ``ProcessKilled`` before an error is raised."""

NEVER = 1 << 100
"""A virtual time that no world reaches."""


class Interrupts(Protocol):
    """Preempts tasks where they do not block (``simulation.kernel.preemption``)."""

    def at_primitive(self, world: "World") -> None:
        """Called by each operation of a lock, clock or socket; another task may run first."""


class World(Protocol):
    """What processes, networks and disks need of the simulator."""

    epoch: int
    """What wall clocks show when the world begins, in nanoseconds since 1970."""
    now: int
    """Virtual nanoseconds since the world began."""
    steps: int
    """Steps that tasks have taken."""
    trace: Trace
    hub: greenlet
    """The greenlet of the main loop, to which tasks switch back."""
    current: "Task | None"
    """The task that is running; None while a callback runs."""
    ready: "list[Task]"
    """Tasks that wait for their turn."""
    interrupts: Interrupts | None
    """What locks, clocks and sockets call at each operation; None without preemption there."""
    processes: "list[Process]"
    """All processes ever started, dead ones included, unless removed from here."""
    failures: list[tuple[int, str, BaseException]]
    """Exceptions that escaped from tasks: when, which task, what."""

    def stop(self) -> None:
        """Let the world end after the current step."""

    def random(self, name: str) -> Random:
        """A separate stream of random numbers, decided by seed and name."""

    def identity(self) -> int:
        """A number that no one else in this world has."""

    def call_at(self, time: int, callback: Callable[[Any], object], argument: Any = None) -> None:
        """Have ``callback(argument)`` called in the main loop at a virtual time (ns)."""

    def call_after(
        self, delay: int, callback: Callable[[Any], object], argument: Any = None
    ) -> None:
        """``call_at`` for ``delay`` nanoseconds from now."""

    def make_ready(self, task: "Task") -> None:
        """Let a task be chosen to run; held back while it is stalled or its process frozen."""

    def take_from_ready(self, leaving: "Callable[[Task], bool]") -> "list[Task]":
        """Remove the ready tasks for which ``leaving`` is true, and return them in order."""


class Task:
    """A thread of a process, which runs ``function``; made by ``Process.spawn``."""

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
        """How many module bodies (imports) it is executing now. It is not preempted meanwhile, as
        otherwise what a program imports would decide where it is preempted later."""
        self.waits_for = "its first step"
        self._timed_out = False
        self._deadline = NEVER
        self._alarms: list[int] = []
        """Times at which the simulator will call ``_alarm``, latest first. Most waits end long
        before their timeout, and later waits reuse the alarm that is still pending."""
        self._block = simulator.hub.switch

        def body() -> None:
            try:
                if not process.dead:
                    function()
            except ProcessKilled:
                pass
            except (
                KeyboardInterrupt,
                WorldEnded,
            ):  # these are for the real program: ``Simulator.run`` raises them
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
            waits_for: a description in words, for ``Simulator.dump``.

        Returns:
            False if the timeout has passed, True if woken.
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
                timeout = math.ceil(timeout / process.clock.rate)
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
        """Let the task go on if it is parked."""
        if self.parked and not self.finished:
            self.parked = False
            process = self.process
            if self.stalled or process.frozen or process.dead or process.at_ready is not None:
                process.simulator.make_ready(self)
            else:  # what ``make_ready`` would do, without the call
                process.simulator.ready.append(self)

    def pass_on(self) -> None:
        """Yield: the scheduler chooses again among all ready tasks, this one included."""
        process = self.process
        if process.dead:
            raise ProcessKilled
        self.waits_for = "its next step"
        process.simulator.make_ready(self)
        self._block()
        if process.dead:
            raise ProcessKilled

    def stall(self) -> None:
        """Keep the task from running until ``unstall``, even if it is woken."""
        self.stalled = True
        if self.process.simulator.take_from_ready(lambda task: task is self):
            self.missed = True
        if self in self.process.held_tasks:
            self.process.held_tasks.remove(self)
            self.missed = True

    def unstall(self) -> None:
        """Undo ``stall``."""
        self.stalled = False
        if self.missed:
            self.missed = False
            self.process.simulator.make_ready(self)

    def unwind(self) -> None:
        """End the task of a dead process: its ``finally`` blocks run, without effect outside."""
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
        """Lines that say what the task waits for, with its stack."""
        process = self.process
        marks = [
            mark for mark, set_ in (("frozen", process.frozen), ("stalled", self.stalled)) if set_
        ]
        yield f"{process.name}/{self.name} waits for {self.waits_for} {' '.join(marks)}".rstrip()
        frame: Any = self.greenlet.gr_frame
        for line in traceback.format_list(traceback.extract_stack(frame)) if frame else ():
            yield from (f"    {part.strip()}" for part in line.splitlines())


class Timer:
    """A scheduled callback of a process. Held back while the process is frozen."""

    __slots__ = ("_arguments", "_callback", "_process", "cancelled")

    def __init__(
        self, process: "Process", callback: Callable[..., object], arguments: tuple[Any, ...]
    ) -> None:
        self._process = process
        self._callback = callback
        self._arguments = arguments
        self.cancelled = False

    def cancel(self) -> None:
        """Make sure that the callback is never called."""
        self.cancelled = True

    def fire(self, _: object = None) -> None:
        """Call the callback now, or when the process is thawed; never if the process is dead."""
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
    """A simulated process; it can be frozen, thawed (SIGSTOP, SIGCONT) and killed.

    Made by ``Simulator.process``.

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
        """Called when the process dies, before its tasks unwind; to close its sockets, say."""
        self.is_traced: Callable[[str], bool] | None = None
        """Whether a file (``co_filename``) is the program's, so that tasks may be preempted at its
        lines in mode ``lines`` (``simulation.kernel.preemption``). None: no file does."""
        self.at_ready: Callable[[Task], bool] | None = None
        """Called with each task that is to run next; whether it is kept from that, until it is
        given to ``make_ready`` again."""
        self._spawned = 0

    def spawn(self, function: Callable[[], object], name: str = "") -> Task:
        """Start a task."""
        self._spawned += 1
        task = Task(self, function, f"{self._spawned}:{name or getattr(function, '__name__', '')}")
        self.tasks[task] = None
        self.simulator.make_ready(task)
        return task

    def post(self, callback: Callable[..., object], *arguments: Any) -> None:
        """Call a callback: now, or after the thaw if the process is frozen; never if it is dead.

        The network and disks call the program of a process in this way.
        """
        if self.dead:
            return
        if self.frozen:
            self.held.append((callback, arguments))
        else:
            callback(*arguments)

    def call_later(self, delay: int, callback: Callable[..., object], *arguments: Any) -> Timer:
        """Call a callback after ``delay`` nanoseconds on the process's clock, never earlier.

        If it came a nanosecond too early, a callback that waits for a moment would call this again
        and again while the time stands still.
        """
        timer = Timer(self, callback, arguments)
        if self.clock.rate != 1:
            delay = math.ceil(delay / self.clock.rate)
        self.simulator.call_after(delay, timer.fire)
        return timer

    def freeze(self) -> None:
        """Stop the process (SIGSTOP). Its connections stay, and buffer what arrives."""
        if self.dead or self.frozen:
            return
        self.simulator.trace.append(f"freeze {self.name}")
        self.frozen = True
        self.held_tasks += self.simulator.take_from_ready(lambda task: task.process is self)

    def thaw(self) -> None:
        """Let it go on (SIGCONT); held-back tasks and callbacks run now, in order."""
        if self.dead or not self.frozen:
            return
        self.simulator.trace.append(f"thaw {self.name}")
        if self.simulator.current is None:
            self._thaw()
        else:  # callbacks must run in the main loop, not in another process's task
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
        """End it at once (SIGKILL). A task that kills its own process runs on to its next wait."""
        if self.dead:
            return
        self.simulator.trace.append(f"kill {self.name}")
        self.condemn()
        if self.simulator.current is None:
            self.unwind()
        else:  # only the main loop can unwind tasks, as they switch back to it
            self.simulator.call_after(0, self.unwind)

    def condemn(self) -> None:
        """First half of ``kill``: nothing that the process does from now on affects the world."""
        if not self.dead:
            self.dead = True
            self.simulator.take_from_ready(lambda task: task.process is self)
            self.held.clear()
            self.held_tasks.clear()
            self.is_traced = None  # it refers to the program's modules: let them be freed
            at_death, self.at_death = self.at_death, []
            for callback in at_death:
                callback()

    def unwind(self, _: object = None) -> None:
        """Second half of ``kill``: the tasks' stacks unwind."""
        for task in list(self.tasks):
            task.unwind()
