"""``sys``: modules, streams and command line of the process; all else is the real one's."""

import sys
from types import ModuleType
from typing import Any

from rumpus.simulation.loader.runtime import Runtime


class _System(ModuleType):
    """Looks up in the real module whatever it lacks, as that changes in the course of time."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


def build(runtime: Runtime) -> ModuleType:
    """The ``sys`` of a process."""
    module = _System("sys")
    module.__dict__.update(modules=runtime.modules, argv=runtime.argv)
    if runtime.stdout is not None:
        module.__dict__["stdout"] = runtime.stdout
    if runtime.stderr is not None:
        module.__dict__["stderr"] = runtime.stderr
    return module
