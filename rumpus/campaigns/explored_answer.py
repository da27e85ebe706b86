"""What an exploration has found, as text, as a JSON document, as cases, and as an exit code."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from rumpus.campaigns.case import IN_DIRECTORY, load_case, save_case
from rumpus.campaigns.exploring import Exploration
from rumpus.campaigns.findings import DEATH, Death, Found
from rumpus.campaigns.replaying import ENDING
from rumpus.consoles import shown
from rumpus.exit_codes import campaign_exit_code, ending
from rumpus.results.escapes import in_file_name, in_shell

MOST_ERRORS = 5
"""How many reasons are told for which runs could not be performed."""


def explored_exit_code(explored: Exploration, *, interrupted: bool) -> int:
    """The exit code of an exploration.

    1 if a failure was found, or a run was a violation without one (by ``strict``), else the
    gravest exit code of a run that could not be performed, but at least 3 if most runs could not
    be decided, none was judged, or not all were done; else 0.
    """
    return campaign_exit_code(
        failed=bool(explored.findings.found or explored.findings.deaths or explored.unexplained),
        errors=[error.exit_code for error in explored.errors],
        undecided=interrupted or explored.undecided,
    )


def save_cases(explored: Exploration, directory: Path) -> list[Path]:
    """Write the cases of all failures; their files. A file of another case is left alone.

    Raises:
        StoreError: one cannot be written.
    """
    return [_save(found, directory) for found in explored.findings.found]


def _save(found: Found, directory: Path) -> Path:
    name = found.case.name()
    tail = in_file_name("-".join(found.case.expects.faults))
    stem = f"{name}-{tail}" if found.shrunk and tail else name
    path, number = directory / f"{stem}{ENDING}", 1
    while path.exists() and load_case(path).expects != found.case.expects:
        number += 1
        path = directory / f"{stem}-{number}{ENDING}"
    save_case(found.case, path, IN_DIRECTORY)
    return path


def explored_document(
    explored: Exploration, saved: Sequence[Path], code: int, *, interrupted: bool = False
) -> dict[str, Any]:
    """What was found as ``--json`` prints it. Times are in seconds.

    Args:
        explored: what was found.
        saved: the file of each failure's case.
        code: the command's exit code.
        interrupted: whether not all was done.
    """
    findings = [
        {
            "fingerprint": str(found.case.expects),
            "kind": found.case.expects.kind,
            "promised": found.case.promised,
            "seed": found.seed,
            "runs": found.runs,
            "looks": [
                {"fingerprint": str(look.fingerprint), "why": look.why or None}
                for look in found.looks
            ],
            "case": str(path),
            "faults": [entry.kind for entry in found.case.plan.entries],
            "clients": found.case.task().settings.clients,
            "operations": found.operations,
            "story": list(found.case.story),
            "again": in_shell(["rumpus", "replay", path]),
        }
        for found, path in zip(explored.findings.found, saved, strict=True)
    ]
    findings += [
        {
            "fingerprint": f"{DEATH} by {death.how}",
            "kind": DEATH,
            "promised": True,
            "seed": death.seed,
            "runs": death.runs,
            "looks": [],
            "case": None,
            "faults": [],
            "clients": death.clients,
            "operations": None,
            "story": list(death.trace),
            "again": _again(death),
        }
        for death in explored.findings.deaths
    ]
    return {
        **ending(code, interrupted=interrupted),
        "runs": explored.runs,
        "short_runs": explored.short_runs,
        "virtual_seconds": round(explored.virtual_seconds, 3),
        "cpu_seconds": round(explored.cpu_seconds, 3),
        "outcomes": explored.outcomes,
        "short_outcomes": explored.short_outcomes,
        "coverage": len(explored.signatures),
        "accepted": explored.findings.accepted,
        "errors": [
            {"seed": error.seed, "why": error.why, "exit_code": error.exit_code}
            for error in explored.errors
        ],
        "findings": findings,
    }


def _again(death: Death) -> str:
    # It begins with rumpus whatever a part says: an untrusted program must not be run.
    return in_shell(["rumpus", *death.argv[1:]])


def print_explored(explored: Exploration, saved: Sequence[Path], console: Console) -> None:
    """Print what was found; the arguments are those of ``explored_document``."""
    findings = explored.findings

    def say(*lines: str | Text) -> None:
        for line in lines:
            console.print(Text(line) if isinstance(line, str) else line, soft_wrap=True)

    for number, (found, path) in enumerate(zip(findings.found, saved, strict=True), 1):
        case = found.case
        settings = case.task().settings
        say(
            Text.assemble(f"{number}. ", (str(case.expects), "bold red")),
            f"   first at seed {found.seed}, in {_many(found.runs, 'run')}; "
            f"{'shrunk to ' if found.shrunk else ''}{_many(len(case.plan.entries), 'fault')}, "
            f"{settings.clients} clients, {settings.time_limit:g} s of load, "
            f"{found.operations} operations",
            *(f"   {line}" for line in case.story),
            *(f"   also as {look.fingerprint}: {look.why}" for look in found.looks[1:]),
            f"   again:  {in_shell(['rumpus', 'replay', shown(path)])}",
            "",
        )
    for number, death in enumerate(findings.deaths, len(findings.found) + 1):
        say(
            Text.assemble(f"{number}. ", (f"the run ends its process: {death.how}", "bold red")),
            f"   first at seed {death.seed}, in {_many(death.runs, 'run')}",
            *(f"       {line}" for line in death.trace),
            f"   again:  {_again(death)}",
            "",
        )
    errors: dict[str, list[int]] = {}
    for error in explored.errors:
        errors.setdefault(error.why, []).append(error.seed)
    for why, seeds in list(errors.items())[:MOST_ERRORS]:
        more = f", and {_many(len(seeds) - 1, 'other run')}," if seeds[1:] else ""
        say(f"seed {seeds[0]}{more} could not be run: {why}")
    if rest := list(errors)[MOST_ERRORS:]:
        say(f"and {_many(len(rest), 'other reason')}: --json has all")
    say(explored_status(explored))


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def explored_status(explored: Exploration, seconds: float | None = None) -> Text:
    """Runs, virtual time, coverage and findings in one line.

    Args:
        explored: what was found so far.
        seconds: how long that took; None: it is not said.
    """
    findings = explored.findings
    short = f" ({explored.short_runs} short ones)" if explored.short_runs else ""
    words = [f"{explored.runs} runs{short}", f"{explored.virtual_seconds / 3600:.2f} virtual hours"]
    if seconds:
        words.append(f"{explored.runs / seconds:.1f} runs/s")
    words.append(f"coverage {len(explored.signatures)}")
    words += [f"{count} {outcome}" for outcome, count in sorted(explored.outcomes.items())]
    if findings.accepted:
        words.append(f"{findings.accepted} accepted failures")
    if explored.errors:
        words.append(f"{len(explored.errors)} errors")
    text = Text(", ".join(words))
    failures = [f"{found.case.expects} (seed {found.seed})" for found in findings.found]
    failures += [f"{DEATH} by {death.how} (seed {death.seed})" for death in findings.deaths]
    if failures:
        text.append("; " + "; ".join(failures), style="red")
    return text
