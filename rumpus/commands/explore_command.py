"""``rumpus explore``: run after run with other seeds; each failure is shrunk and kept as a case."""

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.live import Live
from rich.text import Text

from rumpus.campaigns.case import load_case, save_case
from rumpus.campaigns.exploring import Exploration, Explorer, Found
from rumpus.campaigns.replaying import ENDING
from rumpus.campaigns.tasks import processes
from rumpus.commands.systematic_corners import explore_corners
from rumpus.consoles import answers, notices, print_json, shown
from rumpus.exit_codes import UNDECIDED, VALID, VIOLATION
from rumpus.project_names import names_here
from rumpus.runs.performing import find_in_working_directory
from rumpus.runs.run_settings import RunSettings

PLAIN_PERIOD_S = 10.0
"""How often the status is printed where lines cannot be overwritten (logs of a CI job)."""

PROFILE = "normal"
"""The swarm of every other run, unless a plan or a swarm is asked for."""

LOAD_S = 15.0
"""Seconds of load of each run if nothing is said."""

BUDGET_S = 60.0
"""Seconds of exploration if neither seeds nor seconds are given."""


def explore_command(arguments: argparse.Namespace) -> int:
    """Explore a recipe; the exit code.

    1 if a failure was found, 3 if most runs could not be decided, else 0.

    Raises:
        UsageError: something asked for does not exist or cannot be done.
        EnvironmentRefusal, StoreError: this host does not allow it.
    """
    find_in_working_directory()
    names = names_here()
    names.find_modules()
    given = {
        field.name: value
        for field in fields(RunSettings)
        if (value := getattr(arguments, field.name, None)) is not None
    }
    given["fixed"] = tuple(given)
    given = {"argv": (), "time_limit": LOAD_S, **given}
    settings = replace(names.settings_of(given), argv=())
    if arguments.systematic is not None:
        return explore_corners(arguments, settings)
    known = [load_case(path).expects for path in arguments.known]
    display = _Display(notices())
    budget = arguments.budget
    if budget is None and arguments.seeds is None:
        budget = BUDGET_S
    with processes(arguments.jobs) as executor, display.live():
        explorer = Explorer(
            settings,
            executor,
            jobs=arguments.jobs,
            known=known,
            profile=None if settings.plan or settings.swarm else PROFILE,
            shrink_budget=arguments.shrink,
            notify=display.show,
        )
        try:
            explored = explorer.explore(seeds=arguments.seeds, budget=budget)
        except KeyboardInterrupt:
            display.interrupted = True
            explored = explorer.exploration
    _refuse_if_nothing_ran(explored)
    saved = [_save(found, arguments.cases) for found in explored.found]
    if arguments.json:
        print_json(msgspec.json.format(msgspec.json.encode(_document(explored, saved))) + b"\n")
    else:
        _print(explored, saved, answers())
    if explored.found:
        return VIOLATION
    undecided = explored.runs - explored.outcomes.get("valid", 0)
    return UNDECIDED if display.interrupted or 2 * undecided > explored.runs else VALID


def _refuse_if_nothing_ran(explored: Exploration) -> None:
    """Say why no run could be performed, if that is so."""
    if not explored.runs and explored.errors:
        _, attempt = explored.errors[0]
        attempt.raise_error()


def _save(found: Found, directory: Path) -> Path:
    """Write a failure's case; a file of another case is left alone."""
    name = found.case.name()
    tail = "-".join(found.case.expects.faults)
    stem = f"{name}-{tail}" if found.shrunk and tail else name
    path, number = directory / f"{stem}{ENDING}", 1
    while path.exists() and load_case(path).expects != found.case.expects:
        number += 1
        path = directory / f"{stem}-{number}{ENDING}"
    save_case(found.case, path)
    return path


def _document(explored: Exploration, saved: Sequence[Path]) -> dict[str, Any]:
    """What was found as ``--json`` prints it. Times are in seconds."""
    return {
        "runs": explored.runs,
        "virtual_seconds": round(explored.virtual_seconds, 3),
        "cpu_seconds": round(explored.cpu_seconds, 3),
        "outcomes": explored.outcomes,
        "coverage": len(explored.signatures),
        "accepted": explored.accepted,
        "errors": [
            {"seed": seed, "why": attempt.error, "exit_code": attempt.exit_code}
            for seed, attempt in explored.errors
        ],
        "findings": [
            {
                "fingerprint": str(found.case.expects),
                "kind": found.case.expects.kind,
                "promised": found.case.promised,
                "seed": found.seed,
                "runs": found.runs,
                "case": str(path),
                "faults": [entry.kind for entry in found.case.plan.entries],
                "clients": found.case.task().settings.clients,
                "operations": found.operations,
                "story": list(found.case.story),
            }
            for found, path in zip(explored.found, saved, strict=True)
        ],
    }


def _print(explored: Exploration, saved: Sequence[Path], console: Console) -> None:
    for number, (found, path) in enumerate(zip(explored.found, saved, strict=True), 1):
        case = found.case
        settings = case.task().settings
        console.print(Text.assemble(f"{number}. ", (str(case.expects), "bold red")), soft_wrap=True)
        size = (
            f"   first at seed {found.seed}, in {_many(found.runs, 'run')}; "
            f"{'shrunk to ' if found.shrunk else ''}{_many(len(case.plan.entries), 'fault')}, "
            f"{settings.clients} clients, {settings.time_limit:g} s of load, "
            f"{found.operations} operations"
        )
        console.print(Text(size), soft_wrap=True)
        for line in case.story:
            console.print(Text(f"   {line}"), soft_wrap=True)
        console.print(Text(f"   again:  rumpus replay {shown(path)}"), soft_wrap=True)
        console.print()
    for seed, attempt in explored.errors:
        console.print(Text(f"seed {seed} could not be run: {attempt.error}"), soft_wrap=True)
    console.print(_status(explored), soft_wrap=True)


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _status(explored: Exploration, seconds: float | None = None) -> Text:
    """Runs, virtual time, coverage and findings in one line."""
    words = [f"{explored.runs} runs", f"{explored.virtual_seconds / 3600:.2f} virtual hours"]
    if seconds:
        words.append(f"{explored.runs / seconds:.1f} runs/s")
    words.append(f"coverage {len(explored.signatures)}")
    words += [f"{count} {outcome}" for outcome, count in sorted(explored.outcomes.items())]
    if explored.accepted:
        words.append(f"{explored.accepted} accepted failures")
    if explored.errors:
        words.append(f"{len(explored.errors)} errors")
    text = Text(", ".join(words))
    failures = [f"{found.case.expects} (seed {found.seed})" for found in explored.found]
    if failures:
        text.append("; " + "; ".join(failures), style="red")
    return text


class _Display:
    """Shows how far the exploration is."""

    def __init__(self, console: Console) -> None:
        self.interrupted = False
        self._console = console
        self._began = self._shown = time.monotonic()
        self._live: Live | None = None

    @contextmanager
    def live(self) -> Iterator[None]:
        """Keep a line up to date while the block runs, where that is possible."""
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, transient=True, auto_refresh=False) as self._live:
            yield
        self._live = None

    def show(self, explored: Exploration) -> None:
        """Show the state now, or not, if that was done a moment ago."""
        now = time.monotonic()
        line = _status(explored, now - self._began)
        if self._live is not None:
            self._live.update(line, refresh=True)
        elif now - self._shown >= PLAIN_PERIOD_S:
            self._shown = now
            self._console.print(line, soft_wrap=True)
