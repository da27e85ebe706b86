"""The heart of a world: virtual time, the schedule of what comes, and the choice of who runs.

Everything happens on one real thread. Callbacks (of servers, of the network) run in the main
loop and must not block; tasks are greenlets that block by parking until they are woken. Which
ready task runs next is drawn from the seed, and every step costs a little virtual time, so that
loops that never block still let time pass.
"""

import heapq
from collections.abc import Callable
from random import Random
from typing import Any

from greenlet import getcurrent

from rumpus.simulation.kernel.clock import EPOCH
from rumpus.simulation.kernel.errors import SimulationError, StepLimitExceeded, Stuck
from rumpus.simulation.kernel.preemption import Mode, Preemption, mode_of_seed
from rumpus.simulation.kernel.process import Interrupts, Process, Task
from rumpus.simulation.kernel.trace import FLUSH_AT, Trace

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
MICROSECOND = 1_000

SHORTEST_STEP = 1_000
STEP_SPREAD = 29_000


MOST_SPINS = 200
"""How often a task may look at what only others change before it has to let them run."""


class Simulator:
    """One world.

    Args:
        seed: all that is random comes from it.
        keep_trace: whether ``trace.kept`` tells everything that happened.
        step_limit: tasks may take so many steps in all.
        epoch: what wall clocks show when the world begins, in nanoseconds since 1970.
    """

    def __init__(
        self,
        seed: int,
        *,
        keep_trace: bool = False,
        step_limit: int = 100_000_000,
        epoch: int = EPOCH,
    ) -> None:
        self.seed = seed
        self.epoch = epoch
        self.now = 0
        """Virtual nanoseconds since the world began."""
        self.trace = Trace(keep=keep_trace)
        self.steps = 0
        self.events = 0
        self.current: Task | None = None
        """The task that runs, None while a callback does."""
        self.processes: list[Process] = []
        """All that were ever started and have not been forgotten, the dead included."""
        self.failures: list[tuple[int, str, BaseException]] = []
        """Exceptions that escaped from tasks: when, which task, what."""
        self.preemption: Preemption | None = None
        self.interrupts: Interrupts | None = None
        """The same, if it strikes at operations of primitives; they ask nobody otherwise."""
        self.in_order = False
        """Whether the task that became ready first runs first, instead of any."""
        self.between_steps: Callable[[], object] | None = None
        """Called in the main loop now and then, always at the same steps for the same seed. What it
        does must not show in the world."""
        self.closed = False
        self._spins = 0
        self.hub = getcurrent()
        self._step_limit = step_limit
        self.ready: list[Task] = []
        """Tasks that wait for their turn; see ``make_ready``."""
        self._timers: list[tuple[int, int, Callable[[Any], object], Any]] = []
        self._sequence = 0
        self._identities = 0
        self._choose = self.random("scheduler").random
        self._stopping = False

    # -- randomness, names ----------------------------------------------------------------

    def random(self, name: str) -> Random:
        """A stream of random numbers of its own for a purpose, decided by seed and name."""
        return Random(f"{self.seed}:{name}")

    def identity(self) -> int:
        """A number that no one else in this world has, for tasks, connections and the like."""
        self._identities += 1
        return self._identities

    def process(self, name: str, host: str | None = None) -> Process:
        """Start a process on a host (by default one of its own name). It has no task yet."""
        process = Process(self, name, host or name)
        self.processes.append(process)
        return process

    # -- time -----------------------------------------------------------------------------

    def call_at(self, time: int, callback: Callable[[Any], object], argument: Any = None) -> None:
        """Have ``callback(argument)`` called in the main loop at a virtual time (ns).

        What is due at the same time is called in the order of these calls. Cannot be taken
        back, and knows no process: see ``Process.call_later`` for what a program does.
        """
        self._sequence += 1
        heapq.heappush(self._timers, (time, self._sequence, callback, argument))

    def call_after(
        self, delay: int, callback: Callable[[Any], object], argument: Any = None
    ) -> None:
        """``call_at`` so many nanoseconds from now."""
        self._sequence += 1
        heapq.heappush(self._timers, (self.now + delay, self._sequence, callback, argument))

    def due(self) -> int | None:
        """When the next thing happens (ns), None if nothing ever will."""
        if self.ready:
            return self.now
        return self._timers[0][0] if self._timers else None

    # -- tasks ----------------------------------------------------------------------------

    def make_ready(self, task: Task) -> None:
        """Let a task run when it is chosen; it stays back while its process is frozen."""
        if task.stalled:
            task.missed = True
        elif task.process.dead:
            pass
        elif task.process.frozen:
            task.process.held_tasks.append(task)
        else:
            self.ready.append(task)

    def preempt(self, mode: Mode | None = None) -> None:
        """Choose the schedule of this world, before its first task is started.

        Args:
            mode: None: the one of its seed. The moments are the same as if that had been named.
        """
        mode = mode_of_seed(self.seed) if mode is None else mode
        self.preemption = preemption = Preemption(mode, self.random("preemption"))
        self.interrupts = preemption if preemption.mode == "primitives" else None
        self.in_order = preemption.mode == "none"

    def spin(self) -> None:
        """Called where a task looks at what only others change: a clock, a flag, an empty queue.

        A loop that waits by looking would otherwise never end, as time stands still meanwhile.
        """
        if self.current is not None:
            self._spins += 1
            if self._spins > MOST_SPINS:
                self.current.pass_on()

    def take_from_ready(self, leaving: Callable[[Task], bool]) -> list[Task]:
        """Remove the ready tasks of which ``leaving`` is true; they are returned in order."""
        taken = [task for task in self.ready if leaving(task)]
        if taken:
            self.ready = [task for task in self.ready if not leaving(task)]
        return taken

    # -- running --------------------------------------------------------------------------

    def stop(self) -> None:
        """Let ``run`` return after the present step."""
        self._stopping = True

    def run(self, until: int | None = None) -> None:
        """Let the world go on until a virtual time (ns), or until ``stop`` is called.

        Raises:
            Stuck: nothing will ever happen again, and no ``until`` was given.
            StepLimitExceeded: too many steps.
            Exception: whatever a callback raises; the world is not to be used any more.
            KeyboardInterrupt: Ctrl-C, in a callback or in a task; the same holds.
            Hung: a task computes for ever (where a ``HangWatchdog`` looks); the same holds.
        """
        if self.closed:
            raise SimulationError("this world has been closed")
        if getcurrent() is not self.hub:
            raise SimulationError("a world is run by the thread that made it, from outside")
        self._stopping = False
        limit = until if until is not None else 1 << 100
        timers = self._timers
        trace = self.trace
        entries = trace.entries
        note = entries.append
        choose = self._choose
        pop = heapq.heappop
        preemption = self.preemption
        in_order = self.in_order
        resume = preemption.resume if preemption is not None and preemption.traces else None
        while not self._stopping:
            ready = self.ready
            if ready and (not timers or timers[0][0] > self.now):
                chance = choose() * len(ready)
                index = int(chance)
                if in_order:
                    task = ready.pop(0)
                else:
                    task = ready[index]
                    ready[index] = ready[-1]
                    ready.pop()
                # What is left of the chance after the choice is as random as the whole.
                self.now += SHORTEST_STEP + int((chance - index) * STEP_SPREAD)
                self.steps += 1
                self._spins = 0
                note(self.now)
                note(task.identity)
                self.current = task
                if resume is None:
                    task.greenlet.switch()
                else:
                    resume(task)
                self.current = None
                if self.steps > self._step_limit:
                    raise StepLimitExceeded(f"{self.steps} steps were taken\n{self.dump()}")
            elif timers:
                time = timers[0][0]
                if time > limit:
                    break
                time, sequence, callback, argument = pop(timers)
                if time > self.now:  # noqa: PLR1730 - a call, for each event
                    self.now = time
                self.events += 1
                note(sequence)  # the time, too, shows in the next step's
                callback(argument)
            elif until is None:
                raise Stuck(f"nothing will ever happen again\n{self.dump()}")
            else:
                break
            if len(entries) > FLUSH_AT:
                trace.flush()
                if self.between_steps is not None:
                    self.between_steps()
            if self.now > limit:
                return
        if until is not None and not self._stopping:
            self.now = max(self.now, until)

    def digest(self) -> str:
        """The hash of everything that has happened."""
        return self.trace.digest()

    def dump(self) -> str:
        """Where every task is, with the frames of its stack."""
        return "\n".join(
            line
            for process in self.processes
            if not process.dead
            for task in process.tasks
            for line in task.describe()
        )

    def close(self) -> None:
        """End the world: all processes die, tasks unwind, nothing happens any more."""
        if self.closed:
            return
        self.current = None  # an interrupted task still was
        for process in self.processes:
            process.condemn()
        for process in self.processes:
            process.unwind()
        self.closed = True
        self._timers.clear()
        self.ready.clear()
        self.processes.clear()
