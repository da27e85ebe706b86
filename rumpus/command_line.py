"""The command line: arguments in, an exit code out (``rumpus.exit_codes``), errors in words."""

import argparse
import contextlib
import importlib
import json
import logging
import math
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from rumpus.argument_types import (
    add_cases,
    add_count,
    add_json,
    add_path,
    add_runs,
    add_seconds,
    count,
    seconds,
)
from rumpus.consoles import Lines, documents_printed, notices, print_json
from rumpus.exit_codes import DEFECT, MEANINGS, UNDECIDED, USAGE, ending, exit_code, in_words
from rumpus.interruption import as_keyboard_interrupt
from rumpus.results.escapes import escaped_lines
from rumpus.results.store_error import StoreError
from rumpus.version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = make_parser(words)
    try:
        for word in words:
            if _surrogates(word):
                # The word goes into the run's record, its report and the output: all are UTF-8.
                parser.error(f"{word!a} is not UTF-8: give the file or directory another name")
        arguments = parser.parse_args(words)
    except _WrongArguments as wrong:
        if parser.takes_json(words):
            _answer(USAGE, wrong.why)
        raise
    arguments.argv = words
    arguments.printed = documents_printed()
    # A log that cannot be written (the disk may be full) is not worth a traceback.
    logging.raiseExceptions = arguments.verbose
    try:
        with as_keyboard_interrupt():
            return int(_command(arguments)(arguments))
    except KeyboardInterrupt:
        return interrupted(words, arguments.printed)
    except Exception as error:  # the last resort: name it, and show where only when asked
        return _refused(arguments, error)


def interrupted(words: Sequence[str], printed: int = 0) -> int:
    """Say that somebody has ended the command; the exit code.

    Args:
        words: the command line's arguments.
        printed: how many JSON documents had been printed when the command began.
    """
    _say("interrupted", style="yellow")
    if "--json" in words and documents_printed() == printed:
        _answer(UNDECIDED, "interrupted", interrupted=True)
    return UNDECIDED


def _surrogates(word: str) -> bool:
    """Whether a word of the command line had bytes that are not UTF-8."""
    return any("\udc80" <= letter <= "\udcff" for letter in word)


def _command(arguments: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    """The function to call. Only its module is imported, so that each command starts fast."""
    name = arguments.command
    if name == "check_command" and arguments.model is not None:
        name = "check_model"
    command: Callable[[argparse.Namespace], int]
    command = getattr(importlib.import_module(f"rumpus.commands.{name}"), name)
    return command


def _refused(arguments: argparse.Namespace, error: Exception) -> int:
    """Say why a command did not come to its end; the exit code."""
    code = exit_code(error)
    words = in_words(error)
    if arguments.verbose:
        trace = "".join(traceback.format_exception(error))
        notices().print(Lines(trace), soft_wrap=True)
    _say(words, style="red")
    if code == DEFECT and not _is_crash(error):
        _say(f"this is a defect of rumpus ({type(error).__name__}); -v shows where")
    if getattr(arguments, "json", False) and documents_printed() == arguments.printed:
        _answer(code, words)
    return code


def _is_crash(error: Exception) -> bool:
    """Whether a client's process failed: perhaps by what a user's recipe did."""
    # Imported only after a failure: the modules of runs are slow to import.
    crash = importlib.import_module("rumpus.harness.clients.workers").WorkerCrash
    return isinstance(error, crash)


def _answer(code: int, reason: str, *, interrupted: bool = False) -> None:
    """Print, if possible, a JSON document for a command that ended without one."""
    how = ending(code, interrupted=interrupted)
    document = {**how, "valid": "unknown", "outcome": "none", "reasons": [reason]}
    with contextlib.suppress(StoreError):
        print_json(json.dumps(document, indent=2).encode() + b"\n")


def _say(words: str, style: str = "") -> None:
    # Never wrapped: paths and commands in it must stay in one piece to be copied.
    notices().print(Lines(f"rumpus: {words}", style), soft_wrap=True)


class _WrongArguments(SystemExit):
    """The command line is wrong, which has been said.

    Attributes:
        why: what is wrong with it.
    """

    def __init__(self, code: int, why: str) -> None:
        super().__init__(code)
        self.why = why


class _Parser(argparse.ArgumentParser):
    """A parser whose errors may quote anything, names of files for example.

    Attributes:
        commands: name -> the parser of its arguments.
    """

    commands: Mapping[str, argparse.ArgumentParser] = {}

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line, and end."""
        try:
            super().error(escaped_lines(message))
        except SystemExit as ended:
            raise _WrongArguments(USAGE, message) from ended

    def takes_json(self, words: Sequence[str]) -> bool:
        """Whether a command line asks a command for JSON that can answer in JSON."""
        command = self.commands.get(words[0]) if words else None
        # What has the option has a default for it.
        return command is not None and "--json" in words and command.get_default("json") is False


def make_parser(words: Sequence[str]) -> _Parser:
    """The parser of a command line. Options of ``run`` are known only if the words begin so."""
    parser = _Parser(
        prog="rumpus",
        description="Correctness and chaos tests for coordination recipes on ZooKeeper.",
        epilog=f"Exit codes: {'; '.join(f'{code} {what}' for code, what in MEANINGS.items())}.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"rumpus {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    parser.commands = commands.choices

    def command(name: str, summary: str) -> argparse.ArgumentParser:
        # An abbreviation would mean something else once there is a longer option.
        added = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            allow_abbrev=False,
        )
        added.set_defaults(command=f"{name.replace('-', '_')}_command")
        added.add_argument("-v", "--verbose", action="store_true", help="show traces of errors")
        return added

    run = command("run", "run a workload under faults and judge it")
    if "run" in words[:1]:
        importlib.import_module("rumpus.runs.run_arguments").add_run_options(run)

    explore = command(
        "explore", "look for failures with seed after seed, and shrink each to a case"
    )
    if "explore" in words[:1]:
        options = importlib.import_module("rumpus.runs.run_arguments")
        options.add_explore_options(explore)

    merge = command("merge", "join what the parts of an exploration have found")
    merge.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="what `rumpus explore --shard I/N --json` has printed, a file for each part",
    )
    add_cases(merge)
    add_json(merge)

    listing = command("list", "workloads, recipes with their promises, faults, and models")
    add_json(listing)

    mutants = command("mutants", "hunt recipes, or servers, with known mistakes in simulated runs")
    mutants.add_argument(
        "--servers", action="store_true", help="hunt mutant servers instead of mutant recipes"
    )
    mutants.add_argument(
        "--family",
        metavar="WORKLOAD",
        help="only mutants of this workload, or those of package.module:Class, a workload of your "
        "own (default: all of rumpus)",
    )
    effort = mutants.add_mutually_exclusive_group()
    effort.add_argument(
        "--budget",
        type=seconds(),
        default=120.0,
        metavar="S",
        help="seconds to spend on each mutant; one not caught by then is missed (default: 120)",
    )
    effort.add_argument(
        "--seeds",
        type=count(1, 10_000),
        metavar="N",
        help="runs of each mutant; it must be caught in at least 4 of 5 of them",
    )
    add_count(
        mutants, "--seed", 0, 2**31, "seed of the first run of each mutant (default: 0)", default=0
    )
    mutants.add_argument(
        "--cases",
        type=Path,
        metavar="DIR",
        help="make a case of each mutant in this directory, in a folder for each family; a case "
        "that is there and still shows its mistake stays as it is",
    )
    mutants.add_argument(
        "--shrink",
        type=seconds(0),
        default=60.0,
        metavar="S",
        help="with --cases: seconds to spend on shrinking each new case (default: 60)",
    )
    _add_jobs(mutants)
    add_json(mutants)

    cause = command("cause", "when did a failure of a simulated run become likely?")
    cause.add_argument("path", type=Path, metavar="CASE|RUN", help="a case, or a run's directory")
    add_count(cause, "--moments", 2, 1000, "moments to look at first (default: 12)", default=12)
    add_count(cause, "--futures", 1, 1000, "futures of each moment (default: 8)", default=8)
    _add_jobs(cause)
    add_json(cause)

    shrink = command("shrink", "make a failing run as small as possible, and keep it as a case")
    shrink.add_argument("path", type=Path, metavar="CASE|RUN", help="a case, or a run's directory")
    shrink.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the case to write (default: cases/WORKLOAD-RECIPE-ANOMALY.case.json)",
    )
    shrink.add_argument(
        "--budget",
        type=seconds(),
        default=120.0,
        metavar="S",
        help="seconds after which no further run begins (default: 120)",
    )
    _add_jobs(shrink)
    add_json(shrink)

    _add_reproduce_options(
        command("reproduce", "look for the failure of a run on real servers in simulated runs")
    )

    _add_replay_options(
        command("replay", "perform failures again that were kept as cases, or a run")
    )

    _add_bisect_options(
        command("bisect", "in which version of kazoo, of your code or of ZooKeeper a failure came")
    )

    _add_check_options(command("check", "judge a run again from disk, or any history by a model"))

    export = command("export", "write a history in a form that other checkers read")
    add_path(export)
    export.add_argument(
        "--format",
        choices=["edn", "porcupine-kv"],
        required=True,
        help="edn for Jepsen and Knossos; porcupine-kv for operations get, put and append",
    )
    export.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write to this file instead of standard output",
    )

    doctor = command("doctor", "what this host can do, and what is missing")
    add_runs(doctor)

    image = command("image", "versions of ZooKeeper for real servers, and the images of them")
    image.add_argument(
        "--version",
        metavar="VERSION",
        help="make the image of this version unless it is here, and print its name; 3.9 means the "
        "newest 3.9 (default: list the versions)",
    )
    add_json(image)

    clean = command("clean", "remove the containers that killed runs left")
    clean.add_argument(
        "--all", action="store_true", help="also remove containers of runs that are still going on"
    )

    _add_init_options(command("init", "write a first test of a recipe or workload of your own"))

    completion = command("completion", "a script by which a shell completes command lines")
    completion.add_argument(
        "shell", nargs="?", choices=("bash", "zsh", "fish"), help="whose script to print"
    )
    completion.add_argument(
        "--names",
        choices=("workloads", "recipes", "faults", "models"),
        help="print the names of these instead, one a line: the scripts call it",
    )

    _add_sim_server_options(command("sim-server", "simulated ZooKeeper servers for real clients"))

    conformance = command("conformance", "check that a server behaves as ZooKeeper 3.8 does")
    conformance.add_argument(
        "server",
        metavar="HOST:PORT",
        help="client port of a test server that nobody else uses; znodes that are made are removed",
    )
    conformance.add_argument(
        "--tick",
        type=seconds(0.01, 60),
        metavar="S",
        help="the server's tickTime (default: as it says itself)",
    )
    add_json(conformance)
    return parser


def _add_sim_server_options(server: argparse.ArgumentParser) -> None:
    add_count(server, "--nodes", 1, 9, "voting servers (default: 3)", default=3)
    add_count(
        server, "--observers", 0, 9, "observers, servers that do not vote (default: 0)", default=0
    )
    server.add_argument(
        "--port",
        type=count(0, 65535),
        default=2181,
        metavar="PORT",
        help="port of the first server on 127.0.0.1; the others take the next ones (default: 2181; "
        "0: any free ones)",
    )
    server.add_argument(
        "--seed",
        type=count(0, 2**63 - 1),
        default=0,
        metavar="SEED",
        help="seed of the servers' random choices (default: 0)",
    )
    add_seconds(
        server,
        "--tick",
        2.0,
        "the servers' tickTime: a silent server is given up after 5 ticks (default: 2)",
        within=(0.01, 60),
    )
    server.add_argument(
        "--control",
        type=count(0, 65535),
        metavar="PORT",
        help="also serve HTTP on this port of 127.0.0.1 (0: any free one), by which tests expire "
        "sessions, kill servers and so on: see docs/testing-applications.md",
    )


def _add_init_options(init: argparse.ArgumentParser) -> None:
    init.add_argument(
        "path",
        type=Path,
        nargs="?",
        default=Path("tests/test_coordination.py"),
        metavar="FILE",
        help="the file to write, which must not exist (default: tests/test_coordination.py)",
    )
    init.add_argument(
        "--workload", metavar="NAME", help="what the clients do (default: lock); see `rumpus list`"
    )
    init.add_argument(
        "--recipe",
        metavar="NAME",
        help="package.module:Name, the class or function to put on trial (default: one of kazoo, "
        "as an example)",
    )


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    """The option for commands that perform many runs."""
    words = "runs in parallel (default: one per processor)"
    add_count(parser, "--jobs", 1, 256, words, default=len(os.sched_getaffinity(0)))


def _add_reproduce_options(reproduce: argparse.ArgumentParser) -> None:
    reproduce.add_argument(
        "path",
        type=Path,
        metavar="RUN",
        help="the run's directory; what it names is run: reproduce only what you trust",
    )
    reproduce.add_argument(
        "--anomaly",
        metavar="KIND",
        help="the kind of anomaly to look for (default: that of the first broken promise)",
    )
    reproduce.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the case to write (default: cases/WORKLOAD-RECIPE-ANOMALY.case.json)",
    )
    add_count(reproduce, "--tries", 1, 100_000, "runs to try at most (default: 300)", default=300)
    reproduce.add_argument(
        "--budget",
        type=seconds(),
        default=math.inf,
        metavar="S",
        help="seconds after which no further run is tried (default: none)",
    )
    add_count(
        reproduce,
        "--shrink",
        0,
        100_000,
        "smaller runs to try once the failure is reproduced (default: 300)",
        default=300,
    )
    _add_jobs(reproduce)
    add_json(reproduce)


def _add_replay_options(replay: argparse.ArgumentParser) -> None:
    replay.add_argument(
        "path",
        type=Path,
        metavar="FILE|DIR|RUN",
        help="a case, a directory with cases (*.case.json), or a run's directory; what they name "
        "is run: replay only what you trust",
    )
    replay.add_argument(
        "--ensemble",
        choices=("sim", "docker", "auto"),
        help="where the servers run (default: as in the case, mostly sim)",
    )
    replay.add_argument(
        "--kazoo", metavar="VERSION|PATH", help="kazoo that the clients run with, as for `run`"
    )
    replay.add_argument(
        "--as-test",
        action="store_true",
        help="run nothing; print a test module that fails as long as the failure is there",
    )
    _add_jobs(replay)
    add_json(replay)


def _add_bisect_options(bisect: argparse.ArgumentParser) -> None:
    bisect.add_argument(
        "path",
        type=Path,
        metavar="CASE",
        help="the failure; what the case names is run: bisect only what you trust",
    )
    of = bisect.add_mutually_exclusive_group(required=True)
    of.add_argument(
        "--kazoo",
        metavar="A..B|A,B,...",
        help="all released versions of kazoo between two; or versions and directories one by one",
    )
    of.add_argument(
        "--commits",
        metavar="OLD..NEW",
        help="commits of a Git repository in which the recipe or the workload is",
    )
    of.add_argument(
        "--images",
        metavar="A,B,...",
        help="images of ZooKeeper, oldest first: the case is performed on real servers in Docker",
    )
    of.add_argument(
        "--zookeeper",
        metavar="A,B,...",
        help="versions of ZooKeeper, oldest first, see `rumpus image`: on real servers, too",
    )
    bisect.add_argument(
        "--repository",
        type=Path,
        metavar="DIR",
        help="with --commits: the repository, or the folder in it in which the case is performed "
        "(default: the working directory)",
    )
    add_count(
        bisect,
        "--seeds",
        1,
        1000,
        "runs of each version, each with another seed, until one shows the failure (default: 5; "
        "1 on real servers)",
    )
    bisect.add_argument(
        "--all",
        action="store_true",
        help="try every version; by default of more than 8 only those that a binary search needs",
    )
    _add_jobs(bisect)
    add_json(bisect)


def _add_check_options(check: argparse.ArgumentParser) -> None:
    add_path(check)
    check.add_argument(
        "--model",
        metavar="MODEL",
        help="model that the operations must follow: see `rumpus list`; or package.module:Class, a "
        "module of the path or of the working directory, whose code is run",
    )
    check.add_argument(
        "--workload",
        metavar="NAME",
        help="workload that made the history, if the history does not say it; for a run of a "
        "workload of your own package.module:Class, whose code is run",
    )
    check.add_argument(
        "--recipe",
        metavar="NAME",
        help="recipe whose promises must be kept (default: all promises)",
    )
    check.add_argument(
        "--initial", metavar="VALUE", help="initial value of the model, JSON or text"
    )
    check.add_argument(
        "--format",
        choices=["auto", "jsonl", "edn", "porcupine-etcd", "porcupine-kv"],
        default="auto",
        help="format of the history (default: auto, from its content)",
    )
    check.add_argument(
        "--budget",
        type=seconds(),
        metavar="SECONDS",
        help="seconds to search before the answer is unknown (default: 60)",
    )
    check.add_argument(
        "--svg", type=Path, metavar="FILE", help="draw the contradiction into this file"
    )
    add_json(check)
