"""Modules that would leave the world: they can be imported, but what they do ends the run.

Exceptions and constants are the real ones, so that code which only mentions them runs. A few
functions that programs call without meaning to leave the world have an answer.
"""

import importlib
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, Final, NoReturn

from rumpus.simulation.loader.refusals import refuse
from rumpus.simulation.loader.runtime import CPU_COUNT, Runtime

REFUSED: Final = frozenset(
    {
        # of the standard library
        "multiprocessing", "pty", "subprocess", "tempfile",
        # event loops in C, which wait in the operating system
        "eventlet", "gevent", "uvloop",
    }
)  # fmt: skip

ABSENT: Final = frozenset({"_asyncio", "_pickle"})
"""Accelerators in C, which a private copy of the module must do without: they keep the running
event loop for each real thread, or look for classes among the real modules. Importing one fails,
and the pure Python module uses its own code, as where there is no accelerator."""


def refusing(runtime: Runtime, what: str) -> Callable[..., NoReturn]:
    """A function in whose place the real one would leave the world: it ends the world.

    Args:
        runtime: of the process.
        what: the name of the real one, for the message.
    """

    def call(*_: object, **__: object) -> NoReturn:
        refuse(
            runtime.simulator,
            what,
            ", which cannot be simulated (threads, asyncio, TCP sockets, pipes and time can)",
        )

    return call


class _Refused(ModuleType):
    def __init__(self, runtime: Runtime, name: str) -> None:
        super().__init__(name)
        self._runtime = runtime
        if name == "multiprocessing":
            self.__dict__.update(_of_multiprocessing(runtime))

    def __getattr__(self, name: str) -> Any:
        full_name = f"{self.__name__}.{name}"
        try:
            value = getattr(importlib.import_module(self.__name__), name)
        except AttributeError:
            message = f"module {self.__name__!r} has no attribute {name!r}"
            raise AttributeError(message) from None
        if isinstance(value, ModuleType):
            value = _Refused(self._runtime, full_name)
        elif isinstance(value, type):
            if not issubclass(value, BaseException):
                # May be derived from.
                value = type(name, (), {"__new__": refusing(self._runtime, full_name)})
        elif callable(value):
            value = refusing(self._runtime, full_name)
        setattr(self, name, value)
        return value


def _of_multiprocessing(runtime: Runtime) -> dict[str, Any]:
    """What a program with one process asks; ``logging`` asks for the name in every record."""
    main = SimpleNamespace(
        name="MainProcess", pid=runtime.process.pid, ident=runtime.process.pid, daemon=False
    )
    return {
        "active_children": list,
        "cpu_count": lambda: CPU_COUNT,
        "current_process": lambda: main,
        "freeze_support": lambda: None,
        "parent_process": lambda: None,
    }


def refused(runtime: Runtime, name: str) -> ModuleType | None:
    """The module in whose place this one would leave the world; None: it does not.

    Raises:
        ImportError: there is no such module, or not for simulated processes.
    """
    if name in ABSENT:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    if name.partition(".")[0] not in REFUSED:
        return None
    importlib.import_module(name)
    return _Refused(runtime, name)
