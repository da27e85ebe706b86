"""The main loop of a world: virtual time, pending events, and the choice of the task to run.

Everything happens on one real thread. Callbacks (of servers, of the network) run in the main
loop and must not block; tasks are greenlets that block (park) until they are woken. Which
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


class Simulator:
    """One simulated world.

    Args:
        seed: every random choice comes from it.
        keep_trace: whether ``trace.kept`` keeps all entries.
        step_limit: how many steps all tasks together may take.
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
        self._streams: list[tuple[str, Random]] = []
        self._future = ""
        self.steps = 0
        self.events = 0
        self.current: Task | None = None
        """The task that is running; None while a callback runs."""
        self.processes: list[Process] = []
        """All processes ever started, dead ones included, unless removed from here."""
        self.failures: list[tuple[int, str, BaseException]] = []
        """Exceptions that escaped from tasks: when, which task, what."""
        self.preemption: Preemption | None = None
        self.interrupts: Interrupts | None = None
        """``preemption`` in mode ``primitives``, else None; called by locks, clocks, sockets."""
        self.in_order = False
        """Whether the task that became ready first runs first, instead of any."""
        self.between_steps: Callable[[], object] | None = None
        """Called in the main loop now and then, at steps that depend only on the seed. It must not
        change the world."""
        self.closed = False
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
        """A separate stream of random numbers, decided by seed and name."""
        stream = Random(f"{self.seed}:{name}{self._future}")
        self._streams.append((name, stream))
        return stream

    def reseed(self, number: int) -> None:
        """Draw all that is drawn from now on from other streams: another future of the same past.

        Args:
            number: which future; the same number gives the same one.
        """
        self._future = f":{number}"
        for name, stream in self._streams:
            stream.seed(f"{self.seed}:{name}{self._future}")

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

        What is due at the same time is called in the order of these calls. Cannot be
        cancelled, and belongs to no process: programs use ``Process.call_later``.
        """
        self._sequence += 1
        heapq.heappush(self._timers, (time, self._sequence, callback, argument))

    def call_after(
        self, delay: int, callback: Callable[[Any], object], argument: Any = None
    ) -> None:
        """``call_at`` for ``delay`` nanoseconds from now."""
        self._sequence += 1
        heapq.heappush(self._timers, (self.now + delay, self._sequence, callback, argument))

    def due(self) -> int | None:
        """When the next step or event is due (virtual ns); None if there is none."""
        if self.ready:
            return self.now
        return self._timers[0][0] if self._timers else None

    # -- tasks ----------------------------------------------------------------------------

    def make_ready(self, task: Task) -> None:
        """Let a task be chosen to run; held back while it is stalled or its process frozen."""
        if task.stalled:
            task.missed = True
        elif task.process.dead:
            pass
        elif task.process.frozen:
            task.process.held_tasks.append(task)
        elif task.process.at_ready is not None and task.process.at_ready(task):
            pass
        else:
            self.ready.append(task)

    def preempt(self, mode: Mode | None = None) -> None:
        """Choose the schedule of this world, before its first task is started.

        Args:
            mode: None: the mode that the seed decides. Tasks are then preempted at the same moments
                as if that mode had been given.
        """
        mode = mode_of_seed(self.seed) if mode is None else mode
        self.preemption = preemption = Preemption(mode, self.random("preemption"))
        self.interrupts = preemption if preemption.mode == "primitives" else None
        self.in_order = preemption.mode == "none"

    def take_from_ready(self, leaving: Callable[[Task], bool]) -> list[Task]:
        """Remove the ready tasks for which ``leaving`` is true, and return them in order."""
        taken = [task for task in self.ready if leaving(task)]
        if taken:
            self.ready = [task for task in self.ready if not leaving(task)]
        return taken

    # -- running --------------------------------------------------------------------------

    def stop(self) -> None:
        """Let ``run`` return after the current step."""
        self._stopping = True

    def run(self, until: int | None = None) -> None:
        """Run the world until a virtual time (ns), or until ``stop`` is called.

        Raises:
            Stuck: nothing will ever happen again, and no ``until`` was given.
            StepLimitExceeded: too many steps.
            Exception: whatever a callback raises; the world must not be used any more.
            KeyboardInterrupt: Ctrl-C, in a callback or in a task; likewise.
            WorldEnded: a ``Watchdog`` ends it; likewise.
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
                # The fraction that the choice leaves over is still uniform: it draws the duration.
                self.now += SHORTEST_STEP + int((chance - index) * STEP_SPREAD)
                self.steps += 1
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
                if time > self.now:  # noqa: PLR1730 - max() is slower, and this runs for each event
                    self.now = time
                self.events += 1
                note(sequence)  # the time is in the next step's entry
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
        """End the world: all processes die, and their tasks unwind."""
        if self.closed:
            return
        self.current = None  # still set if a task was interrupted
        for process in self.processes:
            process.condemn()
        for process in self.processes:
            process.unwind()
        self.closed = True
        self._timers.clear()
        self.ready.clear()
        self.processes.clear()
        # The thread may end before this object is freed. greenlet then asks ``gc.get_referrers``
        # who else has the thread's greenlet. A collector that is freeing this object hides it from
        # that list, so greenlet would drop our reference, too, and the process would crash.
        del self.hub
