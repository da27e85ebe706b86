"""A thread of control in a simulated process: a greenlet that parks and is woken."""

import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from greenlet import greenlet

from rumpus.simulation.kernel.errors import Hung, ProcessKilled, SimulationError

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process

MOST_UNWINDINGS = 50
"""How often a task of a killed process may catch its end before it is given up."""


NEVER = 1 << 100
"""A virtual time that no world reaches."""


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
