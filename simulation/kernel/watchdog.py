"""A watchdog for tasks that compute for ever, and for worlds that take all memory or time."""

import ctypes
import math
import os
import threading
from collections.abc import Callable
from time import process_time
from types import TracebackType
from typing import TYPE_CHECKING, Final, ParamSpec, Self, TypeVar

from rumpus.simulation.kernel.errors import Hung, OutOfMemory, OutOfTime

if TYPE_CHECKING:
    from rumpus.simulation.kernel.simulator import Simulator

_P = ParamSpec("_P")
_T = TypeVar("_T")

LOOK_S: Final = 0.02
"""How often memory is looked at. A world that starts a hundred clients takes 2 MB meanwhile."""

AGAIN_S: Final = 1.0
"""How long a world is given to end before it is told once more: a program may have caught it."""


class Watchdog:
    """Interrupts a world from another real thread.

    A loop that polls a variable would otherwise stop the world for good; so ``Hung`` is raised in
    the real thread that made this object, wherever that thread is; the traceback names the line.
    Only processor time of this real process counts, so a busy or suspended machine does not
    trigger it.

    A greenlet that gets no memory ends the real process, and a task that gets none may go on
    without; so ``OutOfMemory`` is raised likewise while there is some left.

    Args:
        simulator: the world.
        patience: seconds of processor time without a step or event.
        scarce: whether hardly any memory is left, asked often; None: there is no limit.
        longest: seconds of processor time after which the world is ended (``OutOfTime``).
    """

    def __init__(
        self,
        simulator: "Simulator",
        patience: float = 20.0,
        scarce: Callable[[], bool] | None = None,
        longest: float = math.inf,
    ) -> None:
        self._simulator = simulator
        self._patience = patience
        self._scarce = scarce
        self._end = process_time() + longest
        self._over = threading.Event()
        self._watched = threading.get_ident()

    def __enter__(self) -> Self:
        self._start()
        return self

    def _start(self) -> None:
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def kept(self, function: Callable[_P, _T]) -> Callable[_P, _T]:
        """A function that may fork this real process; the child has a watchdog, too."""

        def call(*arguments: _P.args, **keywords: _P.kwargs) -> _T:
            done = function(*arguments, **keywords)
            if os.getpid() != self._process:
                self._start()
            return done

        return call

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        seen, since = -1, 0.0
        pause = min(self._patience / 4, AGAIN_S) if self._scarce is None else LOOK_S
        while not self._over.wait(pause):
            scarce = self._scarce is not None and self._scarce()
            if scarce or process_time() >= self._end:
                self._raise(OutOfMemory if scarce else OutOfTime)
                self._over.wait(AGAIN_S)
                continue
            done = self._simulator.steps + self._simulator.events
            spent = process_time()
            if done != seen:
                seen, since = done, spent
            elif spent - since >= self._patience and self._simulator.current is not None:
                self._raise(Hung)
                since = spent  # the next task may hang as well, or this one catch it

    def _raise(self, error: type[BaseException]) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self._watched), ctypes.py_object(error)
        )
