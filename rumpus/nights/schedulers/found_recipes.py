"""Finds classes of a project that look like recipes, without importing anything.

They are a first guess for a project that names none: what has ``acquire`` and ``release`` is put on
trial as a lock, what has ``campaign`` and ``resign`` as an election.
"""

import ast
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from rumpus.nights.sources import parsed

SIGNS: Final[Mapping[str, frozenset[str]]] = {
    "lock": frozenset({"acquire", "release"}),
    "election": frozenset({"campaign", "resign"}),
}
"""Workload -> the methods by which its recipes are known."""

DEPTH: Final = 3
"""How many folders deep modules are looked for."""

_NOT_IN: Final = frozenset({"tests", "test", "docs", "build", "dist", "node_modules", "runs"})


class FoundRecipe(NamedTuple):
    """A class that looks like a recipe: its workload, and its reference."""

    workload: str
    reference: str


def found_recipes(project: Path) -> list[FoundRecipe]:
    """The classes below a directory, and below its folder ``src``, in order of their references.

    A class counts if it has the methods itself, and its ``__init__`` takes a client and a path.
    """
    found: set[FoundRecipe] = set()
    for root in (project / "src", project):
        for path in _modules(root):
            if root == project and path.is_relative_to(project / "src"):
                continue
            parts = path.relative_to(root).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if all(part.isidentifier() for part in module.split(".")):
                found |= {FoundRecipe(kind, f"{module}:{name}") for kind, name in _classes(path)}
    return sorted(found, key=lambda each: each.reference)


def _modules(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        depth = len(here.relative_to(root).parts)
        folders[:] = [
            name
            for name in sorted(folders)
            if depth < DEPTH and name not in _NOT_IN and not name.startswith((".", "_", "venv"))
        ]
        if "pyvenv.cfg" in files:
            folders[:] = []
            continue
        for name in sorted(files):
            if name.endswith(".py") and not name.startswith(("test_", "conftest", "setup.")):
                yield here / name


def _classes(path: Path) -> Iterator[tuple[str, str]]:
    """Workloads and names of a module's classes that look like recipes."""
    tree = parsed(path)
    for node in () if tree is None else tree.body:  # whoever runs it will be told
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
        for workload, signs in SIGNS.items():
            if signs <= methods.keys() and _takes_client_and_path(methods.get("__init__")):
                yield workload, node.name


def _takes_client_and_path(method: ast.FunctionDef | None) -> bool:
    if method is None:
        return False
    given = method.args.posonlyargs + method.args.args
    needed = len(given) - len(method.args.defaults)
    return len(given) >= 3 >= needed


def night_file_for(recipes: list[FoundRecipe]) -> str:
    """The text of a night's file that puts these recipes on trial."""
    lines = [
        "# What `rumpus nightly` runs here: see docs/how-to/nights.md of rumpus.",
        'budget = "30m"',
    ]
    for workload in dict.fromkeys(each.workload for each in recipes):
        names = ", ".join(f'"{each.reference}"' for each in recipes if each.workload == workload)
        lines += [
            "",
            "[[jobs]]",
            f'workloads = ["{workload}"]',
            f"recipes = [{names}]",
            'worlds = ["sim"]  # "docker" adds real servers: the machine needs a Docker engine',
        ]
    return "\n".join([*lines, ""])
