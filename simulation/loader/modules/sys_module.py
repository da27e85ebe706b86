"""``sys``: modules, import hooks, streams, command line and hooks of the process; else the real."""

import sys
from types import ModuleType
from typing import Any

from rumpus.simulation.loader.runtime import AsyncGeneratorHooks, Runtime


class _System(ModuleType):
    """Looks up in the real module whatever it lacks, as that changes in the course of time."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


def build(runtime: Runtime) -> ModuleType:
    """The ``sys`` of a process."""
    hooks = runtime.generator_hooks

    def get_asyncgen_hooks() -> AsyncGeneratorHooks:
        return hooks.get(runtime.simulator.current, AsyncGeneratorHooks())

    def set_asyncgen_hooks(*arguments: Any, **named: Any) -> None:
        task = runtime.simulator.current
        given = dict(zip(AsyncGeneratorHooks._fields, arguments, strict=False)) | named
        hooks[task] = get_asyncgen_hooks()._replace(**given)
        if hooks[task] == AsyncGeneratorHooks():
            del hooks[task]

    module = _System("sys")
    module.__dict__.update(
        modules=runtime.modules,
        argv=runtime.argv,
        get_asyncgen_hooks=get_asyncgen_hooks,
        set_asyncgen_hooks=set_asyncgen_hooks,
        meta_path=[*sys.meta_path],  # import hooks of the process are not those of the real one
    )
    if runtime.stdout is not None:
        module.__dict__["stdout"] = runtime.stdout
    if runtime.stderr is not None:
        module.__dict__["stderr"] = runtime.stderr
    return module
