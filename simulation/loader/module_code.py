"""A cache of compiled modules for all simulated processes: each executes a copy of its own.

Modules whose sets are made ordered are compiled by us, which takes most of the time of a first run.
Their bytecode is kept beside Python's own, in ``__pycache__``, as Python keeps its own: it is valid
for a source file of the same time and size, and is not written if ``sys.dont_write_bytecode`` is
set (``PYTHONDONTWRITEBYTECODE``).
"""

import ast
import importlib
import marshal
import sys
import warnings
from functools import cache, lru_cache
from importlib.machinery import (
    ExtensionFileLoader,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from importlib.util import MAGIC_NUMBER, cache_from_source, spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import NamedTuple
from zlib import crc32

from rumpus.simulation.loader import set_literals
from rumpus.simulation.loader.set_literals import may_make_sets, order_sets


class ModuleCode(NamedTuple):
    """What is needed to execute a module again, for another copy."""

    spec: ModuleSpec
    code: CodeType | None
    """None: a namespace package, which has no code."""
    locations: list[str] | None
    """Where a package's submodules are; None if it is no package."""


_cache: dict[tuple[str, tuple[str, ...]], ModuleCode | None] = {}


def module_code(name: str, path: tuple[str, ...], source: str | None = None) -> ModuleCode | None:
    """The code of a module, changed so that its sets keep the order of insertion.

    Unlike ``importlib.util.find_spec`` this does not import the parent package. Each file is read
    and compiled once in the real (not simulated) process.

    Args:
        name: its full name.
        path: directories to look in, in order: the parent package's, or ``sys.path``.
        source: taken in place of what its file says.

    Returns:
        None if the module is not made from a source file (extension modules, built-in ones).

    Raises:
        ModuleNotFoundError: there is no module of that name.
    """
    if source is not None:
        return _patched_code(name, path, source)
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


@lru_cache(64)
def _patched_code(name: str, path: tuple[str, ...], source: str) -> ModuleCode | None:
    spec = find_source(name, path)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise ModuleNotFoundError(f"No module named {name!r} to be patched", name=name)
    locations = spec.submodule_search_locations
    places = None if locations is None else list(locations)
    return ModuleCode(spec, _compiled(source.encode(), spec.origin), places)


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
        code = _with_ordered_sets(spec.loader, spec.origin)
    return ModuleCode(spec, code, places)


def _with_ordered_sets(loader: SourceFileLoader, file: str) -> CodeType:
    """The code of a source file with ordered sets, from ``__pycache__`` if it is there."""
    kept = cache_from_source(file, optimization=_tag())
    header = _header(loader, file)
    if (code := _kept_code(kept, header, file)) is not None:
        return code
    made = _compiled(loader.get_data(file), file)
    if not sys.dont_write_bytecode:
        # Whole or not at all; where the directory cannot be written, it does nothing.
        loader.set_data(kept, header + marshal.dumps(made))
    return made


def _compiled(source: bytes, file: str) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns when it makes the bytecode of the file
        tree = ast.parse(source, file)
        made: CodeType = compile(order_sets(tree, source), file, "exec", dont_inherit=True)
    return made


@cache
def _tag() -> str:
    """What the names of files of bytecode have in common; another one if the rewriting changes."""
    return f"orderedsets{crc32(Path(set_literals.__file__).read_bytes()):08x}"


def _header(loader: SourceFileLoader, file: str) -> bytes:
    """The first 16 bytes of a file of bytecode, as Python's own (PEP 552): from what it is made."""
    about = loader.path_stats(file)
    numbers = 0, int(about["mtime"]), int(about["size"])
    return MAGIC_NUMBER + b"".join((each & 0xFFFFFFFF).to_bytes(4, "little") for each in numbers)


def _kept_code(path: str, header: bytes, file: str) -> CodeType | None:
    """Code that was kept for a source file; None if there is none, or of another state of it."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    if not content.startswith(header):
        return None
    try:
        code = marshal.loads(content[len(header) :])  # noqa: S302 - as trusted as Python's own
    except (EOFError, ValueError, TypeError):
        return None
    # The name of a file that was moved together with its bytecode would be wrong in tracebacks,
    # and preemption at lines goes by it.
    return code if isinstance(code, CodeType) and code.co_filename == file else None
