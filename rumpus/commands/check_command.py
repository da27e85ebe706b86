"""``rumpus check``: judges a run, or a history alone, again from disk."""

import argparse

from rich.text import Text

from rumpus.commands.check_model import refuse_without_model
from rumpus.consoles import notices, print_json
from rumpus.results.formats.history_formats import detect_format
from rumpus.results.reports.terminal import print_verdict
from rumpus.results.results_document import results_document
from rumpus.results.run_directory import RunDirectory, open_run
from rumpus.runs.judging import collector_at_rest
from rumpus.runs.lone_history import ANY, judge_history
from rumpus.runs.run_report import report
from rumpus.usage_error import UsageError


def check_command(arguments: argparse.Namespace) -> int:
    """Judge again and, for a run, write its results anew; the exit code.

    Raises:
        UnreadableRun: there is no run or history, or it is malformed.
        UsageError: the options do not fit, or only a model can judge a history in this format.
    """
    for option in ("initial", "budget", "svg"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option} requires --model")
    console = notices()
    run = open_run(arguments.path)
    if not run.bare:
        for option in ("workload", "recipe"):
            if getattr(arguments, option) is not None:
                raise UsageError(
                    f"--{option}: {run.record} says what was run; check the history alone, by "
                    "another name than history.jsonl, to judge it as something else"
                )
        return report(run, console, as_json=arguments.json)
    _refuse_strangers(run, arguments.format)
    with collector_at_rest():
        record, history, verdict = judge_history(run, arguments.workload, arguments.recipe)
        results = results_document(run.history, record, history, verdict)
    of_whom = "any of its recipes" if record.recipe == ANY else f"its recipe {record.recipe}"
    console.print(
        Text(
            f"a history alone, of {record.workload}: held to what {of_whom} promises"
            + (" (--recipe NAME for that of one)" if record.recipe == ANY else "")
        ),
        soft_wrap=True,
    )
    print_verdict(console, record, history, verdict, results)
    if arguments.json:
        print_json(results.to_json())
    return verdict.exit_code


def _refuse_strangers(run: RunDirectory, name: str) -> None:
    """Refuse a history in another program's format: the user has to name its operations' model."""
    found = detect_format(run.history) if name == "auto" else name
    if found not in ("jsonl", None):
        refuse_without_model(run.history, found)
