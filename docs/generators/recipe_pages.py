"""Generates the tables of promises and of families in ``docs/recipes``.

``python -m docs.generators.recipe_pages docs/recipes`` updates the pages.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from docs.generators.marked_page import table_row, with_part
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.recipes.contests.interfaces import Recipe
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.registry import WORKLOADS

PROMISES, FAMILIES = "promises", "families"


def with_promises(page: str, workload: Workload) -> str:
    """The page of a family with its tables up to date; raises as ``marked_page.with_part``."""
    return with_part(page, PROMISES, table(workload))


def with_families(page: str) -> str:
    """The index of these pages with its table of families up to date; raises likewise."""
    rows = (
        (
            f"[`{name}`]({name}.md)",
            workload.summary,
            ", ".join(
                f"`{each}`" for each, entry in workload.catalogue.items() if not entry.faulty
            ),
            str(sum(entry.faulty for entry in workload.catalogue.values())),
        )
        for name, workload in WORKLOADS.items()
    )
    head = "| workload | what its clients do | recipes | mutants |\n|---|---|---|---|\n"
    return with_part(page, FAMILIES, head + "".join(f"{table_row(row)}\n" for row in rows))


def table(workload: Workload) -> str:
    """What a family's recipes promise, what breaks a promise, and its mutants, as Markdown."""
    entries = workload.catalogue.items()
    sound = {name: entry.recipe for name, entry in entries if not entry.faulty}
    faulty = {name: entry for name, entry in entries if entry.faulty}
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
        yield table_row(cells)


def _wakeups(most: int) -> str:
    return f"a release wakes at most {most}"


def _anomalies(recipes: dict[str, type[Recipe]]) -> Iterator[str]:
    prevented = sorted({kind for recipe in recipes.values() for kind in recipe.promises.prevents})
    links = ", ".join(f"[`{kind}`](../reference/anomalies/{kind}.md)" for kind in prevented)
    yield f"What these anomalies mean, and what to do: {links}."


def _mutants(mutants: dict[str, CatalogueEntry[Recipe]]) -> Iterator[str]:
    yield "| mutant | its mistake | given away by |"
    yield "|---|---|---|"
    for name, entry in mutants.items():
        yield table_row((f"`{name}`", entry.mistake, _kinds(entry.expected)))


def _kinds(kinds: frozenset[str]) -> str:
    return ", ".join(f"`{kind}`" for kind in sorted(kinds))


def main(folder: Path) -> None:
    """Bring all pages of ``docs/recipes`` up to date."""
    for name, workload in WORKLOADS.items():
        page = folder / f"{name}.md"
        page.write_text(with_promises(page.read_text(encoding="utf-8"), workload), encoding="utf-8")
    index = folder / "index.md"
    index.write_text(with_families(index.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
