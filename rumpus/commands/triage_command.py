"""``rumpus triage``: which failures are one, because the same change of kazoo mends them."""

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from rumpus.campaigns.case import Case
from rumpus.campaigns.grouping import UNKNOWN, Group, grouped
from rumpus.campaigns.replaying import judge_replay, replay_task
from rumpus.campaigns.rulings import Rulings, load_rulings
from rumpus.campaigns.run_cases import cases_at, given_case
from rumpus.campaigns.tasks import Attempt, attempts, processes
from rumpus.campaigns.triage import Perform, Ran, Traced, Wanted, trace
from rumpus.checker.wording import counted
from rumpus.consoles import answers, notices, print_document
from rumpus.exit_codes import campaign_exit_code, ending
from rumpus.live_line import waiting
from rumpus.results.escapes import escaped
from rumpus.runs.mended_library import files_with_changes
from rumpus.usage_error import UsageError

_SEEN = frozenset({"known", "stays", "rare", "untried"})
"""States of failures that were seen again."""


def triage_command(arguments: argparse.Namespace) -> int:
    """Group failures by the change that mends them; the exit code.

    1 if a failure was seen again; else the gravest exit code of a case whose run could not be
    performed, but at least 3 if one cannot be judged, or not all were looked at; else 0.

    Raises:
        UsageError: there is no case or no change, two have one name, or a file is malformed.
    """
    rulings = Rulings() if arguments.rulings is None else load_rulings(arguments.rulings)
    changes = _changes(arguments.mends)
    cases: dict[str, Case] = {}
    for path in arguments.paths:
        read = partial(given_case, trust=arguments.trust, within=path)
        for name, case in cases_at(path, read, trust=arguments.trust):
            if name in cases:
                raise UsageError(
                    f"two cases are called {name}: name the folder that has both, where their "
                    "names are their paths, or one of them"
                )
            cases[name] = case
    console = notices()
    traced: dict[str, Traced] = {}
    interrupted = False
    with processes(arguments.jobs) as executor:
        try:
            for name, case in cases.items():
                with waiting(console, f"{name}: looking for the change that mends it"):
                    traced[name] = trace(
                        list(changes), _performing(case, changes, executor, arguments.budget)
                    )
                console.print(_line(name, traced[name]), soft_wrap=True)
        except KeyboardInterrupt:
            if not traced:
                raise
            interrupted = True
            console.print(Text(f"interrupted, after {len(traced)} of {len(cases)} cases"))
    groups = grouped({name: (cases[name].expects, each) for name, each in traced.items()}, rulings)
    code = campaign_exit_code(
        failed=any(each.state in _SEEN for each in traced.values()),
        errors=[each.exit_code for each in traced.values() if each.own],
        undecided=interrupted or any(each.state == "unknown" for each in traced.values()),
    )
    if arguments.json:
        document = _document(groups, cases, traced)
        print_document(document | ending(code, interrupted=interrupted))
    else:
        _print(groups, answers())
    return code


def _changes(places: Sequence[Path]) -> dict[str, Path]:
    """Name of a change -> its file.

    Raises:
        UsageError: a directory has none, or two have one name.
    """
    found: dict[str, Path] = {}
    for place in places:
        files = files_with_changes(place)
        if not files:
            raise UsageError(f"--mends {place}: no file with a change (*.md, *.diff, *.patch)")
        for each in files:
            if each.stem in found:
                raise UsageError(f"--mends: two changes are called {each.stem}: rename one")
            found[each.stem] = each
    return found


def _performing(
    case: Case, changes: Mapping[str, Path], executor: Executor, budget: float
) -> Perform:
    """A function that performs runs of a case."""
    base = case.settings.get("kazoo", "")

    def perform(wanted: Sequence[Wanted]) -> list[Ran]:
        tasks = []
        for selected, further in wanted:
            again = msgspec.structs.replace(case, seed=case.seed + further)
            kazoo = "+".join([base, *(str(changes[each]) for each in selected)])
            tasks.append(replay_task(again, **({"kazoo": kazoo} if selected else {})))
        return [_ran(case, each) for each in attempts(executor, tasks, budget)]

    return perform


def _ran(case: Case, attempt: Attempt) -> Ran:
    if attempt.outcome is None:
        return Ran(None, error=attempt.error, exit_code=attempt.exit_code)
    reproduced = judge_replay("", case, attempt.outcome).reproduced
    seen = attempt.outcome.find(case.expects, promised=case.promised)
    return Ran(
        None if reproduced == "unknown" else reproduced,
        attempt.outcome.digest,
        traits=None if seen is None else seen.traits,
    )


def _line(name: str, traced: Traced) -> Text:
    told = " or ".join(each.change for each in traced.causes) or UNKNOWN[traced.state]
    if traced.own:
        told += f": {traced.own}"
    elif traced.errors:
        told += f"; {counted(len(traced.errors), 'change')} could not be tried"
    return Text(escaped(f"{name}: {told} ({counted(traced.runs, 'run')})"))


def _print(groups: Sequence[Group], console: Console) -> None:
    known = sum(bool(group.cause) for group in groups)
    cases = sum(len(group.cases) for group in groups)
    told = f"{counted(cases, 'case')}: {counted(known, 'known cause')}"
    console.print(Text(f"{told}, {len(groups) - known} unknown"), soft_wrap=True)
    for group in sorted(groups, key=lambda each: (not each.cause, -len(each.cases))):
        console.print()
        console.print(Text(escaped(group.cause or "unknown"), style="bold"), soft_wrap=True)
        for name, why in zip(group.cases, group.why, strict=True):
            console.print(Text(escaped(f"  {name}: {why}")), soft_wrap=True)


def _document(
    groups: Sequence[Group], cases: Mapping[str, Case], traced: Mapping[str, Traced]
) -> dict[str, Any]:
    """The groups as ``--json`` prints them."""
    return {
        "groups": [
            {
                "cause": group.cause or None,
                "cases": [
                    {
                        "case": name,
                        "fingerprint": str(cases[name].expects),
                        "why": why,
                        "state": traced[name].state,
                        "causes": msgspec.to_builtins(traced[name].causes),
                        "errors": dict(traced[name].errors),
                        "error": traced[name].own or None,
                        "runs": traced[name].runs,
                    }
                    for name, why in zip(group.cases, group.why, strict=True)
                ],
            }
            for group in groups
        ]
    }
