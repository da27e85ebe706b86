"""Generates the table of options of a run in ``docs/reference/configuration.md``.

``python -m docs.generators.option_tables docs`` updates the page.
"""

import sys
from pathlib import Path
from typing import Final

from docs.generators.marked_page import table_row, with_part
from rumpus.runs.option import Need
from rumpus.runs.run_options import TRIAL_OPTIONS
from rumpus.runs.run_settings import OPTIONS

MARK: Final = "options"

_NEEDS: Final[dict[Need, str]] = {
    "sim": "simulated servers",
    "docker": "real servers",
    "zookeeper": "ZooKeeper",
    "python": "clients in Python",
}


def with_options(page: str) -> str:
    """The page on configuration with its table of options up to date; raises as ``with_part``."""
    rows = [("option", "in Python", "values", "default", "needs", "`pyproject.toml`"), ("---",) * 6]
    for name, trial in TRIAL_OPTIONS.items():
        option = OPTIONS.get(name, trial)
        word = "`WORKLOAD`" if name == "workload" else f"`{option.flag}`"
        rows.append(
            (
                word if name in OPTIONS else "",
                f"`{name}`",
                option.option.values.described,
                option.usual,
                ", ".join(_NEEDS[need] for need in option.option.needs),
                f"`{option.key}`" if option.option.in_project else "",
            )
        )
    return with_part(page, MARK, "".join(f"{table_row(row)}\n" for row in rows))


def main(folder: Path) -> None:
    """Bring the page below ``docs`` up to date."""
    page = folder / "reference" / "configuration.md"
    page.write_text(with_options(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
