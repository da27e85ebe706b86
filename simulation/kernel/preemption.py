"""Preemption: when tasks may be interrupted although they do not block.

Greenlets switch only where they are told to. Races that real threads could have between two
blocking calls show only if tasks also switch at operations of primitives (locks, clocks,
sockets), or at any line.
"""

import sys
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any, Literal

from rumpus.simulation.kernel.process import Task, World

Mode = Literal["none", "blocking", "primitives", "lines"]
"""Where a task may be interrupted, and which ready task runs next.

``none``: a task runs until it blocks; the one that became ready first runs next. ``blocking``: a
task runs until it blocks; any ready one runs next. ``primitives``: it is also interrupted at random
operations of locks, clocks and sockets. ``lines``: at random lines of the programs under test
instead (``sys.settrace``; about twice as slow)."""

MODES: tuple[Mode, ...] = ("none", "blocking", "primitives", "lines")

PRIMITIVE_GAP = 20
"""Mean number of primitive operations between two preemptions."""
LINE_GAP = 200
"""Mean number of lines between two preemptions."""


class Preemption:
    """Draws from a world's seed when tasks are preempted.

    Args:
        mode: see ``Mode``. ``lines`` counts only lines of files for which ``Process.is_traced`` is
            true.
        random: what the moments are drawn from.
    """

    def __init__(self, mode: Mode, random: Random) -> None:
        self.mode = mode
        self.traces = mode == "lines"
        """Whether tasks must be resumed by ``resume``."""
        self.preempted = 0
        """How often a task has been preempted."""
        self._random = random
        self._mean = {"primitives": PRIMITIVE_GAP, "lines": LINE_GAP}.get(mode, 0)
        self._left = self._gap()

    def _gap(self) -> int:
        # Memoryless, so that each operation is as likely as any other; drawn once per preemption.
        return 1 + int(self._random.expovariate(1 / self._mean)) if self._mean else 0

    def at_primitive(self, world: World) -> None:
        """Called by each operation of a lock, clock or socket; may let another task run."""
        task = world.current
        if self.mode == "primitives" and not (task is not None and task.loads):
            self._left -= 1
            if self._left <= 0:
                self._preempt(world)

    def resume(self, task: Task) -> None:
        """Switch to a task, and trace its program's lines until it switches back."""
        is_traced = task.process.is_traced
        if is_traced is None:
            task.greenlet.switch()
            return
        # Trace functions belong to real threads, not to greenlets: this one must be removed again,
        # or it would trace the main loop and other processes as well.
        before = sys.gettrace()
        sys.settrace(self._tracer(task.process.simulator, is_traced))
        try:
            task.greenlet.switch()
        finally:
            sys.settrace(before)

    def _preempt(self, world: World) -> None:
        task = world.current
        # A task that holds a real lock (that of an import, say) must not be preempted. None does
        # here: only simulated primitives and privately loaded files call this.
        if task is not None and not task.process.dead:
            self._left = self._gap()
            self.preempted += 1
            task.pass_on()

    def _tracer(
        self, world: World, is_traced: Callable[[str], bool]
    ) -> Callable[[FrameType, str, Any], Any]:
        def on_line(_frame: FrameType, event: str, _argument: Any) -> Any:
            if event == "line":
                self._left -= 1
                if self._left <= 0:
                    self._preempt(world)
            return on_line

        def on_call(frame: FrameType, _event: str, _argument: Any) -> Any:
            task = world.current
            if task is not None and task.loads:
                return None
            return on_line if is_traced(frame.f_code.co_filename) else None

        return on_call


def mode_of_seed(seed: int) -> Mode:
    """The mode that a seed decides: mostly ``blocking`` or ``primitives``."""
    (mode,) = Random(f"{seed}:preemption mode").choices(MODES, weights=(1, 4, 4, 1))
    return mode
