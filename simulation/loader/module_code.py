"""A cache of compiled modules for all simulated processes: each executes a copy of its own."""

import ast
import importlib
import sys
import warnings
from importlib.machinery import (
    ExtensionFileLoader,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from importlib.util import spec_from_file_location
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
    spec = find_source(name, path)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    found = _cache[key] = _compile(spec)
    return found


def find_source(name: str, path: tuple[str, ...]) -> ModuleSpec | None:
    """Where a module is, without importing its parent package; None if there is none.

    A module that the real process has imported already is found by its file, if not by its name:
    test modules need not be on the path.
    """
    spec = _find(name, path)
    if spec is None:
        importlib.invalidate_caches()  # the file may be newer than the cached listing
        spec = _find(name, path)
    if (spec is None or not _is_from_source(spec)) and _is_of_imported_parent(name, path):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None and file.endswith(".py"):
            # Its own loader may have changed it, as pytest's does.
            loader = SourceFileLoader(name, file)
            places = getattr(sys.modules[name], "__path__", None)
            found = spec_from_file_location(
                name, file, loader=loader, submodule_search_locations=places and list(places)
            )
            return found or spec
    return spec


def _is_of_imported_parent(name: str, path: tuple[str, ...]) -> bool:
    """Whether a module belongs to the package that the real process has imported, if to any.

    Another version of that package may lie at ``path``, and lack a module that this one has.
    """
    parent = sys.modules.get(name.rpartition(".")[0])
    return parent is None or tuple(getattr(parent, "__path__", ())) == path


def _is_from_source(spec: ModuleSpec) -> bool:
    return spec.loader is None or type(spec.loader) in (SourceFileLoader, ExtensionFileLoader)


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
        source = spec.loader.get_data(spec.origin)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python has warned when it made the bytecode
            tree = ast.parse(source, spec.origin)
            code = compile(order_sets(tree, source), spec.origin, "exec", dont_inherit=True)
    return ModuleCode(spec, code, places)
