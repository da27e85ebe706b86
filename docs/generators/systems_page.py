"""Generates the tables of the page on other systems from runs: their locks, fault by fault.

``python -m docs.generators.systems_page docs/recipes/systems.md`` performs a run on docker for each
lock and each kind of fault, one after the other (about three quarters of an hour), and updates the
page. ``--keep DIR`` leaves the runs there; a run that is there already is not performed again.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from docs.generators.marked_page import table_row, with_part
from rumpus.harness.docker.systems import SYSTEMS
from rumpus.workloads.registry import WORKLOADS

ELSEWHERE: Final = WORKLOADS["lock"].elsewhere
LOCKS: Final = (
    *("fair", "validity", "kazoo"),
    *sorted(name for name, entry in ELSEWHERE.items() if not entry.faulty),
)
ALONE: Final = frozenset(
    name for name, entry in ELSEWHERE.items() if SYSTEMS[entry.system].nodes == 1
)
"""Locks on a single server, which cannot be partitioned."""

FAULTS: Final[Mapping[str, str]] = {
    "none": "Without faults",
    "kill": "Servers are killed",
    "pause": "Servers are paused",
    "partition": "Servers are partitioned",
    "client-pause": "Clients are paused",
    "client-kill": "Clients are killed",
    "client-partition": "Clients are cut off from servers",
}
LOAD_S: Final = 15
SEEDS: Final = (7, 8, 9, 10)
"""Of the first run, and of those that follow while too little happened for a verdict."""

HEADINGS: Final = (
    "lock",
    "violations",
    "hazards",
    "longest stale belief",
    "handover after a release",
    "after a death",
    "grants/s",
    "messages a grant",
)


def results(lock: str, fault: str, runs: Path) -> dict[str, Any]:
    """The results of the first run that is conclusive, performed unless it is there.

    Raises:
        RuntimeError: it could not be performed; the message has its last words.
    """
    place = (runs / f"{lock}-{fault}").absolute()
    document: dict[str, Any] = {}
    for turn, seed in enumerate(SEEDS):
        found = sorted(place.glob("lock/2*/results.json"))
        if len(found) == turn:
            command = [
                *(sys.executable, "-m", "rumpus.program", "run", "lock", "--recipe", lock),
                *("--ensemble", "docker", "--nemesis", fault, "--time-limit", str(LOAD_S)),
                *("--seed", str(seed), "--runs", str(place), "--json"),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode not in (0, 1, 3):
                raise RuntimeError(f"{lock} under {fault}: {done.stderr[-2000:]}")
            found = sorted(place.glob("lock/2*/results.json"))
        document = json.loads(found[turn].read_text())
        if document["outcome"] != "inconclusive":
            break
    return document


def row(lock: str, result: Mapping[str, Any]) -> tuple[str, ...]:
    """A lock's row in the table of a fault."""
    broken = [each for each in result["anomalies"] if each["promised"]]
    hazards = [each for each in result["anomalies"] if not each["promised"]]
    stale = [each["longest_ms"] for each in result["anomalies"] if each["kind"] == "stale-belief"]
    measures = result["measures"]
    after = {each["after"]: each for each in measures["handovers"]}
    messages = measures["messages"]
    return (
        f"`{lock}`",
        _kinds(broken) or ("none" if result["outcome"] == "valid" else result["outcome"]),
        _kinds(hazards) or "none",
        _milliseconds(stale[0]) if stale else "none",
        _milliseconds(after["release"]["median"]) if "release" in after else "",
        _milliseconds(after["death"]["longest"]) if "death" in after else "",
        f"{measures['spread']['grants'] / LOAD_S:.0f}",
        f"{messages['per_grant']:.1f}" if messages else "",
    )


def _kinds(anomalies: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(f"`{each['kind']}` {each['count']}" for each in anomalies)


def _milliseconds(number: float | None) -> str:
    if number is None:
        return ""
    return f"{number / 1000:.1f} s" if number >= 1000 else f"{number:.0f} ms"


def tables(runs: Path, say: Any = None) -> Iterator[str]:
    """The tables, one for each kind of fault, each with its heading."""
    for fault, heading in FAULTS.items():
        rows = [HEADINGS, ("---",) * len(HEADINGS)]
        for lock in LOCKS:
            if fault == "partition" and lock in ALONE:
                continue
            if say is not None:
                say(f"{lock}, {fault}")
            rows.append(row(lock, results(lock, fault, runs)))
        yield f"### {heading}\n\n" + "".join(f"{table_row(each)}\n" for each in rows)


def main() -> None:
    """Update the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the runs are left")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rumpus-systems-") as scratch:
        runs = arguments.keep or Path(scratch)
        whole = "\n".join(tables(runs, lambda words: print(words, file=sys.stderr)))  # noqa: T201
    page = arguments.page.read_text()
    arguments.page.write_text(with_part(page, "systems", whole))


if __name__ == "__main__":
    main()
