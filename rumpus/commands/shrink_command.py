"""``rumpus shrink``: makes a failing run as small as it can, and keeps it as a case."""

import argparse
import math
import time
from pathlib import Path
from typing import Any

import msgspec
from rich.text import Text

from rumpus.campaigns.case import CASES, IN_FILE, Case, check_place_of_case, save_case
from rumpus.campaigns.replaying import ENDING, judge_replay
from rumpus.campaigns.run_cases import given_case
from rumpus.campaigns.shrinking import Shrinking
from rumpus.campaigns.tasks import attempts, processes
from rumpus.campaigns.trial_task import NOT_REPEATABLE
from rumpus.checker.wording import counted
from rumpus.consoles import answers, notices, print_document, shown
from rumpus.exit_codes import UNDECIDED, VIOLATION, ending
from rumpus.live_line import LiveLine, waiting

PLAIN_PERIOD_S = 10.0


def shrink_command(arguments: argparse.Namespace) -> int:
    """Shrink a case, or a run; the exit code.

    1 if the failure was seen again, or another one; 3 if nobody can tell; else 0.

    Raises:
        UsageError: there is no case or run, or it cannot be performed.
        EnvironmentRefusal, StoreError: this host does not allow it.
    """
    check_place_of_case(arguments.output)
    given = given_case(arguments.path, trust=arguments.trust)
    console = notices()
    if not given.task().repeatable:
        console.print(Text(NOT_REPEATABLE), soft_wrap=True)
    with processes(arguments.jobs) as executor:
        with waiting(console, f"performing it as it is: {given.expects}"):
            # On real servers a run takes as long as its load, whatever budget there is for others.
            bound = arguments.budget if given.task().repeatable else math.inf
            (attempt,) = attempts(executor, [given.task()], bound)
        if attempt.bound == "time":
            words = f"{given.expects}: {attempt.error}"
            console.print(Text(words), soft_wrap=True)
            _answer(arguments, None, None, 1, UNDECIDED)
            return UNDECIDED
        outcome = attempt.performed()
        seen = outcome.find(given.expects, promised=given.promised)
        if seen is None:
            told = judge_replay(given.name(), given, outcome)
            console.print(Text(f"not seen again: {given.expects}"), soft_wrap=True)
            for line in told.lines[1:] if told.exit_code else ():
                console.print(Text(line), soft_wrap=True)
            _answer(arguments, None, None, 1, told.exit_code)
            return told.exit_code
        progress = LiveLine(console, PLAIN_PERIOD_S)
        with progress.live():
            shrinking = Shrinking(
                outcome,
                seen,
                executor,
                jobs=arguments.jobs,
                budget=arguments.budget,
                notify=lambda now: progress.show(_status(now, time.monotonic() - progress.began)),
            )
            case = shrinking.shrink()
    # What somebody has written into the case stays.
    case = msgspec.structs.replace(
        case,
        finding=given.finding,
        upstream=given.upstream,
        mutant=given.mutant,
        known=given.known,
    )
    path = arguments.output or CASES / f"{case.name()}{ENDING}"
    save_case(case, path, IN_FILE, named=arguments.output is not None)
    if shrinking.errors:
        words = f"{shrinking.errors} smaller runs could not be performed: {shrinking.why}"
        console.print(Text(words, style="yellow"), soft_wrap=True)
    _answer(arguments, case, path, shrinking.runs, VIOLATION)
    return VIOLATION


def _status(shrinking: Shrinking, elapsed: float) -> Text:
    """How far it is, in a line."""
    task = shrinking.smallest
    faults = 0 if task.plan is None else len(task.plan.entries)
    return Text(
        f"{elapsed:6.1f} s  {counted(shrinking.runs, 'run')} tried; smallest so far: "
        f"{counted(faults, 'fault')}, {counted(task.settings.clients, 'client')}, "
        f"{task.settings.time_limit:g} s of load"
    )


def _answer(
    arguments: argparse.Namespace, case: Case | None, path: Path | None, runs: int, code: int
) -> None:
    if arguments.json:
        document: dict[str, Any] = {
            **ending(code),
            "reproduced": case is not None,
            "case": None if path is None else str(path),
            "runs": runs,
            "faults": [] if case is None else [each.kind for each in case.plan.entries],
            "clients": None if case is None else case.task().settings.clients,
        }
        print_document(document)
    elif case is not None and path is not None:
        console = answers()
        console.print(Text(f"{shown(path)}: {case.expects}, after {runs} runs"), soft_wrap=True)
        for line in case.story:
            console.print(Text(f"  {line}"), soft_wrap=True)
