"""``collections``: each ``namedtuple`` class is made once and then shared by all processes.

Making one compiles code, which is most of what loading kazoo would cost. The classes are the
same for the same arguments, and programs that add to one derive a class of their own from it.
"""

import collections
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import Runtime

_classes: dict[tuple[Any, ...], type] = {}


def _namedtuple(
    typename: str,
    field_names: str | Iterable[str],
    *,
    rename: bool = False,
    defaults: Iterable[Any] | None = None,
    module: str | None = None,
) -> Any:
    fields = field_names if isinstance(field_names, str) else tuple(map(str, field_names))
    if module is None:
        module = sys._getframe(1).f_globals.get("__name__", "__main__")  # noqa: SLF001 - as there
    make: Any = collections.namedtuple  # noqa: PYI024 - it is what is made here
    if defaults is not None:  # values, which may be anything: not to be shared
        return make(typename, fields, rename=rename, defaults=defaults, module=module)
    key = typename, fields, rename, module
    made = _classes.get(key)
    if made is None:
        made = _classes[key] = make(typename, fields, rename=rename, module=module)
    return made


def build(_: Runtime) -> ModuleType:
    """The ``collections`` of a process."""
    return simulated(collections, namedtuple=_namedtuple)
