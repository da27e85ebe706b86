"""The options of ``rumpus run``."""

import argparse
from pathlib import Path

from rumpus.argument_types import JSON, RUNS, count, name, seconds
from rumpus.commands.run_command import TICK_MS
from rumpus.nemesis.registry import EVERYWHERE, FAULTS, SIMULATED, SOUND
from rumpus.runs.ensemble_choice import ENSEMBLES
from rumpus.simulation.kernel.preemption import MODES
from rumpus.workloads.registry import WORKLOADS


def add_run_options(run: argparse.ArgumentParser) -> None:
    """Add everything that a run can be told."""
    run.add_argument("workload", metavar="WORKLOAD", help=f"{', '.join(WORKLOADS)}")
    run.add_argument(
        "--recipe",
        help="recipe to put under load, see `rumpus list` (default: the workload's first)",
    )
    run.add_argument(
        "--ensemble",
        choices=ENSEMBLES,
        default="auto",
        help="where the servers run: real ones in Docker, or simulated ones on virtual time, where "
        "a run is decided by its seed (default: auto, docker if an engine answers)",
    )
    run.add_argument(
        "--nodes", type=count(1, 9), default=3, metavar="N", help="number of servers (default: 3)"
    )
    run.add_argument(
        "--clients",
        type=count(1, 100),
        default=5,
        metavar="N",
        help="number of clients (default: 5)",
    )
    run.add_argument(
        "--time-limit",
        type=seconds(),
        default=60.0,
        metavar="S",
        help="seconds of load (default: 60)",
    )
    run.add_argument(
        "--nemesis",
        type=_kinds,
        metavar="KINDS",
        help="kinds of fault, separated by commas, or none, or all; see `rumpus list` "
        f"(default: {', '.join(EVERYWHERE)}; on simulated servers also "
        f"{', '.join(k for k in SIMULATED if k not in EVERYWHERE)})",
    )
    run.add_argument(
        "--nemesis-interval",
        type=seconds(),
        default=10.0,
        metavar="S",
        help="seconds from one fault to the next (default: 10, or less so that every kind occurs)",
    )
    run.add_argument(
        "--seed",
        type=count(-(2**63), 2**63 - 1),
        metavar="N",
        help="seed of every random choice (default: a new one)",
    )
    run.add_argument(
        "--plan",
        type=Path,
        metavar="FILE",
        help="file with the faults to inject, instead of random ones: plan.json of a run",
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
    run.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help=RUNS)
    run.add_argument(
        "--fencing",
        action="store_true",
        help="let the protected resource refuse stale fencing tokens",
    )
    run.add_argument(
        "--session-timeout",
        # What servers grant: 2 to 20 ticks.
        type=seconds(2 * TICK_MS / 1000, 20 * TICK_MS / 1000),
        default=2.0,
        metavar="S",
        help="ZooKeeper session timeout in seconds (default: 2)",
    )
    run.add_argument(
        "--action-time",
        type=seconds(0, 30),
        default=0.0,
        metavar="S",
        help="seconds that half of the holders' actions take, from the look whether the lock is "
        "still held to the effect (default: 0)",
    )
    run.add_argument(
        "--guard",
        type=seconds(0, 30),
        default=0.0,
        metavar="S",
        help="seconds of validity that must be left for an action to begin; for recipes that know "
        "how long they hold (default: 0)",
    )
    run.add_argument("--strict", action="store_true", help="hazards make the run a violation, too")
    run.add_argument("--json", action="store_true", help=JSON)


def _kinds(text: str) -> list[str]:
    kinds = [kind.strip() for kind in text.split(",")]
    if kinds == ["none"]:
        return []
    if kinds == ["all"]:
        return list(SOUND)
    there = f"there are {', '.join(FAULTS)}; or none or all, by itself"
    if kinds == [""]:
        raise argparse.ArgumentTypeError(f"it is empty; {there}")
    unknown = [kind for kind in kinds if kind not in FAULTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown fault {', '.join(map(repr, unknown))}; {there}")
    return [kind for kind in FAULTS if kind in kinds]
