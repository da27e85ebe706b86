"""The commands of rumpus: what each is for, in words, and the arguments that it takes."""

import argparse
import importlib
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rumpus.argument_types import (
    add_cases,
    add_count,
    add_json,
    add_memory,
    add_memory_of_runs,
    add_path,
    add_rulings,
    add_runs,
    add_seconds,
    add_store,
    add_trust,
    argument,
    count,
    name,
    seconds,
)
from rumpus.checker.bounds import LONGEST_S
from rumpus.harness.run_limits import RUN_S


def _run(parser: argparse.ArgumentParser) -> None:
    importlib.import_module("rumpus.runs.run_arguments").add_run_options(parser)
    _add_sign(parser)


def _explore(parser: argparse.ArgumentParser) -> None:
    importlib.import_module("rumpus.runs.run_arguments").add_explore_options(parser)


def _nightly(parser: argparse.ArgumentParser) -> None:
    words = (
        "what to run (default: nightly.toml if it is here; else all that the project's "
        "pyproject.toml names); see docs/how-to/nights.md"
    )
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help=words)
    words = "how long the night takes, such as 30m (default: as FILE says, or 30m)"
    add_seconds(parser, "--budget", None, words)
    _add_night(parser)
    words = "go on with the night that was killed, or ended early"
    parser.add_argument("--resume", action="store_true", help=words)
    words = "print what would be done, in which order, and how long it takes; run nothing"
    parser.add_argument("--dry-run", action="store_true", help=words)
    words = "run only what a change touches; red only for what is worse than without it"
    parser.add_argument("--changed", action="store_true", help=words)
    words = "with --changed: the commit to compare with (default: origin/HEAD, main or master)"
    parser.add_argument("--base", metavar="REF", help=words)
    words = "seed of all random choices (default: a new one each night)"
    parser.add_argument("--seed", type=count(0, 2**31 - 1), metavar="SEED", help=words)
    words = "a program that gets the path of night.json, and its text on standard input"
    parser.add_argument("--notify", metavar="COMMAND", help=words)
    words = "perform only part I, from 0, of N parts; `rumpus merge` joins their night.json"
    parser.add_argument("--shard", type=argument(_shard), metavar="I/N", help=words)
    words = "scheduler of a Dask cluster that performs the simulated runs"
    parser.add_argument("--dask", type=name, metavar="ADDRESS", help=words)
    words = "print the JSON schema of FILE, and do nothing else"
    parser.add_argument("--schema", action="store_true", help=words)
    _add_jobs(parser)
    add_memory_of_runs(parser)
    add_json(parser)


def _add_night(parser: argparse.ArgumentParser) -> None:
    """The options that say where a night is kept."""
    add_store(parser)
    words = (
        "where a night's documents go (default: runs/nights/NAME; runs/nights/latest is the newest)"
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help=words)


def _shard(text: str) -> object:
    return importlib.import_module("rumpus.runs.shard").shard_of(text)


def _merge(parser: argparse.ArgumentParser) -> None:
    words = (
        "what `rumpus explore --shard I/N --json` has printed, a file for each part; or the "
        "night.json of each part of a night"
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help=words)
    add_cases(parser)
    _add_night(parser)
    add_json(parser)
    add_memory(parser)


def _mutants(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--servers", action="store_true", help="hunt mutant servers instead of mutant recipes"
    )
    words = (
        "only mutants of this workload, or those of package.module:Class, a workload of your "
        "own (default: all of rumpus)"
    )
    parser.add_argument("--family", metavar="WORKLOAD", help=words)
    effort = parser.add_mutually_exclusive_group()
    words = "seconds to spend on each mutant; one not caught by then is missed (default: 120)"
    effort.add_argument("--budget", type=seconds(), default=120.0, metavar="S", help=words)
    words = "runs of each mutant; it must be caught in at least 4 of 5 of them"
    effort.add_argument("--seeds", type=count(1, 10_000), metavar="N", help=words)
    add_count(
        parser, "--seed", 0, 2**31, "seed of the first run of each mutant (default: 0)", default=0
    )
    words = (
        "make a case of each mutant in this directory, in a folder for each family; a case "
        "that is there and still shows its mistake stays as it is"
    )
    parser.add_argument("--cases", type=Path, metavar="DIR", help=words)
    words = "with --cases: seconds to spend on shrinking each new case (default: 60)"
    add_seconds(parser, "--shrink", 60.0, words, within=(0, LONGEST_S))
    _add_jobs(parser)
    add_json(parser)


def _mutate(parser: argparse.ArgumentParser) -> None:
    arguments = importlib.import_module("rumpus.runs.run_arguments")
    arguments.add_settings(parser, without=arguments.NOT_OF_MUTANTS)
    words = "hunt only so many mutants, drawn by hash: always the same ones (default: all)"
    add_count(parser, "--sample", 1, 1_000_000, words, default=None)
    words = "seconds of processor time for each mutant; one that shows nothing by then survives"
    add_seconds(parser, "--budget", 20.0, f"{words} (default: 20)", within=(0, LONGEST_S))
    words = (
        "percentage of the mutants that must be noticed, of those that runs reach and that are "
        "no equivalents (default: all)"
    )
    add_count(parser, "--least", 0, 100, words, default=None)
    words = (
        "where fates and the patches of survivors are kept; the same command goes on from there "
        "(default: mutants)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("mutants"), metavar="DIR", help=words
    )
    _add_jobs(parser)
    add_json(parser)


def _cause(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, metavar="CASE|RUN", help="a case, or a run's directory")
    add_count(parser, "--moments", 2, 1000, "moments to look at first (default: 12)", default=12)
    add_count(parser, "--futures", 1, 1000, "futures of each moment (default: 8)", default=8)
    _add_run_budget(parser)
    _add_jobs(parser)
    add_trust(parser)
    add_memory(parser)
    add_json(parser)


def _shrink(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, metavar="CASE|RUN", help="a case, or a run's directory")
    _add_output(parser, "the case to write (default: cases/WORKLOAD-RECIPE-ANOMALY.case.json)")
    add_seconds(
        parser,
        "--budget",
        120.0,
        "seconds after which no further run begins, and one under way is soon ended (default: 120)",
    )
    _add_jobs(parser)
    add_trust(parser)
    add_memory(parser)
    add_json(parser)


def _reproduce(parser: argparse.ArgumentParser) -> None:
    words = "the run's directory"
    parser.add_argument("path", type=Path, metavar="RUN", help=words)
    words = "the kind of anomaly to look for (default: that of the first broken promise)"
    parser.add_argument("--anomaly", metavar="KIND", help=words)
    _add_output(parser, "the case to write (default: cases/WORKLOAD-RECIPE-ANOMALY.case.json)")
    add_count(parser, "--tries", 1, 100_000, "runs to try at most (default: 300)", default=300)
    words = "seconds after which no further run is tried (default: none)"
    add_seconds(parser, "--budget", math.inf, words)
    words = "smaller runs to try once the failure is reproduced (default: 300)"
    add_count(parser, "--shrink", 0, 100_000, words, default=300)
    _add_jobs(parser)
    add_trust(parser)
    add_memory(parser)
    add_json(parser)


def _replay(parser: argparse.ArgumentParser) -> None:
    words = "a case, a directory with cases (*.case.json), or a run's directory"
    parser.add_argument("path", type=Path, metavar="FILE|DIR|RUN", help=words)
    words = "where the servers run (default: as in the case, mostly sim)"
    parser.add_argument("--ensemble", choices=("sim", "docker", "auto"), help=words)
    parser.add_argument(
        "--kazoo", metavar="VERSION|PATH", help="kazoo that the clients run with, as for `run`"
    )
    words = "run nothing; print a test module that fails as long as the failure is there"
    parser.add_argument("--as-test", action="store_true", help=words)
    words = "write the report of a single case's run to this file"
    parser.add_argument("--report", type=Path, metavar="FILE.html", help=words)
    _add_run_budget(parser)
    _add_jobs(parser)
    add_trust(parser)
    add_memory(parser)
    add_json(parser)


def _add_run_budget(parser: argparse.ArgumentParser) -> None:
    words = f"seconds that a simulated run may take, each by itself (default: {RUN_S:g})"
    add_seconds(parser, "--budget", RUN_S, words)


def _bisect(parser: argparse.ArgumentParser) -> None:
    words = "the failure"
    parser.add_argument("path", type=Path, metavar="CASE", help=words)
    of = parser.add_mutually_exclusive_group(required=True)
    words = "all released versions of kazoo between two; or versions and directories one by one"
    of.add_argument("--kazoo", metavar="A..B|A,B,...", help=words)
    words = "commits of a Git repository in which the recipe or the workload is"
    of.add_argument("--commits", metavar="OLD..NEW", help=words)
    words = "images of ZooKeeper, oldest first: the case is performed on real servers in Docker"
    of.add_argument("--images", metavar="A,B,...", help=words)
    words = "versions of ZooKeeper, oldest first, see `rumpus image`: on real servers, too"
    of.add_argument("--zookeeper", metavar="A,B,...", help=words)
    words = (
        "with --commits: the repository, or the folder in it in which the case is performed "
        "(default: the working directory)"
    )
    parser.add_argument("--repository", type=Path, metavar="DIR", help=words)
    words = (
        "runs of each version, each with another seed, until one shows the failure (default: 5; "
        "1 on real servers)"
    )
    add_count(parser, "--seeds", 1, 1000, words)
    words = "try every version; by default of more than 8 only those that a binary search needs"
    parser.add_argument("--all", action="store_true", help=words)
    _add_run_budget(parser)
    _add_jobs(parser)
    add_trust(parser)
    add_memory(parser)
    add_json(parser)


def _triage(parser: argparse.ArgumentParser) -> None:
    words = "failures: files of cases, directories with such, or runs"
    parser.add_argument("paths", type=Path, nargs="+", metavar="CASE|DIR", help=words)
    words = (
        "changes of kazoo, each of which mends one flaw, as after + of --kazoo; of a directory "
        "each file in it"
    )
    parser.add_argument(
        "--mends", type=Path, nargs="+", required=True, metavar="FILE|DIR", help=words
    )
    add_rulings(parser)
    _add_run_budget(parser)
    _add_jobs(parser)
    add_trust(parser)
    add_memory(parser)
    add_json(parser)


def _check(parser: argparse.ArgumentParser) -> None:
    add_path(parser)
    words = (
        "model that the operations must follow: see `rumpus list`; or package.module:Class, a "
        "module of the path or of the working directory, whose code is run"
    )
    parser.add_argument("--model", metavar="MODEL", help=words)
    words = (
        "workload that made the history, if the history does not say it; for a run of a "
        "workload of your own package.module:Class, whose code is run"
    )
    parser.add_argument("--workload", metavar="NAME", help=words)
    words = "recipe whose promises must be kept (default: all promises)"
    parser.add_argument("--recipe", metavar="NAME", help=words)
    parser.add_argument(
        "--initial", metavar="VALUE", help="initial value of the model, JSON or text"
    )
    parser.add_argument(
        "--format",
        choices=["auto", "jsonl", "edn", "porcupine-etcd", "porcupine-kv"],
        default="auto",
        help="format of the history (default: auto, from its content)",
    )
    words = (
        "seconds to search by --model before the answer is unknown (default: 60), or that "
        f"--perform may take (default: {RUN_S:g})"
    )
    parser.add_argument("--budget", type=seconds(), metavar="SECONDS", help=words)
    parser.add_argument(
        "--svg", type=Path, metavar="FILE", help="draw the contradiction into this file"
    )
    words = (
        "perform the simulated run again, and compare the digests: the strongest evidence that its "
        "files are true"
    )
    parser.add_argument("--perform", action="store_true", help=words)
    _add_sign(parser)
    words = (
        "refuse the run (2) unless it is, unchanged, what the holder of this public key has "
        "signed; several times: of any of these keys"
    )
    parser.add_argument(
        "--require", type=Path, action="append", default=[], metavar="PUBLIC_KEY", help=words
    )
    words = (
        "take the run's files at their word though they were not made here, from now on; else it "
        "is valid only if --perform or --require says so"
    )
    parser.add_argument("--believe", action="store_true", help=words)
    add_trust(parser)
    add_memory(parser)
    add_json(parser)


def _export(parser: argparse.ArgumentParser) -> None:
    add_path(parser)
    words = "edn for Jepsen and Knossos; porcupine-kv for operations get, put and append"
    parser.add_argument("--format", choices=["edn", "porcupine-kv"], required=True, help=words)
    _add_output(parser, "write to this file instead of standard output")
    add_memory(parser)


def _image(parser: argparse.ArgumentParser) -> None:
    words = (
        "make the image of this version unless it is here, and print its name; 3.9 means the "
        "newest 3.9 (default: list the versions)"
    )
    parser.add_argument("--version", metavar="VERSION", help=words)
    add_json(parser)


def _clean(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all", action="store_true", help="also remove containers of runs that are still going on"
    )


def _init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="the file to write, which must not exist (default: tests/test_coordination.py)",
    )
    parser.add_argument(
        "--workload", metavar="NAME", help="what the clients do (default: lock); see `rumpus list`"
    )
    words = (
        "package.module:Name, the class or function to put on trial (default: one of kazoo, "
        "as an example)"
    )
    parser.add_argument("--recipe", metavar="NAME", help=words)
    words = "write a schedule instead: files by which it performs `rumpus nightly` every night"
    parser.add_argument("--nightly", choices=("github", "gitlab", "cron"), help=words)


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", nargs="?", choices=("bash", "zsh", "fish"), help="whose script to print"
    )
    words = "print the names of these instead, one a line: the scripts call it"
    parser.add_argument("--names", choices=("workloads", "recipes", "faults", "models"), help=words)


def _sim_server(parser: argparse.ArgumentParser) -> None:
    add_count(parser, "--nodes", 1, 9, "voting servers (default: 3)", default=3)
    add_count(
        parser, "--observers", 0, 9, "observers, servers that do not vote (default: 0)", default=0
    )
    words = (
        "port of the first server on 127.0.0.1; the others take the next ones (default: 2181; "
        "0: any free ones)"
    )
    parser.add_argument("--port", type=count(0, 65535), default=2181, metavar="PORT", help=words)
    words = "seed of the servers' random choices (default: 0)"
    parser.add_argument("--seed", type=count(0, 2**63 - 1), default=0, metavar="SEED", help=words)
    words = "the servers' tickTime: a silent server is given up after 5 ticks (default: 2)"
    add_seconds(parser, "--tick", 2.0, words, within=(0.01, 60))
    words = (
        "also serve HTTP on this port of 127.0.0.1 (0: any free one), by which tests expire "
        "sessions, kill servers and so on: see docs/how-to/testing-applications.md"
    )
    parser.add_argument("--control", type=count(0, 65535), metavar="PORT", help=words)


def _conformance(parser: argparse.ArgumentParser) -> None:
    words = "client port of a test server that nobody else uses; znodes that are made are removed"
    parser.add_argument("server", metavar="HOST:PORT", help=words)
    words = "the server's tickTime (default: as it says itself)"
    add_seconds(parser, "--tick", None, words, within=(0.01, 60))
    add_json(parser)


def _nights(parser: argparse.ArgumentParser) -> None:
    words = (
        "write pages about them into this directory, of which DIR/index.html is the first; those "
        "that are there and have not changed stay as they are"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--html", type=Path, metavar="DIR", help=words)
    words = "how often each subject broke a promise, over all nights, in place of the list"
    what.add_argument("--rates", action="store_true", help=words)
    _add_store(parser)
    add_json(parser)
    add_memory(parser)


def _serve(parser: argparse.ArgumentParser) -> None:
    words = "address, or name of this machine, to listen on (default: 127.0.0.1: only from here)"
    parser.add_argument("--host", type=name, default="127.0.0.1", metavar="HOST", help=words)
    words = "port to listen on (default: 8017; 0: any free one)"
    parser.add_argument("--port", type=count(0, 65535), default=8017, metavar="PORT", help=words)
    _add_store(parser)
    add_runs(parser)
    add_memory(parser)


def _failure(parser: argparse.ArgumentParser) -> None:
    words = "the failure's name, or its first 4 digits or more; `rumpus nights --json` has them"
    parser.add_argument("failure", metavar="ID", help=words)
    parser.add_argument("--case", type=Path, metavar="FILE", help="write its case to this file")
    _add_store(parser)
    add_json(parser)
    add_memory(parser)


def _compare(parser: argparse.ArgumentParser) -> None:
    words = (
        "a run's directory or one with runs in it, a night (2026-11-26, last, last~1), a branch, "
        "whose newest 5 nights count, or a version (kazoo=2.10.0)"
    )
    parser.add_argument("a", metavar="A", help=words)
    parser.add_argument("b", metavar="B", help="what is compared with it, named likewise")
    parser.add_argument("--markdown", action="store_true", help="as Markdown, for a pull request")
    _add_store(parser)
    add_trust(parser)
    add_memory(parser)
    add_json(parser)


def _bundle(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("failure", metavar="ID", help="the failure's name, or its first digits")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE.zip", help="the file to write"
    )
    words = "leave out the module of a recipe or workload of your own"
    parser.add_argument("--without-source", action="store_true", help=words)
    _add_run_budget(parser)
    _add_store(parser)
    add_trust(parser)
    add_memory(parser)
    add_json(parser)


def _track_record(parser: argparse.ArgumentParser) -> None:
    words = "the record (default: cases/track-record.toml)"
    default = Path("cases/track-record.toml")
    parser.add_argument("file", type=Path, nargs="?", default=default, metavar="FILE", help=words)
    words = "replay the cases first, and note which still show their flaw"
    parser.add_argument("--replay", action="store_true", help=words)
    words = "explore for each case that has none how long it takes to see its flaw, five times"
    parser.add_argument("--measure", action="store_true", help=words)
    words = "seconds of processor time after which such an exploration gives up"
    add_seconds(parser, "--budget", 120.0, words, within=(1, LONGEST_S))
    _add_jobs(parser)
    add_trust(parser)
    add_json(parser)


def _add_store(parser: argparse.ArgumentParser) -> None:
    """The option that says where nights are kept."""
    words = "where nights are kept (default: runs/nights.sqlite)"
    parser.add_argument(
        "--store", type=Path, default=Path("runs/nights.sqlite"), metavar="FILE", help=words
    )


def _add_output(parser: argparse.ArgumentParser, words: str) -> None:
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=words)


def _add_sign(parser: argparse.ArgumentParser) -> None:
    """The option that vouches for a run. No setting of a run: a file must not make anybody sign."""
    words = "sign the run's seal with this private ed25519 key, in PEM or OpenSSH's format"
    parser.add_argument("--sign", type=Path, metavar="KEY", help=words)


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    """The option for commands that perform many runs."""
    words = "runs in parallel (default: one per processor)"
    add_count(parser, "--jobs", 1, 256, words, default=len(os.sched_getaffinity(0)))


COMMANDS: Final[Mapping[str, tuple[str, Callable[[argparse.ArgumentParser], None]]]] = {
    "run": ("run a workload under faults and judge it", _run),
    "explore": ("look for failures with seed after seed, and shrink each to a case", _explore),
    "nightly": ("run what matters within a budget, remember it, and say what is new", _nightly),
    "merge": ("join what the parts of an exploration, or of a night, have found", _merge),
    "list": ("workloads, recipes with their promises, faults, and models", add_json),
    "mutants": ("hunt recipes, or servers, with known mistakes in simulated runs", _mutants),
    "mutate": (
        "make mistakes in recipes by machine, and see which of them a trial notices",
        _mutate,
    ),
    "cause": ("when did a failure of a simulated run become likely?", _cause),
    "shrink": ("make a failing run as small as possible, and keep it as a case", _shrink),
    "reproduce": ("look for the failure of a run on real servers in simulated runs", _reproduce),
    "replay": ("perform failures again that were kept as cases, or a run", _replay),
    "bisect": ("in which version of kazoo, of your code or of ZooKeeper a failure came", _bisect),
    "triage": ("which failures are one: those that the same change mends", _triage),
    "nights": ("the nights that were performed, one a line", _nights),
    "serve": ("pages about nights, runs in progress and their files, for a browser", _serve),
    "failure": ("what the nights know of a failure, and how to perform it again", _failure),
    "track-record": ("what was found, missed, and reported wrongly", _track_record),
    "bundle": ("one zip by which a stranger sees a failure and performs it again", _bundle),
    "compare": (
        "what is new, gone or worse between two nights, branches, versions or runs",
        _compare,
    ),
    "check": ("judge a run again from disk, or any history by a model", _check),
    "export": ("write a history in a form that other checkers read", _export),
    "doctor": ("what this host can do, and what is missing", add_runs),
    "image": ("versions of ZooKeeper for real servers, and the images of them", _image),
    "clean": ("remove the containers and temporary files that killed runs left", _clean),
    "init": ("write a first test of a recipe or workload of your own, or a schedule", _init),
    "completion": ("a script by which a shell completes command lines", _completion),
    "sim-server": ("simulated ZooKeeper servers for real clients", _sim_server),
    "conformance": ("check that a server behaves as ZooKeeper 3.8 does", _conformance),
}
"""Name of a command -> what it is for, and what adds its arguments to its parser."""
