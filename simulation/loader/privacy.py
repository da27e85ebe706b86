"""Which packages a simulated process gets its own copy of, found without a list.

A package that starts threads, tells time, draws random numbers or opens sockets must be private to
each simulated process, and so must every package that imports it. That is decided by what the
files of the package import. A user's own code (all that is not installed in ``site-packages``) is
always private: its module globals belong to one process. Of the standard library, modules are
private that themselves import such things. Not private are

- packages with compiled extension modules: Python loads these once in a process;
- tools that run tests, which a test module imports beside what it tests;
- ``SHARED_OF_LIBRARY``.

What stays shared and uses real time, threads or the like nevertheless is stopped by ``guards``.
"""

import re
import sys
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Final

from rumpus.simulation.loader.module_code import find_source

WORLDLY: Final = frozenset(
    {
        "_thread", "asyncio", "concurrent", "datetime", "logging", "queue", "random", "sched",
        "secrets", "select", "selectors", "signal", "socket", "socketserver", "ssl", "subprocess",
        "threading", "time", "uuid",
    }
)  # fmt: skip
"""Modules of the standard library by which a program sees time, threads, chance or other hosts."""

HOSTS: Final = frozenset({"asyncio", "select", "selectors", "socket", "socketserver", "ssl"})
"""Those of them by which it sees other hosts."""

PRIVATE_OF_LIBRARY: Final = frozenset({"_weakrefset", "pickle", "weakref"})
"""Modules of the standard library that are private for another reason: they make sets, or look for
a program's classes among the modules."""

SHARED_OF_LIBRARY: Final = frozenset(
    {
        "_strptime",  # C code imports it, and looks for it among the real modules
        "email",  # only dates and message ids depend on time and chance, and it is slow to load
        "functools",  # only ``cached_property`` has a lock, and Python 3.12 did away with that
        "hashlib",
        "pprint",
        "reprlib",
        "zoneinfo",  # its C part raises the exceptions of its Python part
    }
)
"""Modules of the standard library that are shared although they import something worldly."""

TEST_TOOLS: Final = frozenset(
    {"_pytest", "hypothesis", "pluggy", "py", "pytest", "unittest", "xdist"}
)

_NAMES: Final = rb"[\w.]+(?:[ \t]*,[ \t]*[\w.]+)*"
_IMPORTS: Final = re.compile(
    rb"^[ \t]*(?:import[ \t]+(" + _NAMES + rb")|from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?[ \t]*("
    rb"\w+(?:[ \t]*,[ \t]*\w+)*)?)",
    re.MULTILINE,
)
_INSTALLED: Final = ("site-packages", "dist-packages")


@cache
def is_private_package(name: str, path: tuple[str, ...]) -> bool:
    """Whether each simulated process gets its own copy of a top-level package or module.

    Args:
        name: its name, without dots.
        path: directories to look in: ``sys.path``.
    """
    return _is_private(name, path, frozenset())


def _is_private(name: str, path: tuple[str, ...], above: frozenset[str]) -> bool:
    if name in TEST_TOOLS or name == "rumpus":
        return False
    if name in sys.stdlib_module_names:
        return name in PRIVATE_OF_LIBRARY or (
            name not in SHARED_OF_LIBRARY and _of_library(name, path)
        )
    files = _files_of(name, path)
    if not files or _are_compiled(files):
        return False
    if not any(place in files[0].parts for place in _INSTALLED):
        return True
    imported = _imported(tuple(files))
    tops = _tops(imported)
    if tops & WORLDLY:
        return True
    others = tops - above - {name, ""} - sys.stdlib_module_names
    return any(_is_private(other, path, above | {name}) for other in sorted(others)) or any(
        _is_worldly_module(module, path)
        for module in sorted(imported)
        if module.partition(".")[0] in sys.stdlib_module_names - SHARED_OF_LIBRARY
    )


def _of_library(name: str, path: tuple[str, ...]) -> bool:
    """Whether a package of the standard library is private: if any of its modules is worldly."""
    files = _files_of(name, path)
    if not files or _are_compiled(files):
        return False
    return bool(_tops(_imported(tuple(files))) & WORLDLY)


@cache
def _is_worldly_module(name: str, path: tuple[str, ...]) -> bool:
    """Whether one module of the standard library, such as ``urllib.request``, is worldly.

    It is if it imports such a module, or one that opens sockets (``wsgiref.simple_server`` does).
    """
    imported = _imported_by_module(name, path)
    return bool(_tops(imported) & WORLDLY) or any(
        _tops(_imported_by_module(each, path)) & HOSTS
        for each in sorted(imported)
        if each.partition(".")[0] in sys.stdlib_module_names
    )


def _tops(names: frozenset[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def _imported_by_module(name: str, path: tuple[str, ...]) -> frozenset[str]:
    """What one module of the standard library imports; nothing if there is no such source file."""
    top, _, rest = name.partition(".")
    found = find_source(top, path)
    if rest:
        places = found.submodule_search_locations if found is not None else None
        if places is None or "." in rest:
            return frozenset()
        found = find_source(name, tuple(places))
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        return frozenset()
    return _imported((Path(found.origin),))


def _are_compiled(files: list[Path]) -> bool:
    return any(file.name.endswith(tuple(EXTENSION_SUFFIXES)) for file in files)


@cache
def _imported(files: tuple[Path, ...]) -> frozenset[str]:
    """The full names of what files import; of ``from a import b``, both ``a`` and ``a.b``."""
    names = set()
    for file in files:
        for match in _IMPORTS.finditer(file.read_bytes()):
            if match[1] is not None:
                names |= {name.strip() for name in match[1].decode().split(",")}
                continue
            place = match[2].decode()
            names.add(place)
            names |= {f"{place}.{name.strip()}" for name in (match[3] or b"").decode().split(",")}
    return frozenset(names)


def _files_of(name: str, path: tuple[str, ...]) -> list[Path]:
    """The source files and extension modules of a package, or the one file of a module."""
    found = find_source(name, path)
    if found is None:
        return []
    if found.submodule_search_locations is None:
        if found.origin is None or not found.has_location:
            return []
        return [Path(found.origin)]
    suffixes = (".py", *EXTENSION_SUFFIXES)
    return [
        file
        for place in found.submodule_search_locations
        for file in sorted(Path(place).rglob("*"))
        if file.name.endswith(suffixes)
    ]
