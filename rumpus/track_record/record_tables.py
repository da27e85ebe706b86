"""Prints a track record: as Markdown for a page, and as plain data for other programs."""

import datetime as dt
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from rumpus.campaigns.replaying import ENDING
from rumpus.results.escapes import in_shell
from rumpus.results.wording import counted
from rumpus.track_record.record_file import DISCOVERED, Flaw, FlawRecord, Sight, TrackRecord

_HEADS = ("program", "what goes wrong", "found", "first sight", "fault", "case", "upstream")


def in_markdown(record: TrackRecord) -> str:
    """The tables: flaws, misses, false alarms."""
    parts = [
        summary(record),
        _table(
            (
                "program",
                "what goes wrong",
                "found",
                "first sight",
                "fault",
                "case, or command",
                "upstream",
            ),
            map(_row, record.flaws),
        ),
        "## Misses\n\nKnown, and shown by no run here.",
        _table(
            ("program", "what goes wrong", "known from", "why it is not found"),
            ((each.program, each.what, each.source, each.why) for each in record.misses),
        ),
        "## False alarms\n\nReported as violations, and none. All are mended.",
        _table(
            ("where", "what", "mended", "among so many runs"),
            (
                (each.subject, each.what, str(each.date), f"{each.runs:,}")
                for each in record.false_alarms
            ),
        ),
    ]
    return "\n\n".join(parts) + "\n"


def as_data(record: TrackRecord) -> dict[str, Any]:
    """The same for ``--json``: lists ``flaws``, ``misses`` and ``false_alarms``, and ``counts``."""
    return {
        "counts": counts(record),
        "flaws": [_flaw_data(each) for each in record.flaws],
        "misses": msgspec.to_builtins(record.misses),
        "false_alarms": msgspec.to_builtins(record.false_alarms),
    }


def counts(record: TrackRecord) -> dict[str, int]:
    """How many flaws there are in all, and of each way in which they were discovered."""
    found = dict.fromkeys(DISCOVERED, 0)
    for each in record.flaws:
        found[each.record.discovered] += 1
    return {"flaws": len(record.flaws), **found}


def first_sight(sights: Sequence[Sight]) -> str:
    """The median of the explorations, in words; of those that saw nothing only that they did."""
    if not sights:
        return ""
    seen = [each for each in sights if each.seen]
    if 2 * len(seen) <= len(sights):
        longest = max(each.cpu_seconds for each in sights) / 60
        return f"{len(seen)} of {len(sights)} saw it in {longest:.1f} CPU min"
    # One that gave up would have taken longer than all that saw it.
    runs = median(each.runs if each.seen else float("inf") for each in sights)
    minutes = median(each.cpu_seconds if each.seen else float("inf") for each in sights) / 60
    ended = "" if len(seen) == len(sights) else f"; {len(seen)} of {len(sights)} saw it"
    return f"{counted(round(runs), 'run')}, {minutes:.2f} CPU min{ended}"


def command_of(flaw: Flaw) -> str:
    """What shows the flaw again, in the record's repository."""
    if flaw.record.case:
        return in_shell(["rumpus", "replay", f"cases/{flaw.record.case}"])
    return flaw.record.command


def _case_or_command(flaw: Flaw) -> str:
    """The case's name: its command would make a table too wide. Else the command."""
    return Path(flaw.record.case).name.removesuffix(ENDING) or flaw.record.command


def summary(record: TrackRecord) -> str:
    """How many flaws, in which programs, found how: two sentences."""
    number = counts(record)
    by_program: dict[str, int] = {}
    for each in record.flaws:
        by_program[each.record.program] = by_program.get(each.record.program, 0) + 1
    programs = ", ".join(f"{count} in {name}" for name, count in by_program.items())
    how = ", ".join(f"{number[name]} {words}" for name, words in DISCOVERED.items())
    return f"{number['flaws']} flaws: {programs}. Of these {how}."


def _row(flaw: Flaw) -> tuple[str, ...]:
    record, case = flaw.record, flaw.case
    finding = case.finding if case is not None else None
    what = finding.what if finding is not None else record.what
    fault = finding.fault if finding is not None else record.fault
    versions = record.versions or (finding.since if finding is not None else "")
    name = f"{record.program} {versions}".rstrip()
    return (
        name if finding is None else f"{name} ([{finding.number}](findings.md))",
        what,
        f"{record.discovered}, {record.date}",
        first_sight(flaw.measured.sights),
        fault,
        f"`{_case_or_command(flaw)}`, {_seen(flaw.measured.reproduced)}",
        _upstream(record),
    )


def _upstream(record: FlawRecord) -> str:
    """What its authors know, and a link to the report that is ready for them."""
    if not record.report:
        return record.upstream
    return f"{record.upstream} ([ready]({record.report.removeprefix('docs/')}))"


def _seen(day: dt.date | None) -> str:
    return "not performed again" if day is None else f"last seen {day}"


def _flaw_data(flaw: Flaw) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(flaw.record)
    if flaw.case is not None and flaw.case.finding is not None:
        told |= {"anomalies": [flaw.case.expects.kind, *flaw.case.finding.also]}
        told |= msgspec.to_builtins(flaw.case.finding)
    return {
        **told,
        "command": command_of(flaw),
        "sights": msgspec.to_builtins(flaw.measured.sights),
        "reproduced": None if flaw.measured.reproduced is None else str(flaw.measured.reproduced),
    }


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    listed = [heads, ["---"] * len(heads), *rows]
    return "\n".join(
        f"| {' | '.join(each.replace('|', chr(92) + '|') for each in row)} |" for row in listed
    )
