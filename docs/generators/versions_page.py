"""Generates the tables of the page on versions: how they differ, and runs on each.

``python -m docs.generators.versions_page docs/reference/versions.md`` performs a run on docker for
each family and each version, one after the other (one to two hours), and updates the page. ``--keep
DIR`` leaves the runs there; a run that is there already is not performed again. What is missing
after ``--minutes``, or of versions that ``--versions`` leaves out, stays as the page has it; that
of a new family is empty. So ``--minutes 0`` only brings the rows up to date.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from docs.generators.marked_page import table_row, with_part
from rumpus.checker.every_run.errors import UNIMPLEMENTED
from rumpus.conformance.registry import CHECKS
from rumpus.conformance.version_differences import DIFFERENCES
from rumpus.harness.zookeeper_versions import DEBIAN_RELEASES
from rumpus.workloads.registry import WORKLOADS

LOADS_S: Final = (25, 40)
"""Seconds of load; the second where too little happened in the first run."""
SEED: Final = 11

ELSEWHERE: Final[Mapping[str, str]] = {
    "lock": "kazoo",
    "election": "kazoo",
    "read-write": "kazoo",
    "semaphore": "kazoo",
}
"""Family -> a recipe that needs no request of 3.5, for versions that lack what the first needs."""


def results(family: str, recipe: str, version: str, runs: Path) -> list[dict[str, Any]]:
    """The results of the runs that were performed, oldest first."""
    found = (runs / version / recipe).absolute().glob(f"{family}/2*/results.json")
    return [json.loads(path.read_text()) for path in sorted(found)]


def perform(family: str, recipe: str, version: str, runs: Path, load: int) -> None:
    """Perform a run with so many seconds of load.

    Raises:
        RuntimeError: it could not be performed; the message has its last words.
    """
    command = [
        *(sys.executable, "-m", "rumpus.program", "run", family, "--recipe", recipe),
        *("--zookeeper", version, "--ensemble", "docker", "--time-limit", str(load)),
        *("--seed", str(SEED), "--runs", str((runs / version / recipe).absolute()), "--json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"{family} on {version}: {done.stderr[-2000:]}")


def lacks(result: Mapping[str, Any]) -> bool:
    """Whether the servers did not know a request of the recipe."""
    return any("do not know" in reason for reason in result["reasons"])


def cell(recipe: str, first: str, result: Mapping[str, Any] | None) -> str:
    """What a run found, in words; empty if there was none."""
    if result is None:
        return ""
    name = "" if recipe == first else f"`{recipe}`: "
    if lacks(result):
        return f"needs 3.5 (`{UNIMPLEMENTED}`)"
    broken = [each for each in result["anomalies"] if each["promised"]]
    if broken:
        return name + ", ".join(f"`{each['kind']}` {each['count']}" for each in broken)
    if result["outcome"] in ("unknown", "inconclusive"):
        return f"{name}{result['outcome']} ({'; '.join(result['reasons'])})"
    return name + str(result["outcome"])


def cells_of(page: str) -> dict[tuple[str, ...], str]:
    """What the page has of each family, first recipe and version."""
    part = page.partition("<!-- versions -->\n")[2].partition("<!-- /versions -->")[0]
    lines = [re.split(r" ?(?<!\\)\| ?", line)[1:-1] for line in part.split("\n") if line]
    return {
        (family, recipe, version): text.replace("\\|", "|")
        for family, recipe, *texts in lines[2:]
        for version, text in zip(lines[0][2:], texts, strict=True)
    }


def table(
    obtain: Callable[[str, str, str], Mapping[str, Any] | None],
    before: Mapping[tuple[str, ...], str] = MappingProxyType({}),
) -> str:
    """The table, a row for each family and a column for each version.

    Args:
        obtain: the results of a run, given its family, recipe and version; None if there are none.
        before: what the page has (``cells_of``), for the cells of which there are none.
    """
    rows = [("family", "recipe", *DEBIAN_RELEASES), ("---",) * (2 + len(DEBIAN_RELEASES))]
    for family, workload in WORKLOADS.items():
        first = next(iter(workload.catalogue))
        cells = []
        for version in DEBIAN_RELEASES:
            recipe = first
            result = obtain(family, recipe, version)
            if result is not None and lacks(result) and family in ELSEWHERE:
                recipe = ELSEWHERE[family]
                result = obtain(family, recipe, version)
            known = before.get((f"`{family}`", f"`{first}`", version), "")
            cells.append(cell(recipe, first, result) or known)
        rows.append((f"`{family}`", f"`{first}`", *cells))
    return "".join(f"{table_row(each)}\n" for each in rows)


def differences() -> str:
    """The table of what the versions do otherwise than 3.8.0, a row for each check."""
    import_module("tests.conformance.checks")  # enters the checks
    rows = [("check", "3.8.0", "version", "instead"), ("---",) * 4]
    told: dict[tuple[int, str], list[str]] = {}
    for version, known in DIFFERENCES.items():
        for number, instead in known.items():
            told.setdefault((number, instead), []).append(version)
    for (number, instead), versions in sorted(told.items()):
        rows.append((str(number), CHECKS[number].text, ", ".join(versions), instead))
    return "".join(f"{table_row(each)}\n" for each in rows)


def main() -> None:
    """Update the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the runs are left")
    parser.add_argument(
        "--minutes", type=float, metavar="M", help="perform no run after so many minutes"
    )
    parser.add_argument(
        "--versions",
        type=lambda text: text.split(","),
        default=list(DEBIAN_RELEASES),
        metavar="A,B,...",
        help="perform runs of these only",
    )
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes if arguments.minutes is not None else None
    # Before the runs: a page without these marks must not cost them.
    page = with_part(arguments.page.read_text(), "differences", differences())
    before = cells_of(page)
    page = with_part(page, "versions", "")
    with tempfile.TemporaryDirectory(prefix="rumpus-versions-") as scratch:
        runs = arguments.keep or Path(scratch)

        def obtain(family: str, recipe: str, version: str) -> dict[str, Any] | None:
            found = results(family, recipe, version, runs)
            for load in LOADS_S[len(found) :]:
                if found and found[-1]["outcome"] != "inconclusive":
                    break
                if version in arguments.versions and (end is None or time.monotonic() < end):
                    said = f"{family} / {recipe}, {version}, {load} s"
                    print(said, file=sys.stderr, flush=True)  # noqa: T201
                    perform(family, recipe, version, runs, load)
                    found = results(family, recipe, version, runs)
            return found[-1] if found else None

        whole = table(obtain, before)
    arguments.page.write_text(with_part(page, "versions", whole))


if __name__ == "__main__":
    main()
