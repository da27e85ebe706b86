"""``rumpus explore --systematic``: faults at every frame of a small run, one after the other."""

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from rumpus.campaigns.case import IN_DIRECTORY, Case, case_of, save_case
from rumpus.campaigns.corners import Corner, Corners, small_settings
from rumpus.campaigns.replaying import ENDING
from rumpus.campaigns.tasks import processes
from rumpus.consoles import answers, notices, print_document, shown
from rumpus.exit_codes import campaign_exit_code, ending
from rumpus.results.escapes import in_file_name, in_shell
from rumpus.runs.run_settings import RunSettings
from rumpus.usage_error import UsageError

PERIOD_S = 10.0
"""How often the state is printed."""


OTHERS = ("seeds", "dask", "shard", "known", "swarm", "plan", "nemesis", "fault")
"""Options that go with seeds only."""


@dataclass
class Failure:
    """A failure.

    Attributes:
        case: the first run that showed it.
        operations: how many operations clients call in that run.
        corner: that run's faults.
        runs: how many runs have shown it.
    """

    case: Case
    operations: int
    corner: Corner
    runs: int = 1


@dataclass
class Walk:
    """What was seen on the way through the corners.

    Attributes:
        performed: corners that were performed.
        reached: those of them in which every frame came that a fault waited for.
        found: failures, in the order in which they were found.
        errors: corners that could not be performed.
        complete: whether all corners were performed.
    """

    performed: int = 0
    reached: int = 0
    found: list[Failure] = field(default_factory=list)
    errors: list[Corner] = field(default_factory=list)
    complete: bool = False

    def note(self, corner: Corner) -> None:
        """Enter a corner."""
        self.performed += 1
        self.reached += corner.reached
        outcome = corner.branch.outcome
        if outcome is None:
            self.errors.append(corner)
            return
        for seen in outcome.seen:
            if not seen.promised:
                continue
            for found in self.found:
                same = found.corner.modes == corner.modes
                if same and found.case.expects.resembles(seen.fingerprint):
                    found.runs += 1
                    break
            else:
                case = case_of(outcome, seen)
                expects = seen.fingerprint.after(outcome.plan.kinds)
                case = msgspec.structs.replace(case, expects=expects)
                self.found.append(Failure(case, outcome.operations, corner))


def explore_corners(arguments: argparse.Namespace, settings: RunSettings) -> int:
    """Walk through the corners; the exit code.

    1 if a promise was broken, else the gravest exit code of a corner that could not be performed,
    but at least 3 if not all were performed; else 0.

    Raises:
        UsageError: something asked for does not exist or cannot be done.
        EnvironmentRefusal, StoreError: this host does not allow it.
    """
    _refuse_others(arguments)
    console = notices()
    walk = Walk()
    interrupted = False
    began = told = time.monotonic()
    jobs = arguments.jobs or os.cpu_count() or 1
    with processes(jobs) as executor:
        corners = Corners(
            small_settings(settings),
            arguments.systematic,
            executor,
            jobs=jobs,
            operations=arguments.operations,
        )
        way = corners.walk(arguments.faults)
        try:
            for corner in way:
                walk.note(corner)
                now = time.monotonic()
                if now - told >= PERIOD_S:
                    told = now
                    console.print(_status(corners, walk), soft_wrap=True)
                if arguments.budget is not None and now - began >= arguments.budget:
                    break
            else:
                walk.complete = True
        except KeyboardInterrupt:
            interrupted = True
            console.print("interrupted", soft_wrap=True)
        finally:
            way.close()
    saved = [_save(found, arguments.cases) for found in walk.found]
    code = campaign_exit_code(
        failed=bool(walk.found),
        errors=[corner.branch.attempt.exit_code for corner in walk.errors],
        undecided=not walk.complete,
    )
    if arguments.json:
        document = _document(corners, walk, saved, arguments.systematic)
        document |= ending(code, interrupted=interrupted)
        print_document(document)
    else:
        _print(corners, walk, saved, answers())
    return code


def _refuse_others(arguments: argparse.Namespace) -> None:
    """Refuse options of explorations by seeds, which would have no effect."""
    for name in OTHERS:
        if getattr(arguments, name) not in (None, []):
            raise UsageError(
                f"--systematic places its own faults in one small run, on this machine: leave out "
                f"--{name}"
            )


def _save(found: Failure, directory: Path) -> Path:
    """Write a failure's case; kind, operations and modes, which tell failures apart, name it."""
    name = "-".join([found.case.name(), *found.case.expects.operations, *found.corner.modes])
    path = directory / f"{in_file_name(name)}{ENDING}"
    save_case(found.case, path, IN_DIRECTORY)
    return path


def _document(
    corners: Corners, walk: Walk, saved: Sequence[Path], named: Sequence[str]
) -> dict[str, Any]:
    return {
        "systematic": list(named),
        "frames": corners.frames,
        "switches": corners.switches,
        "corners": corners.total,
        "performed": walk.performed,
        "reached": walk.reached,
        "complete": walk.complete,
        "cpu_seconds": round(corners.cpu_seconds, 3),
        "errors": [
            {"faults": _places(corner), "why": attempt.error, "exit_code": attempt.exit_code}
            for corner in walk.errors
            for attempt in (corner.branch.attempt,)
        ],
        "findings": [
            {
                "fingerprint": str(found.case.expects),
                "kind": found.case.expects.kind,
                "promised": found.case.promised,
                "seed": found.case.seed,
                "runs": found.runs,
                "case": str(path),
                "faults": _places(found.corner),
                "clients": found.case.task().settings.clients,
                "operations": found.operations,
                "story": list(found.case.story),
            }
            for found, path in zip(walk.found, saved, strict=True)
        ],
    }


def _places(corner: Corner) -> list[str]:
    return [str(place) for place in corner.places]


def _print(corners: Corners, walk: Walk, saved: Sequence[Path], console: Console) -> None:
    for number, (found, path) in enumerate(zip(walk.found, saved, strict=True), 1):
        console.print(
            Text.assemble(f"{number}. ", (str(found.case.expects), "bold red")), soft_wrap=True
        )
        where = " and ".join(_places(found.corner)) or "no fault"
        runs = f"{found.runs} run" if found.runs == 1 else f"{found.runs} runs"
        console.print(Text(f"   in {runs}; first with {where}"), soft_wrap=True)
        for line in found.case.story:
            console.print(Text(f"   {line}"), soft_wrap=True)
        again = in_shell(["rumpus", "replay", shown(path)])
        console.print(Text(f"   again:  {again}"), soft_wrap=True)
        console.print()
    for corner in walk.errors[:5]:
        places = " and ".join(_places(corner))
        why = corner.branch.attempt.error
        console.print(Text(f"{places}: could not be run: {why}"), soft_wrap=True)
    console.print(_status(corners, walk), soft_wrap=True)


def _status(corners: Corners, walk: Walk) -> Text:
    """What is covered, in one line."""
    words = [
        f"{corners.frames} frames",
        *([f"{corners.switches} switches"] if corners.switches else []),
        f"{walk.performed} of {corners.total} corners performed",
        f"{walk.reached} reached",
    ]
    if walk.errors:
        words.append(f"{len(walk.errors)} errors")
    text = Text(", ".join(words))
    failures = [f"{found.case.expects.kind} ({found.runs})" for found in walk.found]
    if failures:
        text.append("; " + ", ".join(failures), style="red")
    return text
