"""``rumpus reproduce``: looks for a run's failure in the simulation, and keeps it as a case."""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from rumpus.campaigns.case import CASES, IN_FILE, Case, check_place_of_case, save_case
from rumpus.campaigns.lifting import LiftedRun, lift
from rumpus.campaigns.replaying import ENDING
from rumpus.campaigns.reproducing import Reproduction, reproduce
from rumpus.campaigns.shrinking import Shrinking
from rumpus.campaigns.tasks import processes
from rumpus.consoles import answers, notices, print_document, shown
from rumpus.exit_codes import campaign_exit_code, ending
from rumpus.live_line import waiting
from rumpus.results.escapes import in_shell
from rumpus.usage_error import UsageError

MOST_TOLD = 5
"""How many other anomalies are named."""


def reproduce_command(arguments: argparse.Namespace) -> int:
    """Reproduce a run's failure; the exit code.

    1 if it was seen in the simulation, else 3, or that of a run that could not be performed if that
    is graver.

    Raises:
        UsageError: there is no such run, it has no such anomaly, or it cannot be performed.
        EnvironmentRefusal, StoreError: this host does not allow it.
        UnreadableRun: something of the run is missing or malformed.
    """
    if not arguments.path.is_dir():
        raise UsageError(
            f"{arguments.path}: no directory of a run; `rumpus replay` performs cases again"
        )
    check_place_of_case(arguments.output)
    lifted = lift(arguments.path, arguments.anomaly, trust=arguments.trust)
    console = notices()
    _print_lifted(console, lifted)
    case, shrinking = None, None
    with (
        processes(arguments.jobs) as executor,
        waiting(console, f"looking for {lifted.seen.fingerprint}"),
    ):
        made = reproduce(
            lifted,
            executor,
            jobs=arguments.jobs,
            tries=arguments.tries,
            budget=arguments.budget,
            notify=lambda so_far: _print_progress(console, so_far),
        )
        if made.found is not None:
            _print(console, f"reproduced in {_runs(made.runs)}; shrinking")
            shrinking = Shrinking(
                *made.found, executor, jobs=arguments.jobs, tries=arguments.shrink
            )
            case = shrinking.shrink()
    path = None
    if case is not None:
        path = arguments.output or CASES / f"{case.name()}{ENDING}"
        save_case(case, path, IN_FILE, named=arguments.output is not None)
    code = campaign_exit_code(
        failed=case is not None, errors=made.error_codes, undecided=case is None
    )
    _answer(arguments, lifted, made, case, path, code)
    return code


def _print_lifted(console: Console, lifted: LiftedRun) -> None:
    settings, limit = lifted.settings, lifted.settings.time_limit
    _print(console, f"{lifted.seen.fingerprint}, seen at {lifted.moment:.1f} s of {limit:g} s")
    faults = [f"{entry.kind} at {entry.at:.1f} s" for entry in lifted.plan.entries]
    _print(
        console,
        f"lifted from {lifted.ensemble}: {settings.clients} clients, {settings.nodes} servers; "
        f"{', '.join(faults) or 'no fault'}",
    )
    for words in lifted.left_out:
        _print(console, f"left out: {words}")


def _print_progress(console: Console, made: Reproduction) -> None:
    if made.found is None and made.runs % 20 == 0:
        _print(console, f"{_runs(made.runs)}, not seen yet")


def _answer(
    arguments: argparse.Namespace,
    lifted: LiftedRun,
    made: Reproduction,
    case: Case | None,
    path: Path | None,
    code: int,
) -> None:
    if arguments.json:
        document: dict[str, Any] = {
            **ending(code),
            "wanted": str(lifted.seen.fingerprint),
            "reproduced": True if case is not None else "unknown",
            "runs": made.runs,
            "case": None if path is None else str(path),
            "faults": [] if case is None else [each.kind for each in case.plan.entries],
            "clients": None if case is None else case.task().settings.clients,
            "story": [] if case is None else list(case.story),
            "of_the_kind": dict(made.of_the_kind),
            "others": dict(made.others),
            "errors": dict(made.errors),
            "left_out": list(lifted.left_out),
        }
        print_document(document)
        return
    console = answers()
    if case is not None and path is not None:
        _print(console, f"{shown(path)}: {case.expects}")
        for line in case.story:
            _print(console, f"  {line}")
        _print(console, f"again: {in_shell(['rumpus', 'replay', shown(path)])}")
        return
    _print(console, f"not reproduced in {_runs(made.runs)} of the simulation")
    for words, counted in (
        ("of the same kind, of other operations", made.of_the_kind),
        ("other broken promises", made.others),
        ("could not be performed", made.errors),
    ):
        if counted:
            _print(console, f"{words}: {_counted(counted)}")
    _print(
        console,
        "this does not clear the recipe: real servers and networks have other delays. Try more "
        "runs with --tries and --budget, or `rumpus explore` with the same workload and recipe",
    )


def _counted(counted: Counter[str]) -> str:
    told = [f"{what} ({_runs(number)})" for what, number in counted.most_common(MOST_TOLD)]
    more = len(counted) - len(told)
    return ", ".join(told) + (f", and {more} more" if more else "")


def _runs(number: int) -> str:
    return f"{number} run{'' if number == 1 else 's'}"


def _print(console: Console, words: str) -> None:
    console.print(Text(words), soft_wrap=True)
