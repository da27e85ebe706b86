"""``python -m tests.torture``: all that bad weather and bad hands can do, and a table of it.

Ends with 1 if anything was not as it has to be; what it was stands below the table, and the files
stay.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path

from rumpus.workloads.registry import WORKLOADS
from tests.torture import bad_places, load, troubled_runs
from tests.torture.bases import bases, losses
from tests.torture.damaged_runs import accidents, forgeries, game, performed_again
from tests.torture.ended_commands import (
    COMMANDS,
    ON_ENGINE,
    PYTESTS,
    ended_command,
    ended_pytest,
    prepared,
)
from tests.torture.fuzzing import fuzzed
from tests.torture.hostile_histories import hostile_histories
from tests.torture.table import HEAD, Row

Named = tuple[str, Callable[[Path], Row | Iterable[Row]]]
"""A name, and what is done, given a place for its files."""


def main() -> int:
    """Torture; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--families", default=",".join(WORKLOADS), help="with commas between")
    parser.add_argument("--directories", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--pairs", type=int, default=250, help="of edits, of each family")
    parser.add_argument("--only", default="", help="names of tortures, or how they begin")
    parser.add_argument("--histories", type=int, default=5000)
    parser.add_argument("--interruptions", type=int, default=50, help="half of them on docker")
    parser.add_argument("--kills", type=int, default=20, help="half of them on docker")
    words = "of each command of many runs, and of each kind of pytest"
    parser.add_argument("--ends", type=int, default=16, help=words)
    parser.add_argument("--explorations", type=int, default=500, help="in one process")
    parser.add_argument("--seed", type=int, default=0, help="of every random choice")
    words = "for files; documents go on there (default: a new one)"
    parser.add_argument("--place", type=Path, help=words)
    parser.add_argument("--no-docker", action="store_true", help="leave out what needs an engine")
    arguments = parser.parse_args()
    place = arguments.place or Path(tempfile.mkdtemp(prefix="rumpus-torture-"))
    rows = []
    for name, torture in _tortures(arguments, place):
        if not name.startswith(tuple(arguments.only.split(","))):
            continue
        began = time.monotonic()
        found = torture(place / name)
        for row in [found] if isinstance(found, Row) else found:
            rows.append(row)
            print(f"{time.monotonic() - began:6.0f} s  {row}", file=sys.stderr)
            for defect in row.defects:
                print(f"          {defect}", file=sys.stderr)
    print(HEAD)
    print(*rows, sep="\n")
    if any(row.defects for row in rows):
        print(f"the files are in {place}", file=sys.stderr)
        return 1
    if arguments.place is None:
        shutil.rmtree(place)
    return 0


def _tortures(arguments: argparse.Namespace, place: Path) -> list[Named]:
    """All of them."""
    made = cache(lambda: bases(place / "bases", arguments.families.split(",")))
    lost = cache(lambda: losses(place / "losses"))
    seed, docker = arguments.seed, not arguments.no_docker
    found: list[Named] = [
        ("histories", lambda to: hostile_histories(made(), arguments.histories, to, seed)),
        ("documents", lambda to: fuzzed(arguments.documents, to, seed)),
        ("damaged", lambda to: accidents(made(), arguments.directories, to, seed)),
        ("forged", lambda to: forgeries(made(), to)),
        ("game", lambda to: game(made(), to, arguments.pairs)),
        ("lost", lambda to: [forgeries(lost(), to), *game(lost(), to / "game", arguments.pairs)]),
        ("performed", lambda to: performed_again(made()[:2], to)),
        ("deaf", lambda _: troubled_runs.deaf(made()[0].path, 0)),
        ("read-only", partial(bad_places.read_only, docker=docker)),
        ("one-folder", partial(bad_places.one_folder_of_cases, 2)),
        ("clients-100", partial(load.many_clients, 100)),
        ("clients-300", partial(load.many_clients, 300)),
        ("workers", partial(load.many_workers, 10)),
        ("explorations", partial(load.many_explorations, arguments.explorations)),
    ]
    kinds = ["sim", "docker"] if docker else ["sim"]
    for kind in kinds:
        found += _in_trouble(kind, arguments, len(kinds))
    found += _ended(arguments, cache(lambda: prepared(place / "prepared")))
    if docker:
        found += [
            ("outside", troubled_runs.meddled_with),
            ("two", partial(troubled_runs.at_once, 2)),
            ("five", partial(troubled_runs.at_once, 5)),
        ]
    return found


def _in_trouble(kind: str, arguments: argparse.Namespace, part: int) -> list[Named]:
    """What happens to runs of a kind of ensemble; of so many kinds, which share it."""
    interruptions, kills = arguments.interruptions // part, arguments.kills // part
    seed = arguments.seed
    return [
        (
            f"interrupted-{kind}",
            partial(troubled_runs.interrupted, kind, interruptions, seed=seed),
        ),
        (f"killed-{kind}", partial(troubled_runs.killed_outright, kind, kills, seed=seed)),
        (f"full-{kind}", partial(troubled_runs.short_of_disk, kind)),
        (f"clock-{kind}", partial(bad_places.stepped_clock, kind)),
    ]


def _ended(arguments: argparse.Namespace, made: Callable[[], Path]) -> list[Named]:
    """Commands and kinds of pytest that signals end."""
    found: list[Named] = [
        (f"ended-{name}", partial(_command, name, made, arguments))
        for name in COMMANDS
        if not (arguments.no_docker and name in ON_ENGINE)
    ]
    for number, name in enumerate(PYTESTS):
        if not (arguments.no_docker and name.startswith("real")):
            torture = partial(ended_pytest, name, arguments.ends, seed=arguments.seed)
            found.append((f"pytest-{number}", torture))
    return found


def _command(
    name: str, made: Callable[[], Path], arguments: argparse.Namespace, place: Path
) -> Row:
    return ended_command(name, made(), arguments.ends, place, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
