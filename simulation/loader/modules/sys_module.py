"""``sys``: modules, streams and command line of the process; all else is the real one's."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rumpus.simulation.loader.space import Space


class _System(ModuleType):
    """Looks up in the real module whatever it lacks, as that changes in the course of time."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


def build(space: "Space") -> ModuleType:
    """The ``sys`` of a process."""
    module = _System("sys")
    module.__dict__.update(modules=space.modules, argv=space.argv)
    if space.stdout is not None:
        module.__dict__["stdout"] = space.stdout
    if space.stderr is not None:
        module.__dict__["stderr"] = space.stderr
    return module
