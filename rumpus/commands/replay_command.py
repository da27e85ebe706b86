"""``rumpus replay``: performs the runs of cases again and says which failures are still there."""

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from rumpus.campaigns.case import Case, load_case
from rumpus.campaigns.performed_again import PerformedAgain, perform_again
from rumpus.campaigns.replaying import (
    Replay,
    as_test,
    judge_replay,
    replay_task,
)
from rumpus.campaigns.run_cases import cases_at, given_case, is_alone, is_run, judged_again
from rumpus.campaigns.tasks import Attempt, attempts, processes
from rumpus.campaigns.trial_task import NOT_REPEATABLE
from rumpus.checker.wording import counted
from rumpus.consoles import answers, notices, print_document, print_text, shown
from rumpus.exit_codes import VALID, campaign_exit_code, ending
from rumpus.live_line import waiting
from rumpus.nights.documents.bundling import performed_again
from rumpus.results.atomic_file import check_writable, named_file, write_atomically
from rumpus.usage_error import UsageError

_REPORT = "--report FILE"
OTHER_RUN = (
    "not the same run as the case's: the program, the recipe or kazoo has changed since, or the "
    "file has"
)
_STYLES = {True: "bold red", False: "green", "unknown": "yellow"}


def replay_command(arguments: argparse.Namespace) -> int:
    """Replay a case, all cases of a directory, or a run; the exit code.

    1 if a failure was seen (the expected or another one), else the gravest exit code of a case
    that could not be performed, but at least 3 if one cannot be judged, or not all were performed;
    else 0.

    Raises:
        UsageError: there is no case, or it is malformed, or a report of several is asked for.
        StoreError: the report cannot be written.
    """
    if arguments.report is not None:
        check_writable(named_file(arguments.report, option=_REPORT), option=_REPORT)
    if is_run(arguments.path) and not (_given_changes(arguments) or arguments.as_test):
        _, was = judged_again(arguments.path, trust=arguments.trust)
        if not was.seen:
            if arguments.report is not None:
                raise UsageError(
                    f"--report: nothing went wrong in {arguments.path}; its own report is there"
                )
            return _of_sound_run(arguments, perform_again(arguments.path, was, arguments.budget))
    # A test that is printed imports nothing, whatever the case names.
    read = (
        load_case
        if arguments.as_test
        else partial(given_case, trust=arguments.trust, within=arguments.path)
    )
    cases = dict(cases_at(arguments.path, read, trust=arguments.trust))
    if arguments.report is not None and (_given_changes(arguments) or len(cases) != 1):
        raise UsageError("--report is for a single case as it is: name one, and change nothing")
    if arguments.as_test:
        print_text([as_test(cases)])
        return VALID
    tasks = [replay_task(case, **_given_changes(arguments)) for case in cases.values()]
    rows: list[dict[str, Any]] = []
    console = notices()
    if not all(task.repeatable for task in tasks):
        console.print(Text(NOT_REPEATABLE), soft_wrap=True)
    interrupted = False
    with (
        processes(min(arguments.jobs, len(tasks))) as executor,
        waiting(console, f"performing {counted(len(tasks), 'run')}"),
    ):
        done = attempts(executor, tasks, arguments.budget)
        try:
            for (name, case), attempt in zip(cases.items(), done, strict=True):
                told = None
                if attempt.outcome is not None:
                    told = judge_replay(name, case, attempt.outcome)
                rows.append(_row(name, case, told, attempt))
                if not arguments.json:
                    _print(rows[-1], told, answers(), alone=len(cases) == 1)
                elif len(cases) > 1:
                    console.print(_line(rows[-1]), soft_wrap=True)
        except KeyboardInterrupt:
            if not rows:
                raise
            interrupted = True
            console.print(Text(f"interrupted, after {len(rows)} of {len(cases)} cases"))
    code = _exit_code(rows, interrupted=interrupted)
    if arguments.report is not None and not interrupted:
        _write_report(arguments, next(iter(cases.values())))
    if arguments.json:
        document = rows[0] if is_alone(arguments.path) else {"cases": rows}
        document |= ending(code, interrupted=interrupted)
        print_document(document)
    return code


def _given_changes(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of the case's run that are to differ."""
    changes = {"ensemble": arguments.ensemble, "kazoo": arguments.kazoo}
    return {name: value for name, value in changes.items() if value is not None}


def _write_report(arguments: argparse.Namespace, case: Case) -> None:
    """Perform the case's run once more, and write its report.

    Raises:
        StoreError: it cannot be written.
    """
    again = performed_again(case, str(arguments.path), seconds=arguments.budget)
    if again.report is None:
        notices().print(Text(f"no report: {again.why}"), soft_wrap=True)
        return
    place = named_file(arguments.report, option=_REPORT)
    write_atomically(place, again.report, option=_REPORT)
    notices().print(Text(f"report: {shown(arguments.report)}"), soft_wrap=True)


def _exit_code(rows: Sequence[Mapping[str, Any]], *, interrupted: bool) -> int:
    return campaign_exit_code(
        failed=any(row["reproduced"] is True or row["anomaly"] for row in rows),
        errors=[row["exit_code"] for row in rows if row["error"]],
        undecided=interrupted
        or any(row["reproduced"] == "unknown" and not row["error"] for row in rows),
    )


def _of_sound_run(arguments: argparse.Namespace, again: PerformedAgain) -> int:
    """Say whether a run without anomalies was performed as its files say; the exit code."""
    shown_now = next((each for each in again.now.seen if each.promised), None)
    code = campaign_exit_code(failed=shown_now is not None, undecided=not again.same)
    if arguments.json:
        document = {
            "case": arguments.path.resolve().name,
            "reproduced": False,
            "verdict": again.words,
            "expected": None,
            "anomaly": None if shown_now is None else str(shown_now.fingerprint),
            "same_run": again.same,
            "error": None,
            "exit_code": code,
        }
        print_document(document | ending(code))
        return code
    console = answers()
    style = "green" if again.same else "yellow"
    console.print(Text(again.words, style=style), soft_wrap=True)
    was, now = again.was.outcome, again.now.outcome
    told = f"{now}, as it was" if now == was else f"{was} then, {now} now"
    console.print(Text(told), soft_wrap=True)
    return code


def _row(name: str, case: Case, told: Replay | None, attempt: Attempt) -> dict[str, Any]:
    """What came of a case, as plain data."""
    return {
        "case": name,
        "reproduced": "unknown" if told is None else told.reproduced,
        "verdict": f"error: {attempt.error}" if told is None else told.verdict,
        "expected": str(case.expects),
        "anomaly": None if told is None else told.anomaly,
        "same_run": told is not None and told.same,
        "error": attempt.error or None,
        "exit_code": attempt.exit_code,
    }


def _line(row: dict[str, Any]) -> Text:
    words = Text(f"{row['case']}: ")
    words.append(row["verdict"], style=_STYLES[row["reproduced"]])
    return words.append(f" (expected: {row['expected']})")


def _print(row: dict[str, Any], told: Replay | None, console: Console, *, alone: bool) -> None:
    console.print(_line(row), soft_wrap=True)
    if alone and told is not None:
        for line in told.lines[1:]:
            console.print(Text(line), soft_wrap=True)
        if not told.same and told.case.digest is not None:
            console.print(Text(OTHER_RUN), soft_wrap=True)
