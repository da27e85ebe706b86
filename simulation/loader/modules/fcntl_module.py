"""``fcntl``, for simulated descriptors; real ones are passed on to the real module."""

import fcntl
from types import ModuleType
from typing import Any

from rumpus.simulation.loader.modules.descriptor import FIRST_NUMBER
from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import Runtime


def build(runtime: Runtime) -> ModuleType:
    """The ``fcntl`` of a process: flags of simulated descriptors are 0 and stay so."""

    def fcntl_(fd: Any, cmd: int, arg: Any = 0, /) -> Any:
        number = fd if isinstance(fd, int) else fd.fileno()
        if number < FIRST_NUMBER:
            return fcntl.fcntl(number, cmd, arg)
        runtime.files.find(number)
        return 0

    return simulated(fcntl, fcntl=fcntl_)
