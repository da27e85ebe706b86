"""Writes what came of a night into its directory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rumpus.campaigns.case import Case, save_case
from rumpus.nights.documents.document import NightDocument, to_json
from rumpus.nights.documents.night_junit import night_junit
from rumpus.nights.documents.summary import summary
from rumpus.results.atomic_file import inside, write_atomically

OUTPUT: Final = "--output DIR"
"""The option that chooses another directory."""


def write_outputs(document: NightDocument, directory: Path, moved: Mapping[str, Case]) -> None:
    """Write ``night.json``, ``junit.xml``, ``summary.md``, and the cases.

    Args:
        document: the night.
        directory: where; it exists.
        moved: cases that are to take the place of stale ones, by these ones' names.

    Raises:
        StoreError: something cannot be written.
    """
    for each in document.failures:
        if each.file and each.failure.case is not None:
            save_case(each.failure.case, inside(directory, each.file, option=OUTPUT), OUTPUT)
    for name, case in moved.items():
        place = inside(directory, Path("cases", "moved", f"{name}.case.json"), option=OUTPUT)
        save_case(case, place, OUTPUT)
    write_atomically(directory / "summary.md", summary(document), option=OUTPUT)
    write_atomically(directory / "junit.xml", night_junit(document), option=OUTPUT)
    write_atomically(directory / "night.json", to_json(document), option=OUTPUT)
