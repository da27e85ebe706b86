"""``dataclasses`` and ``typing``: annotations in quotes mean names of the process's own modules.

Both look them up in the real ``sys.modules``, where private modules are not. So these are put
there for the duration of a call, in which no other task can run.

``dataclasses`` compiles the methods that it makes, which is most of what a data class costs. The
source is the same in each process, so what was compiled is kept.
"""

import dataclasses
import sys
import typing
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import Runtime


@contextmanager
def _visible(runtime: Runtime, names: Iterable[str]) -> Iterator[None]:
    """Have the real ``sys.modules`` hold the process's modules of these names in the block."""
    own = {name: runtime.modules[name] for name in names if name in runtime.modules}
    real = {name: sys.modules.get(name) for name in own}
    sys.modules.update(own)
    try:
        yield
    finally:
        for name, module in real.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


@lru_cache(maxsize=4096)
def _compiled(source: str) -> CodeType:
    return compile(source, "<string>", "exec", dont_inherit=True)


def _execute(source: str, *namespaces: dict[str, Any]) -> None:
    """As ``exec``."""
    exec(_compiled(source), *namespaces)  # noqa: S102 - as ``dataclasses`` does


@contextmanager
def _compiling_once() -> Iterator[None]:
    """Have the real ``dataclasses`` compile nothing twice in the block."""
    names = vars(dataclasses)
    names["exec"] = _execute
    try:
        yield
    finally:
        names.pop("exec", None)


def build_dataclasses(runtime: Runtime) -> ModuleType:
    """The ``dataclasses`` of a process."""

    def dataclass(cls: type | None = None, /, **options: Any) -> Any:
        def decorate(cls: type) -> type:
            with _visible(runtime, (cls.__module__,)), _compiling_once():
                return dataclasses.dataclass(**options)(cls)

        return decorate if cls is None else decorate(cls)

    return simulated(dataclasses, dataclass=dataclass)


def build_typing(runtime: Runtime) -> ModuleType:
    """The ``typing`` of a process."""
    real: Callable[..., dict[str, Any]] = typing.get_type_hints

    def get_type_hints(obj: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
        kinds = obj.__mro__ if isinstance(obj, type) else ()
        with _visible(runtime, {kind.__module__ for kind in kinds}):
            return real(obj, *arguments, **options)

    return simulated(typing, get_type_hints=get_type_hints)
