"""The command line: arguments in, an exit code out, errors in words.

Exit codes: 0 valid; 1 violation; 2 wrong usage; 3 unknown, inconclusive or interrupted; 4 the
environment does not allow it; 5 internal error.
"""

import argparse
import logging
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.driver import WorkerCrash
from harness.ensemble import EnvironmentRefusal
from nemesis.plan import PlanError
from nemesis.registry import FAULTS
from results.store_error import StoreError, UnreadableRun
from rumpus.check_command import check_command
from rumpus.clean_command import clean_command
from rumpus.consoles import notices
from rumpus.doctor_command import doctor_command
from rumpus.interruption import as_keyboard_interrupt
from rumpus.list_command import list_command
from rumpus.run_command import TICK_MS, run_command
from rumpus.usage_error import UsageError
from rumpus.version import __version__
from workloads.registry import WORKLOADS

USAGE, UNDECIDED, ENVIRONMENT, INTERNAL = 2, 3, 4, 5


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = _parser().parse_args(words)
    arguments.argv = words
    # A log that cannot be written (the disk may be full) is not worth a traceback.
    logging.raiseExceptions = arguments.verbose
    try:
        with as_keyboard_interrupt():
            return int(arguments.command(arguments))
    except (UsageError, PlanError, UnreadableRun) as error:
        return _refuse(arguments, error, USAGE)
    except (EnvironmentRefusal, StoreError) as error:
        return _refuse(arguments, error, ENVIRONMENT)
    except KeyboardInterrupt:
        _say("interrupted", style="yellow")
        return UNDECIDED
    except WorkerCrash as error:
        return _refuse(arguments, error, INTERNAL)
    except Exception as error:  # the last resort: name it, and show where only when asked
        _refuse(arguments, error, INTERNAL)
        _say(f"this is a defect of rumpus ({type(error).__name__}); -v shows where")
        return INTERNAL


def _refuse(arguments: argparse.Namespace, error: Exception, code: int) -> int:
    if arguments.verbose:
        trace = "".join(traceback.format_exception(error))
        notices().print(trace, markup=False, highlight=False, soft_wrap=True)
    _say(str(error), style="red")
    return code


def _say(words: str, style: str = "") -> None:
    # One line, however long: what it names must stay in one piece to be copied.
    notices().print(f"rumpus: {words}", style=style, markup=False, highlight=False, soft_wrap=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rumpus",
        description="Correctness and chaos tests for coordination recipes on ZooKeeper.",
        epilog="Exit codes: 0 valid; 1 violation; 2 wrong usage; 3 unknown, inconclusive or "
        "interrupted; 4 this host does not allow it; 5 a defect of rumpus.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"rumpus {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], summary: str) -> _Command:
        # An abbreviation would mean something else once there is a longer option.
        added = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            allow_abbrev=False,
        )
        added.set_defaults(command=run)
        added.add_argument("-v", "--verbose", action="store_true", help="show traces of errors")
        return added

    _add_run_options(command("run", run_command, "run a workload under faults and judge it"))

    listing = command("list", list_command, "workloads, recipes with their promises, and faults")
    listing.add_argument("--json", action="store_true", help=_JSON)

    check = command("check", check_command, "judge a run again from disk, or a history alone")
    check.add_argument("path", type=Path, metavar="RUN_OR_HISTORY", help="runs/latest, for example")
    check.add_argument("--json", action="store_true", help=_JSON)

    doctor = command("doctor", doctor_command, "what this host can do, and what is missing")
    doctor.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help=_RUNS)

    clean = command("clean", clean_command, "remove the containers that killed runs left")
    clean.add_argument("--all", action="store_true", help="those of runs that still go on, too")
    return parser


_Command = argparse.ArgumentParser
_JSON = "one JSON document on standard output, and nothing else there"
_RUNS = "where runs are kept (default: runs)"


def _add_run_options(run: _Command) -> None:
    run.add_argument("workload", metavar="WORKLOAD", help=f"{', '.join(WORKLOADS)}")
    run.add_argument("--recipe", default="fair", help="see `rumpus list` (default: fair)")
    run.add_argument(
        "--ensemble", choices=["docker"], default="docker", help="what the servers are"
    )
    run.add_argument(
        "--nodes", type=_count(1, 9), default=3, metavar="N", help="servers (default: 3)"
    )
    run.add_argument(
        "--clients", type=_count(1, 100), default=5, metavar="N", help="clients (default: 5)"
    )
    run.add_argument(
        "--time-limit",
        type=_seconds(),
        default=60.0,
        metavar="S",
        help="seconds of load (default: 60)",
    )
    run.add_argument(
        "--nemesis",
        type=_kinds,
        metavar="KINDS",
        help=f"faults, with commas between, or none (default: all: {', '.join(FAULTS)})",
    )
    run.add_argument(
        "--nemesis-interval",
        type=_seconds(),
        default=10.0,
        metavar="S",
        help="seconds from one fault to the next (default: 10, or less so that every kind fits)",
    )
    run.add_argument(
        "--seed", type=int, metavar="N", help="of every random choice (default: a new one)"
    )
    run.add_argument(
        "--plan", type=Path, metavar="FILE", help="a fault plan (plan.json of a run), not chance"
    )
    run.add_argument("--image", type=_name, help="another ZooKeeper image (default: our own)")
    run.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help=_RUNS)
    run.add_argument("--fencing", action="store_true", help="the resource checks fencing tokens")
    run.add_argument(
        "--session-timeout",
        # What servers grant: 2 to 20 ticks.
        type=_seconds(2 * TICK_MS / 1000, 20 * TICK_MS / 1000),
        default=2.0,
        metavar="S",
        help="seconds that a session outlives its client (default: 2)",
    )
    run.add_argument("--strict", action="store_true", help="hazards fail the run too")
    run.add_argument("--json", action="store_true", help=_JSON)


def _count(least: int, most: int) -> Callable[[str], int]:
    def count(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{number} is not from {least} to {most}")
        return number

    return count


def _seconds(least: float = 0.001, most: float = 10_000_000) -> Callable[[str], float]:
    def seconds(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text} is not from {least:g} to {most:g} seconds")
        return number

    return seconds


def _kinds(text: str) -> list[str]:
    kinds = [kind.strip() for kind in text.split(",")]
    if kinds == ["none"]:
        return []
    there = f"there are {', '.join(FAULTS)}; or none, by itself"
    if kinds == [""]:
        raise argparse.ArgumentTypeError(f"it is empty; {there}")
    unknown = [kind for kind in kinds if kind not in FAULTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown fault {', '.join(map(repr, unknown))}; {there}")
    return [kind for kind in FAULTS if kind in kinds]


def _name(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return text


if __name__ == "__main__":
    sys.exit(main())
