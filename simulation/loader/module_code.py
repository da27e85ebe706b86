"""A cache of compiled modules for all simulated processes: each executes a copy of its own."""

import ast
import importlib
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import NamedTuple

from rumpus.simulation.loader.set_literals import may_make_sets, order_sets


class ModuleCode(NamedTuple):
    """What is needed to execute a module again, for another copy."""

    spec: ModuleSpec
    code: CodeType | None
    """None: a namespace package, which has no code."""
    locations: list[str] | None
    """Where a package's submodules are; None if it is no package."""


_cache: dict[tuple[str, tuple[str, ...]], ModuleCode | None] = {}


def module_code(name: str, path: tuple[str, ...]) -> ModuleCode | None:
    """The code of a module, changed so that its sets keep the order of insertion.

    Unlike ``importlib.util.find_spec`` this does not import the parent package. Each file is read
    and compiled once in the real (not simulated) process.

    Args:
        name: its full name.
        path: directories to look in, in order: the parent package's, or ``sys.path``.

    Returns:
        None if the module is not made from a source file (extension modules, built-in ones).

    Raises:
        ModuleNotFoundError: there is no module of that name.
    """
    key = name, path
    try:
        return _cache[key]
    except KeyError:
        pass
    spec = _find(name, path)
    if spec is None:
        importlib.invalidate_caches()  # the file may be newer than the cached listing
        spec = _find(name, path)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    found = _cache[key] = _compile(spec)
    return found


def _find(name: str, path: tuple[str, ...]) -> ModuleSpec | None:
    spec = PathFinder.find_spec(name, path)
    if spec is None and "." not in name:
        # Editable installations add finders of their own.
        for finder in sys.meta_path:
            spec = finder.find_spec(name, None)
            if spec is not None:
                break
    return spec


def _compile(spec: ModuleSpec) -> ModuleCode | None:
    locations = spec.submodule_search_locations
    places = None if locations is None else list(locations)
    if spec.loader is None:
        return ModuleCode(spec, None, places)
    if not isinstance(spec.loader, SourceFileLoader) or spec.origin is None:
        return None
    # Python's cached bytecode costs next to nothing. It will do where no sets are made.
    code = spec.loader.get_code(spec.name)
    if code is not None and may_make_sets(code):
        tree = ast.parse(spec.loader.get_data(spec.origin), spec.origin)
        code = compile(order_sets(tree), spec.origin, "exec", dont_inherit=True)
    return ModuleCode(spec, code, places)
