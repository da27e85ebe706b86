"""The arguments of ``rumpus run`` and ``rumpus explore``, from the options' declarations."""

import argparse
from collections.abc import Collection
from dataclasses import MISSING
from pathlib import Path
from typing import Any, Final

from rumpus.argument_types import (
    add_cases,
    add_count,
    add_json,
    add_rulings,
    argument,
    count,
    name,
    seconds,
)
from rumpus.nemesis.client_switch import CORNER_MODES
from rumpus.option_values import Choice, Flag
from rumpus.runs.option import Declared
from rumpus.runs.run_settings import OPTIONS
from rumpus.runs.shard import shard_of

NOT_OF_MUTANTS: Final = (
    "ensemble", "handler", "image", "patch", "plan", "runs", "service", "swarm", "zookeeper"
)  # fmt: skip
"""Options of runs that those of mutants do not have: they are simulated, each with a patch of its
own, and of all kinds."""


def add_run_options(run: argparse.ArgumentParser) -> None:
    """Add all options of ``rumpus run``."""
    add_settings(run)
    add_json(run)


def add_explore_options(explore: argparse.ArgumentParser) -> None:
    """Add all options of ``rumpus explore``."""
    add_settings(explore, without=("runs",))
    explore.add_argument(
        "--seeds",
        type=count(1, 10_000_000),
        metavar="N",
        help="end after so many seeds, of all parts (default: after the budget)",
    )
    explore.add_argument(
        "--budget",
        type=seconds(),
        metavar="S",
        help="end after so many seconds, without those of shrinking (default: 60)",
    )
    explore.add_argument(
        "--shrink",
        type=count(0, 1_000_000),
        default=300,
        metavar="N",
        help="how many smaller runs to try for each failure; 0: keep it as it is (default: 300)",
    )
    explore.add_argument(
        "--systematic",
        type=_modes,
        metavar="MODES",
        help="instead of seeds: a small run with a fault at every request, reply and watch event, "
        "or with a thread held back at every switch to one, one after the other: "
        f"{', '.join(CORNER_MODES)}, separated by commas, or all",
    )
    add_count(
        explore, "--faults", 1, 2, "faults in each run of --systematic (default: 1)", default=1
    )
    add_count(
        explore,
        "--operations",
        1,
        1000,
        "operations of each client that --systematic covers (default: 3)",
        default=3,
    )
    explore.add_argument(
        "--known",
        type=Path,
        action="append",
        default=[],
        metavar="CASE",
        help="a failure that is accepted: it is not reported, and the search goes on behind it; "
        "can be given several times",
    )
    add_rulings(explore)
    add_cases(explore)
    add_count(explore, "--jobs", 1, 256, "runs in parallel (default: one per processor)")
    explore.add_argument(
        "--dask",
        type=name,
        metavar="ADDRESS",
        help="scheduler of a Dask cluster that performs the runs, such as tcp://10.0.0.1:8786 "
        "(default: processes of this machine)",
    )
    explore.add_argument(
        "--shard",
        type=argument(shard_of),
        metavar="I/N",
        help="explore only part I, from 0, of N parts of the seeds; `rumpus merge` joins what "
        "--json prints of them",
    )
    add_json(explore)


def given_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that a command line gives, by name."""
    given = {name: getattr(arguments, name, None) for name in OPTIONS}
    return {name: value for name, value in given.items() if value is not None}


def add_settings(parser: argparse.ArgumentParser, without: Collection[str] = ()) -> None:
    """Add the options that say what a run is, as they are declared.

    What is not given is None: the project's defaults come before those of ``RunSettings``.
    """
    for option in OPTIONS.values():
        if option.name not in without:
            _add(parser, option)


def _add(parser: argparse.ArgumentParser, option: Declared) -> None:
    """Add the argument of an option."""
    values = option.option.values
    words = option.option.words + (f" (default: {option.usual})" if option.usual else "")
    if option.default is MISSING:
        parser.add_argument(option.name, metavar=option.option.metavar, help=words)
    elif isinstance(values, Flag):
        parser.add_argument(
            option.flag, dest=option.name, action="store_true", default=None, help=words
        )
    else:
        parser.add_argument(
            option.flag,
            dest=option.name,
            action="extend" if option.option.several else "store",
            type=argument(values.read),
            choices=values.words if isinstance(values, Choice) else None,
            metavar=option.metavar,
            nargs=None if option.option.bare is None else "?",
            const=option.option.bare,
            help=words,
        )


def _modes(text: str) -> list[str]:
    """Names of ``CORNER_MODES``, separated by commas; ``all`` means all.

    Raises:
        argparse.ArgumentTypeError: there is no such mode.
    """
    named = [each.strip() for each in text.split(",")]
    if named == ["all"]:
        return list(CORNER_MODES)
    if unknown := [name for name in named if name not in CORNER_MODES]:
        raise argparse.ArgumentTypeError(
            f"there is no {', '.join(unknown)}; there are {', '.join(CORNER_MODES)}, and all"
        )
    return named
