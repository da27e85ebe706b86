"""The tables of promises in ``docs/recipes``, made from the promises themselves.

``python -m rumpus.recipe_pages docs/recipes`` makes them anew.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from checker.verdict import ANOMALIES
from recipes.interfaces import Recipe
from workloads.registry import WORKLOADS
from workloads.workload import Workload

BEGIN, END = "<!-- promises -->\n", "<!-- /promises -->\n"


def with_table(page: str, workload: Workload) -> str:
    """A page with its table up to date; what stands around it stays.

    Raises:
        ValueError: the page does not mark exactly one place for the table.
    """
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(END) < page.index(BEGIN):
        raise ValueError(f"the page of {workload.name} must mark one place for its table")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{table(workload)}\n{END}{after}"


def table(workload: Workload) -> str:
    """What a family's recipes promise, what breaks a promise, and its mutants, as Markdown."""
    sound = {name: recipe for name, recipe in workload.recipes.items() if not recipe.faulty}
    faulty = {name: recipe for name, recipe in workload.recipes.items() if recipe.faulty}
    return "\n".join([*_promises(sound), "", *_anomalies(sound), "", *_mutants(faulty)]) + "\n"


def _promises(recipes: dict[str, type[Recipe]]) -> Iterator[str]:
    yield "| recipe | prevents | further promises | not promised |"
    yield "|---|---|---|---|"
    for name, recipe in recipes.items():
        promises = recipe.promises
        further = [
            *(["fencing tokens that only grow"] if promises.tokens else []),
            *(["the resource checks tokens"] if promises.fenced else []),
            *(["re-entrant"] if promises.reentrant else []),
            *([_wakeups(promises.wakeups)] if promises.wakeups is not None else []),
        ]
        cells = (f"`{name}`", _kinds(promises.prevents), "; ".join(further), promises.notes)
        yield f"| {' | '.join(map(_cell, cells))} |"


def _wakeups(most: int) -> str:
    return f"a release wakes at most {most}"


def _anomalies(recipes: dict[str, type[Recipe]]) -> Iterator[str]:
    prevented = {kind for recipe in recipes.values() for kind in recipe.promises.prevents}
    yield "| anomaly | meaning |"
    yield "|---|---|"
    yield from (
        f"| `{kind}` | {_cell(ANOMALIES[kind])} |" for kind in ANOMALIES if kind in prevented
    )


def _mutants(recipes: dict[str, type[Recipe]]) -> Iterator[str]:
    yield "| mutant | its mistake | given away by |"
    yield "|---|---|---|"
    for name, recipe in recipes.items():
        yield f"| `{name}` | {_cell(recipe.mistake)} | {_kinds(recipe.expected)} |"


def _kinds(kinds: frozenset[str]) -> str:
    return ", ".join(f"`{kind}`" for kind in ANOMALIES if kind in kinds)


def _cell(words: str) -> str:
    return words.replace("|", "\\|").replace("\n", " ")


def main(folder: Path) -> None:
    """Bring all pages up to date."""
    for name, workload in WORKLOADS.items():
        page = folder / f"{name}.md"
        page.write_text(with_table(page.read_text(encoding="utf-8"), workload), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
