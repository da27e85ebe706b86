"""Preemption: when tasks may be interrupted although they do not block.

Greenlets switch only where they are told to. What threads could do to each other between two
blocking calls shows when they also switch at operations of primitives, or at any line.
"""

import sys
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any, Literal

from rumpus.simulation.kernel.process import Task, World

Mode = Literal["none", "blocking", "primitives", "lines"]
"""``none``: who became ready first runs first, until it blocks. ``blocking``: until it blocks, then
anyone. ``primitives``: also at random operations of locks, clocks and sockets. ``lines``: also at
random lines of the programs under test (``sys.settrace``; about twice as slow)."""

MODES: tuple[Mode, ...] = ("none", "blocking", "primitives", "lines")

PRIMITIVE_GAP = 20
"""Mean number of primitive operations between two preemptions."""
LINE_GAP = 200
"""Mean number of lines between two preemptions."""


class Preemption:
    """Draws the moments of preemption from a world's seed.

    Args:
        mode: see ``Mode``. For ``lines`` those lines count that ``Process.is_traced`` names.
        random: where the moments come from.
    """

    def __init__(self, mode: Mode, random: Random) -> None:
        self.mode = mode
        self.traces = mode == "lines"
        """Whether tasks must be resumed by ``resume``."""
        self.preempted = 0
        """How often a task was made to pass on."""
        self._random = random
        self._mean = {"primitives": PRIMITIVE_GAP, "lines": LINE_GAP}.get(mode, 0)
        self._left = self._gap()

    def _gap(self) -> int:
        # Geometric, so that no operation is privileged; drawn once for each preemption.
        return 1 + int(self._random.expovariate(1 / self._mean)) if self._mean else 0

    def at_primitive(self, world: World) -> None:
        """Called by each primitive operation of a task; may yield."""
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
        # Trace functions belong to real threads, not to greenlets: this one is to see nothing of
        # the main loop, nor of other processes.
        before = sys.gettrace()
        sys.settrace(self._tracer(task.process.simulator, is_traced))
        try:
            task.greenlet.switch()
        finally:
            sys.settrace(before)

    def _preempt(self, world: World) -> None:
        task = world.current
        # A task that holds a lock of the real world (an import, say) must not be left: none do,
        # for only the simulated primitives and private files come here.
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
    """The mode of a world whose schedule is to be drawn too: mostly one of the two cheap ones."""
    (mode,) = Random(f"{seed}:preemption mode").choices(MODES, weights=(1, 4, 4, 1))
    return mode
