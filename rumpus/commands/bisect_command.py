"""``rumpus bisect``: in which version of kazoo, recipes or ZooKeeper a failure came or went."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rumpus.campaigns.bisecting import FEW, Bisection, Ran, Showed, bisect
from rumpus.campaigns.case import Case
from rumpus.campaigns.commit_replays import Repository
from rumpus.campaigns.replaying import case_name, judge_replay, replay_task
from rumpus.campaigns.run_cases import given_case
from rumpus.campaigns.tasks import Attempt, attempts, processes
from rumpus.consoles import answers, notices, print_document
from rumpus.exit_codes import campaign_exit_code, ending
from rumpus.harness.zookeeper_versions import UnknownVersion, find_version
from rumpus.live_line import waiting
from rumpus.results.escapes import escaped
from rumpus.runs.client_library import released_kazoos
from rumpus.usage_error import UsageError

SEEDS = 5
"""Runs of each version in the simulation: in another version the same seed makes another run."""

_STYLES = {"reproduced": "bold red", "not reproduced": "green"}


def bisect_command(arguments: argparse.Namespace) -> int:
    """Perform a case with version after version; the exit code.

    1 if a version showed a failure (the expected or another one), else the gravest exit code of a
    version with which the case could not be performed, but at least 3 if one cannot be judged; else
    0.

    Raises:
        UsageError: the case is malformed, or there are no such versions.
        EnvironmentRefusal: pip cannot list versions.
    """
    elsewhere = arguments.commits is not None
    case = given_case(arguments.path, trust=arguments.trust, elsewhere=elsewhere)
    if arguments.repository is not None and arguments.commits is None:
        raise UsageError("--repository goes with --commits")
    seeds = arguments.seeds or (1 if _is_on_docker(case, arguments) else SEEDS)
    cases = [msgspec.structs.replace(case, seed=case.seed + more) for more in range(seeds)]
    console = notices()

    def notify(showed: Showed) -> None:
        console.print(_line(showed), soft_wrap=True)

    versions: Sequence[str]
    doing = f"looking for {case.expects} in versions"
    few = 1 << 30 if arguments.all else FEW
    if arguments.commits is not None:
        repository = Repository(arguments.repository or Path())
        versions = repository.commits(*_ends(arguments.commits, "--commits"))

        def show(commit: str) -> Iterator[Ran]:
            return repository.replay(commit, cases, jobs=min(arguments.jobs, seeds))

        with waiting(console, doing):
            found = bisect(versions, show, few=few, notify=notify)
    else:
        versions, changed = _versions(arguments)
        with (
            processes(min(arguments.jobs, seeds)) as executor,
            waiting(console, doing),
        ):
            found = bisect(
                versions,
                _shown_by(cases, changed, executor, arguments.budget),
                few=few,
                notify=notify,
            )
    code = _exit_code(found)
    if arguments.json:
        document = _document(arguments, found) | ending(code)
        print_document(document)
    else:
        _print(found, answers())
    return code


def _is_on_docker(case: Case, arguments: argparse.Namespace) -> bool:
    real = arguments.images is not None or arguments.zookeeper is not None
    return real or case.task().settings.ensemble == "docker"


def _ends(text: str, option: str) -> tuple[str, str]:
    """The two ends of a range.

    Raises:
        UsageError: it is none.
    """
    first, dots, last = text.partition("..")
    if not (first and dots and last):
        raise UsageError(f"{option} {text}: name the oldest and the newest, as {option} OLD..NEW")
    return first, last


def _versions(
    arguments: argparse.Namespace,
) -> tuple[Sequence[str], Callable[[str], dict[str, Any]]]:
    """Versions in their order, and for each the options of ``rumpus run`` that choose it.

    Raises:
        UsageError: there are none.
    """
    real: dict[str, Any] = {"ensemble": "docker", "image": None, "zookeeper": None}
    if arguments.images is not None:
        return _listed(arguments.images), lambda image: {**real, "image": image}
    if arguments.zookeeper is not None:
        return _zookeepers(arguments.zookeeper), lambda version: {**real, "zookeeper": version}
    text: str = arguments.kazoo
    # A directory may be in the one above: ../kazoo.
    if ".." in text and "/" not in text:
        versions = released_kazoos(*_ends(text, "--kazoo"))
    else:
        versions = _listed(text)
    return versions, lambda version: {"kazoo": version}


def _zookeepers(text: str) -> list[str]:
    try:
        return list(dict.fromkeys(map(find_version, _listed(text))))
    except UnknownVersion as unknown:
        raise UsageError(f"--zookeeper {text}: {unknown}") from unknown


def _listed(text: str) -> list[str]:
    names = [each.strip() for each in text.split(",") if each.strip()]
    if not names:
        raise UsageError("no versions are named")
    return list(dict.fromkeys(names))


def _shown_by(
    cases: Sequence[Case],
    changed: Callable[[str], dict[str, Any]],
    executor: Executor,
    budget: float,
) -> Callable[[str], Iterator[Ran]]:
    """A function that performs cases with a version, until one shows its failure."""

    def show(version: str) -> Iterator[Ran]:
        tasks = [replay_task(case, **changed(version)) for case in cases]
        for case, attempt in zip(cases, attempts(executor, tasks, budget), strict=True):
            ran = _ran(case, attempt)
            yield ran
            if ran.reproduced is True or ran.error:
                return  # the others would tell nothing new

    return show


def _ran(case: Case, attempt: Attempt) -> Ran:
    if attempt.outcome is None:
        return Ran(reproduced="unknown", error=attempt.error, exit_code=attempt.exit_code)
    told = judge_replay("", case, attempt.outcome)
    return Ran(reproduced=told.reproduced, anomaly=told.anomaly)


def _line(showed: Showed) -> Text:
    return Text(f"{showed.version}: ").append(str(showed), style=_STYLES.get(showed.verdict, ""))


def _print(found: Bisection, console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("version", overflow="fold")  # it may be a long path
    table.add_column("what it showed", min_width=30)
    for each in found.showed:
        told = Text(escaped(str(each)), style=_STYLES.get(each.verdict, "yellow"))
        table.add_row(Text(escaped(each.version)), told)
    console.print(table)
    for line in found.answer:
        console.print(Text(line), soft_wrap=True)


def _document(arguments: argparse.Namespace, found: Bisection) -> dict[str, Any]:
    """The bisection as ``--json`` prints it."""
    return {
        "case": case_name(arguments.path),
        "versions": [
            {
                "version": each.version,
                "verdict": each.verdict,
                "reproduced": "unknown" if each.is_there is None else each.is_there,
                "runs": len(each.runs),
                "anomaly": next((run.anomaly for run in each.runs if run.anomaly), None),
                "error": next((run.error for run in each.runs if run.error), None),
            }
            for each in found.showed
        ],
        "untried": found.untried,
        "changes": [
            {
                "what": "came" if change.came else "went",
                "before": change.before,
                "after": change.after,
                "cannot_tell": [each.version for each in change.between],
            }
            for change in found.changes
        ],
        "answer": list(found.answer),
    }


def _exit_code(found: Bisection) -> int:
    runs = [run for each in found.showed for run in each.runs]
    return campaign_exit_code(
        failed=any(run.reproduced is True or run.anomaly for run in runs),
        errors=[run.exit_code for run in runs if run.error],
        undecided=not runs or any(run.reproduced == "unknown" and not run.error for run in runs),
    )
