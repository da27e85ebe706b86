"""The source files of a recipe, and their digest: whether it has changed since it was last run.

Nothing is imported for that: names of modules are looked up as files, below some folders.
"""

import ast
import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rumpus.checker.untrusted_file import UnfitFile, read_regular

LONGEST_SOURCE: Final = 1 << 23
"""Bytes of a module that is read for its names."""

DIGITS: Final = 12


def source_files(module: str, roots: Sequence[Path], within: str = "") -> list[Path]:
    """The file of a module, and those of all modules that it imports; sorted.

    Args:
        module: its name, with dots.
        roots: folders in which modules are found; what is found in none of them is left out.
        within: how the names of modules begin that are followed.
    """
    found: set[Path] = set()
    left = [module]
    while left:
        for name, path in _files(left.pop(), roots):
            if not name.startswith(within):
                continue
            if path not in found:
                found.add(path)
                left += imported(path, _package(name, path))
    return sorted(found)


def digest(files: Sequence[Path], versions: Mapping[str, str]) -> str:
    """A digest of files' content and of the versions of what they use.

    A file that cannot be read counts as empty: whoever imports it will say what is wrong.
    """
    made = hashlib.sha256()
    for path in files:
        made.update(path.name.encode() + b"\0")
        try:
            made.update(path.read_bytes())
        except OSError:
            continue
    for name, version in sorted(versions.items()):
        made.update(f"\0{name} {version}".encode())
    return made.hexdigest()[:DIGITS]


def _files(module: str, roots: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """A module's name and file, and those of the packages around it, which are imported first."""
    parts = module.split(".")
    for root in roots:
        for depth in range(1, len(parts)):
            package = root.joinpath(*parts[:depth], "__init__.py")
            if package.is_file():
                yield ".".join(parts[:depth]), package
        place = root.joinpath(*parts)
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                yield module, path
                return


def _package(module: str, path: Path) -> str:
    """The package in which the module's relative imports begin."""
    return module if path.name == "__init__.py" else module.rpartition(".")[0]


def parsed(path: Path) -> ast.Module | None:
    """The syntax tree of a file; None if it is no Python that Python itself would take."""
    try:
        return ast.parse(read_regular(path, LONGEST_SOURCE))
    except (OSError, UnfitFile, SyntaxError, ValueError):
        return None
    except (RecursionError, MemoryError):  # Python says one or the other of what is nested deeply
        return None


@functools.lru_cache(4096)
def imported(path: Path, package: str) -> Sequence[str]:
    """Names of modules that a file imports, wherever in it; a file that is no Python has none.

    Args:
        path: the file.
        package: in which its relative imports begin.
    """
    tree = parsed(path)
    names: list[str] = []
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".") if package else []
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join([*parts, *([node.module] if node.module else [])])
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(filter(None, names))
