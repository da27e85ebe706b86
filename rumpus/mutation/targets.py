"""Whose source is mutated: a recipe's, as far as it is what is on trial.

Of a recipe of rumpus these are all modules of recipes that it is made of, and of kazoo's recipes
the module that it adapts. Of a recipe of the user's own, its module and those that this imports
from the same package. Modules that clients and checks share are left out: they hold no recipe.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rumpus.harness.simulated.workers import SHARED
from rumpus.nights.sources import imported
from rumpus.project_names import Names, source_of
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.runs.performing import find_recipe, known_workload
from rumpus.runs.run_settings import RunSettings
from rumpus.usage_error import UsageError
from rumpus.workloads.own.references import is_reference

_RECIPES: Final = "rumpus.recipes"
_KAZOO: Final = "kazoo.recipe"
_NO_RECIPES: Final = ("faulty_", "published_", "catalogue", "common_mutants", "mistake")
"""How the names of modules begin that have other mistakes, or lists."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A module whose source is mutated.

    Attributes:
        name: the module's.
        file: its source.
        is_package: whether it is the module of a package.
    """

    name: str
    file: Path
    is_package: bool


def recipes_of(settings: RunSettings) -> Sequence[str]:
    """The recipes on trial: the one that is asked for, else all of the workload's that are sound.

    Raises:
        UsageError: there is no such workload.
    """
    workload = known_workload(settings.workload)
    if settings.recipe is not None:
        return [settings.recipe]
    return [
        name
        for name, entry in workload.catalogue.items()
        if not (isinstance(entry, CatalogueEntry) and entry.faulty)
    ]


def targets_of(settings: RunSettings, recipe: str, names: Names) -> list[Target]:
    """The modules of a recipe that are mutated; sorted.

    Args:
        settings: what is run.
        recipe: its name, or a reference.
        names: the project's.

    Raises:
        UsageError: there is no such recipe.
    """
    found = find_recipe(known_workload(settings.workload), settings, recipe)
    begin = [owner.__module__ for owner in found.__mro__]
    if is_reference(recipe):  # an adapter of what the reference names is made of rumpus's own
        begin = [recipe.partition(":")[0]]
    top = begin[0].partition(".")[0]
    roots = (_RECIPES, _KAZOO) if top in ("rumpus", "kazoo") else (top,)
    seen: dict[str, Target | None] = {}
    left = list(begin)
    while left:
        name = left.pop()
        if name in seen or not any(name == root or name.startswith(f"{root}.") for root in roots):
            continue
        seen[name] = target = _target(name, names)
        if target is not None:
            package = name if target.is_package else name.rpartition(".")[0]
            left += imported(target.file, package)
    there = (target for target in seen.values() if target is not None and _has_recipe(target.name))
    return sorted(there, key=lambda each: each.name)


def read(targets: Sequence[Target]) -> Iterator[tuple[Target, str]]:
    """Targets with their sources.

    Raises:
        UsageError: one is no Python in UTF-8.
    """
    for each in targets:
        try:
            text = each.file.read_text("utf-8")
            ast.parse(text)
        except (OSError, SyntaxError, ValueError) as error:
            raise UsageError(f"{each.file} cannot be mutated: {error}") from error
        yield each, text


def _has_recipe(name: str) -> bool:
    leaf = name.rpartition(".")[2]
    return name not in SHARED and not leaf.startswith(_NO_RECIPES)


def _target(name: str, names: Names) -> Target | None:
    """The module of a name; None if it is none, or has no source."""
    file = source_of(name, names.places)
    if file is None:
        return None
    return Target(name=name, file=file, is_package=file.name == "__init__.py")
