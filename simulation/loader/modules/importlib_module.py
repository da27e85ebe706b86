"""What a process finds by name: ``importlib`` its own modules, ``ctypes.util`` no C library.

A C library would be called with numbers of simulated threads and files, and crash.
"""

import ctypes
import ctypes.util
import importlib
from importlib.util import resolve_name
from types import ModuleType
from typing import Any

from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import Runtime


class _ImportLibrary(ModuleType):
    """Looks up in the real module whatever it lacks: its submodules come with their import."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib, name)


def build(runtime: Runtime) -> ModuleType:
    """The ``importlib`` of a process."""

    def import_module(name: str, package: str | None = None) -> Any:
        if name.startswith(".") and not package:
            raise TypeError(
                f"the 'package' argument is required to perform a relative import for {name!r}"
            )
        return runtime.load(resolve_name(name, package))

    module = _ImportLibrary("importlib")
    module.__path__ = importlib.__path__
    module.__dict__["import_module"] = import_module
    return module


def build_ctypes(_: Runtime) -> ModuleType:
    """The ``ctypes`` of a process."""
    return simulated(ctypes, util=simulated(ctypes.util, find_library=lambda _: None))


def build_ctypes_util(runtime: Runtime) -> ModuleType:
    """The ``ctypes.util`` of a process."""
    util: ModuleType = runtime.load("ctypes").util
    return util
