"""``rumpus cause``: when did a failure become likely?"""

import argparse
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from rumpus.campaigns.case import Case
from rumpus.campaigns.futures import Futures
from rumpus.campaigns.replaying import Replay, judge_replay
from rumpus.campaigns.run_cases import given_case
from rumpus.campaigns.tasks import attempts, processes
from rumpus.consoles import answers, notices, print_document, shown
from rumpus.exit_codes import VIOLATION, ending
from rumpus.live_line import waiting
from rumpus.nemesis.entry import Entry
from rumpus.results.likelihood import Likelihood, Moment
from rumpus.results.likelihood_file import write_likelihood
from rumpus.results.results_document import results_document
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.judging import collector_at_rest, judge_stored, weigh_origin
from rumpus.runs.made_here import note_written
from rumpus.runs.recorded_settings import own_code, settings_of
from rumpus.usage_error import UsageError

BAR = 40
"""Characters of the longest bar."""


def cause_command(arguments: argparse.Namespace) -> int:
    """Measure from when on the futures of a run fail; the exit code.

    1 if the failure was seen again, or another one; 3 if nobody can tell; else 0. The curve of a
    run is drawn in its report.

    Raises:
        UsageError: there is no case or run, it is not of the simulation, or cannot be performed.
        EnvironmentRefusal, StoreError: this host does not allow it.
    """
    case = given_case(arguments.path, trust=arguments.trust)
    if case.task().settings.ensemble != "sim":
        raise UsageError(
            f"{arguments.path}: a run on real servers has no other futures; `rumpus cause` is for "
            "simulated runs"
        )
    console = notices()
    with processes(arguments.jobs) as executor:
        with waiting(console, f"performing it as it is: {case.expects}"):
            (attempt,) = attempts(executor, [case.task()], arguments.budget)
            outcome = attempt.performed()
        if outcome.find(case.expects, promised=case.promised) is not None:
            futures = Futures(
                case,
                executor,
                jobs=arguments.jobs,
                futures=arguments.futures,
                budget=arguments.budget,
                notify=lambda so_far: console.print(
                    f"{len(so_far.moments)} moments", soft_wrap=True
                ),
            )
            likelihood = futures.measure(arguments.moments)
            if arguments.path.is_dir():
                _renew_report(RunDirectory(arguments.path), likelihood)
            _answer(arguments, case, likelihood)
            return VIOLATION
    told = judge_replay(case.name(), case, outcome)
    _not_seen(arguments, case, told)
    return told.exit_code


def _not_seen(arguments: argparse.Namespace, case: Case, told: Replay) -> None:
    """Say that the run did not fail as it had."""
    console = notices()
    console.print(Text(f"not seen again: {case.expects}"), soft_wrap=True)
    for line in told.lines[1:] if told.exit_code else ():
        console.print(Text(line), soft_wrap=True)
    if arguments.json:
        document: dict[str, Any] = {
            **ending(told.exit_code),
            "failure": str(case.expects),
            "moments": [],
            "step": None,
            "faults": [],
        }
        print_document(document)


def _renew_report(directory: RunDirectory, likelihood: Likelihood) -> None:
    write_likelihood(directory.likelihood, likelihood)
    record = directory.read_record()
    own = own_code(record, settings_of(record, directory.path))
    with collector_at_rest():
        record, timeline, verdict = judge_stored(directory, *own)
        weigh_origin(directory, verdict)
        results = results_document(directory.path, record, timeline, verdict)
        directory.finish(record, timeline, verdict, results)
        note_written(directory.path)


def _answer(arguments: argparse.Namespace, case: Case, likelihood: Likelihood) -> None:
    step = likelihood.step()
    if arguments.json:
        document = {
            **msgspec.to_builtins(likelihood),
            "step": None if step is None else list(step),
            "faults": [entry.id for entry in _then(case, step)],
            **ending(VIOLATION),
        }
        print_document(document)
        return
    console = answers()
    console.print(Text(f"{likelihood.failure}: futures that fail"), soft_wrap=True)
    for moment in likelihood.moments:
        _print(console, moment, step)
    if step is None:
        console.print("it was as likely at the beginning as at the end", soft_wrap=True)
    else:
        console.print(
            f"it became likely between {step[0]:g} and {step[1]:g} s of load", soft_wrap=True
        )
    for entry in _then(case, step):
        targets = msgspec.to_builtins(entry.targets)
        console.print(
            Text(f"then began: {entry.kind} {targets} at {entry.at:g} s, for {entry.duration:g} s"),
            soft_wrap=True,
        )
    if arguments.path.is_dir():
        report = shown(RunDirectory(arguments.path).report)
        console.print(Text(f"drawn in {report}"), soft_wrap=True)


def _then(case: Case, step: tuple[float, float] | None) -> list[Entry]:
    """The faults that began when the failure became likely."""
    if step is None:
        return []
    return [entry for entry in case.plan.entries if step[0] <= entry.at < step[1]]


def _print(console: Console, moment: Moment, step: tuple[float, float] | None) -> None:
    bar = "#" * round(BAR * moment.share)
    mark = " <" if step is not None and moment.at == step[1] else ""
    line = f"{moment.at:8.2f} s  {moment.failed:3} of {moment.futures}  {bar}{mark}"
    console.print(Text(line), soft_wrap=True)
