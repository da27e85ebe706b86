"""The options of ``rumpus run``."""

import argparse
import re
from dataclasses import fields
from pathlib import Path

from rumpus.argument_types import (
    add_cases,
    add_count,
    add_json,
    add_runs,
    add_seconds,
    count,
    name,
    seconds,
)
from rumpus.harness.clients.handlers import HANDLERS
from rumpus.harness.generators.usage import Usage
from rumpus.harness.zookeeper_versions import DEBIAN_RELEASES, USUAL_VERSION
from rumpus.nemesis.client_switch import CORNER_MODES
from rumpus.nemesis.registry import BUILT_IN, EVERYWHERE, SIMULATED, SOUND
from rumpus.nemesis.swarm import PROFILES
from rumpus.runs.ensemble_choice import ENSEMBLES
from rumpus.runs.performing import TICK_MS
from rumpus.runs.run_settings import RunSettings
from rumpus.runs.shard import Shard
from rumpus.simulation.kernel.preemption import MODES
from rumpus.workloads.own.promise_names import NAMES
from rumpus.workloads.registry import WORKLOADS


def add_run_options(run: argparse.ArgumentParser) -> None:
    """Add all options of ``rumpus run``."""
    _add_settings(run)
    add_runs(run)
    add_json(run)


def add_explore_options(explore: argparse.ArgumentParser) -> None:
    """Add all options of ``rumpus explore``."""
    _add_settings(explore)
    explore.set_defaults(ensemble="sim")
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
        type=_shard,
        metavar="I/N",
        help="explore only part I, from 0, of N parts of the seeds; `rumpus merge` joins what "
        "--json prints of them",
    )
    add_json(explore)


def _add_settings(run: argparse.ArgumentParser) -> None:
    """Add the options that say what a run is: the fields of ``RunSettings``."""
    run.add_argument(
        "workload",
        metavar="WORKLOAD",
        help=f"{', '.join(WORKLOADS)}; or package.module:Class, a workload of your own",
    )
    run.add_argument(
        "--recipe",
        help="recipe to put under load, see `rumpus list`; or package.module:Name, a class or "
        "function of your own that makes one from a kazoo client and a path (default: the "
        "workload's first)",
    )
    run.add_argument(
        "--promise",
        type=_names,
        metavar="NAMES",
        help=f"what your own recipe promises besides what its family usually does: "
        f"{', '.join(NAMES)}, or names of anomalies that never happen, separated by commas",
    )
    run.add_argument(
        "--ensemble",
        choices=ENSEMBLES,
        default="auto",
        help="where the servers run: real ones in Docker, or simulated ones on virtual time, where "
        "a run is decided by its seed (default: auto, docker if an engine answers)",
    )
    add_count(run, "--nodes", 1, 9, "number of servers (default: 3)", default=3)
    add_count(run, "--clients", 1, 100, "number of clients (default: 5)", default=5)
    add_seconds(run, "--time-limit", 60.0, "seconds of load (default: 60)")
    run.add_argument(
        "--nemesis",
        type=_kinds,
        metavar="KINDS",
        help="kinds of fault, separated by commas, or none, or all; see `rumpus list`; or "
        "package.module:Class for one of your own "
        f"(default: {', '.join(EVERYWHERE)}; on simulated servers also "
        f"{', '.join(k for k in SIMULATED if k not in EVERYWHERE)})",
    )
    run.add_argument(
        "--fault",
        type=_names,
        metavar="NAMES",
        help="kinds of fault of your own that take part besides those of --nemesis: "
        "package.module:Class, or names of your pyproject.toml, separated by commas",
    )
    add_seconds(
        run,
        "--nemesis-interval",
        10.0,
        "seconds from one fault to the next (default: 10, or less so that every kind occurs)",
    )
    add_count(
        run, "--seed", -(2**63), 2**63 - 1, "seed of every random choice (default: a new one)"
    )
    run.add_argument(
        "--plan",
        type=Path,
        metavar="FILE",
        help="file with the faults to inject, instead of random ones: plan.json of a run",
    )
    run.add_argument(
        "--swarm",
        nargs="?",
        const="normal",
        choices=tuple(PROFILES),
        help="draw faults that overlap, and what is not given: clients, servers, session timeout "
        "and usage, another selection for each seed (default: no; without a profile: normal)",
    )
    run.add_argument(
        "--usage",
        metavar="NAME=VALUE,...",
        help=f"how clients use the recipe: {', '.join(Usage.__struct_fields__)} "
        "(docs/simulation.md; default: as the workload's script says)",
    )
    run.add_argument(
        "--preemption",
        choices=("auto", *MODES),
        default="auto",
        help="when simulated threads may be preempted: never, and the one that is ready first runs "
        "first (none); when they block (blocking); also at operations of locks, clocks and sockets "
        "(primitives); also at any line of code (lines) (default: auto, drawn from the seed)",
    )
    run.add_argument(
        "--server-mutant",
        metavar="NAME",
        help="run simulated servers with one known mistake, see `rumpus list` (default: none)",
    )
    run.add_argument(
        "--image", type=name, help="Docker image of the servers (default: one that rumpus builds)"
    )
    run.add_argument(
        "--zookeeper",
        type=name,
        metavar="VERSION",
        help="version of ZooKeeper that real servers have; its image is built when it is missing; "
        f"3.9 means the newest 3.9: {', '.join(DEBIAN_RELEASES)} (default: {USUAL_VERSION})",
    )
    run.add_argument(
        "--kazoo",
        type=name,
        metavar="VERSION|PATH",
        help="kazoo that the clients run with: a version, which pip installs once into a cache, or "
        "a directory: a checkout, or one with the package kazoo in it (default: the installed one)",
    )
    run.add_argument(
        "--handler",
        choices=HANDLERS,
        default=HANDLERS[0],
        help="what the clients' threads are, and so kazoo's handler: threads, or greenlets of "
        "gevent or eventlet, which must be installed; those run on real servers only "
        "(default: threading)",
    )
    run.add_argument(
        "--fencing",
        action="store_true",
        help="let the protected resource refuse stale fencing tokens",
    )
    add_seconds(
        run,
        "--session-timeout",
        2.0,
        "ZooKeeper session timeout in seconds (default: 2)",
        # Servers grant session timeouts of 2 to 20 ticks.
        within=(2 * TICK_MS / 1000, 20 * TICK_MS / 1000),
    )
    add_seconds(
        run,
        "--action-time",
        0.0,
        "seconds that half of the holders' actions take, from the look whether the lock is still "
        "held to the effect (default: 0)",
        within=(0, 30),
    )
    add_seconds(
        run,
        "--guard",
        0.0,
        "seconds of validity that must be left for an action to begin; for recipes that know how "
        "long they hold (default: 0)",
        within=(0, 30),
    )
    run.add_argument("--strict", action="store_true", help="hazards make the run a violation, too")
    run.add_argument(
        "--private",
        type=_names,
        metavar="PACKAGES",
        help="packages of which each simulated client gets its own copy, besides those that are "
        "found to use time, threads, sockets or random numbers",
    )
    run.add_argument(
        "--shared",
        type=_names,
        metavar="PACKAGES",
        help="packages that all simulated clients share, whatever is found",
    )
    # What is not given is None: the project's defaults come before those of ``RunSettings``.
    run.set_defaults(**dict.fromkeys((field.name for field in fields(RunSettings)), None))


def _shard(text: str) -> Shard:
    """A part of an exploration, by its words on the command line."""
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if found is None or int(found[1]) >= int(found[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not one of 0/N, 1/N, ... of N parts")
    return Shard(int(found[1]), int(found[2]))


def _names(text: str) -> list[str]:
    return [name for each in text.split(",") if (name := each.strip())]


def _kinds(text: str) -> list[str]:
    kinds = [kind.strip() for kind in text.split(",")]
    if kinds == ["none"]:
        return []
    if kinds == ["all"]:
        return list(SOUND)
    if kinds == [""]:
        there = f"there are {', '.join(BUILT_IN)}; or none or all, by itself"
        raise argparse.ArgumentTypeError(f"it is empty; {there}")
    return kinds


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
