"""Generates the table of faults in ``docs/reference/faults.md`` from their classes.

``python -m docs.generators.fault_tables docs`` updates the page.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from docs.generators.marked_page import table_row, with_part
from rumpus.harness.ensemble import Capability
from rumpus.harness.simulated.ensemble import OFFERED
from rumpus.nemesis.registry import FAULTS, SOUND

MARK = "faults"

PARTLY: Final[Mapping[Capability, str]] = {
    "simulation": "simulated",
    "clock": "simulated, Redis",
    "delay": "ZooKeeper's",
    "triggers": "ZooKeeper's",
    "full-disk": "ZooKeeper's",
    "disk-journal": "ZooKeeper's",
    "stall": "simulated, or with Curator's clients",
}
"""Where faults can be that need these."""


def with_faults(page: str) -> str:
    """A page with its table of faults up to date; raises as ``marked_page.with_part``."""
    rows = [("fault", "works on", "what it does", "servers", "by default"), ("---",) * 5]
    for kind, fault in FAULTS.items():
        if fault.needs is not None and fault.needs in PARTLY:
            servers = PARTLY[fault.needs]
        elif fault.needs is None or (fault.needs in OFFERED and OFFERED[fault.needs].available):
            servers = "any"
        else:
            servers = "real"
        usual = "yes" if fault.usual else "no"
        rows.append((f"`{kind}`", fault.works_on, fault.summary, servers, usual))
    named = ", ".join(f"`{kind}`" for kind in FAULTS if kind not in SOUND)
    table = "".join(f"{table_row(row)}\n" for row in rows)
    return with_part(page, MARK, f"{table}\nNot among `--nemesis all`, to be named: {named}.\n")


def main(folder: Path) -> None:
    """Bring the page below ``docs`` up to date."""
    page = folder / "reference" / "faults.md"
    page.write_text(with_faults(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
