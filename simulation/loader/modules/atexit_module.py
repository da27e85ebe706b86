"""``atexit``: called when the process ends in an orderly way; not when it is killed."""

import atexit
from collections.abc import Callable
from types import ModuleType
from typing import Any

from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import Runtime


def build(runtime: Runtime) -> ModuleType:
    """The ``atexit`` of a process."""
    at_exit = runtime.at_exit

    def register(function: Callable[..., object], *args: Any, **kwargs: Any) -> object:
        at_exit.append((function, args, kwargs))
        return function

    def unregister(function: Callable[..., object]) -> None:
        at_exit[:] = [entry for entry in at_exit if entry[0] != function]

    return simulated(atexit, register=register, unregister=unregister)
