"""``rumpus check``: judges a run, or a history alone, again from disk."""

import argparse

from results.results_document import results_document
from results.run_directory import open_run
from results.terminal import print_verdict
from rumpus.consoles import notices, print_json, shown
from rumpus.judging import judge_history
from rumpus.run_command import report


def check_command(arguments: argparse.Namespace) -> int:
    """Judge again and, for a run, write its results anew; the exit code.

    Raises:
        UnreadableRun: there is no run or history, or it is malformed.
    """
    console = notices()
    run = open_run(arguments.path)
    if not run.bare:
        return report(run, console, as_json=arguments.json)
    record, history, verdict = judge_history(run)
    results = results_document(run.history, record, history, verdict)
    print_verdict(console, record, history, verdict, results, shown(run.history))
    if arguments.json:
        print_json(results.to_json())
    return verdict.exit_code
