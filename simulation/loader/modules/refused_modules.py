"""Modules that would leave the world: they can be imported, but what they do is refused.

Exceptions and constants are the real ones, so that code which only mentions them runs.
"""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, NoReturn

from rumpus.simulation.loader.guards import Forbidden, culprit

REFUSED: Final = (
    "asyncio",
    "multiprocessing",
    "pty",
    "subprocess",
    "tempfile",
)


def refusing(what: str) -> Callable[..., NoReturn]:
    """A function in whose place the real one would leave the world."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise Forbidden(
            f"{culprit()} calls {what}, which is not simulated: in a simulated process threads, "
            "sockets, pipes and time are, everything outside of it is out of reach"
        )

    return refuse


class _Refused(ModuleType):
    def __getattr__(self, name: str) -> Any:
        full_name = f"{self.__name__}.{name}"
        try:
            value = getattr(importlib.import_module(self.__name__), name)
        except AttributeError:
            message = f"module {self.__name__!r} has no attribute {name!r}"
            raise AttributeError(message) from None
        if isinstance(value, ModuleType):
            return _Refused(full_name)
        if isinstance(value, type):
            if issubclass(value, BaseException):
                return value
            return type(name, (), {"__new__": refusing(full_name)})  # may be derived from
        return refusing(full_name) if callable(value) else value


def refused(name: str) -> ModuleType | None:
    """The module in whose place this one would leave the world; None: it does not.

    Raises:
        ImportError: there is no such module.
    """
    if name.partition(".")[0] not in REFUSED:
        return None
    importlib.import_module(name)
    return _Refused(name)
