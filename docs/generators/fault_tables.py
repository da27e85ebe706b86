"""Generates the tables of faults in the README and on the page on the simulation.

``python -m docs.generators.fault_tables docs`` updates the pages.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from docs.generators.marked_page import table_row, with_part
from rumpus.harness.ensemble import Capability
from rumpus.harness.simulated.ensemble import OFFERED
from rumpus.nemesis.registry import FAULTS

MARK = "faults"

PARTLY: Final[Mapping[Capability, str]] = {
    "simulation": "simulated",
    "clock": "simulated, Redis",
    "stall": "simulated, or with Curator's clients",
}
"""Where faults can be that need these."""


def with_faults(page: str, kinds: Iterable[str]) -> str:
    """A page with its table of these kinds up to date; raises as ``marked_page.with_part``."""
    rows = [("fault", "works on", "what it does", "servers", "by default"), ("---",) * 5]
    for kind in kinds:
        fault = FAULTS[kind]
        if fault.needs is not None and fault.needs in PARTLY:
            servers = PARTLY[fault.needs]
        elif fault.needs is None or (fault.needs in OFFERED and OFFERED[fault.needs].available):
            servers = "any"
        else:
            servers = "real"
        usual = "yes" if fault.usual else "no"
        rows.append((f"`{kind}`", fault.works_on, fault.summary, servers, usual))
    return with_part(page, MARK, "".join(f"{table_row(row)}\n" for row in rows))


def simulated_only() -> list[str]:
    """The kinds that real ensembles do not offer."""
    return [kind for kind, fault in FAULTS.items() if fault.needs == "simulation"]


def main(folder: Path) -> None:
    """Bring ``docs/explanation/simulation.md`` and the README beside ``docs`` up to date."""
    for page, kinds in (
        (folder.resolve().parent / "README.md", list(FAULTS)),
        (folder / "explanation" / "simulation.md", simulated_only()),
    ):
        made = with_faults(page.read_text(encoding="utf-8"), kinds)
        page.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
