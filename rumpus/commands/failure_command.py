"""``rumpus failure``: what the nights know of a failure, and how to perform it again."""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from rumpus.campaigns.case import Case, decode_case, save_case
from rumpus.campaigns.replaying import ENDING
from rumpus.consoles import answers, print_document, shown
from rumpus.nights.memory.evidence import wilson
from rumpus.nights.memory.store import Store
from rumpus.nights.records import FailureRow
from rumpus.results.escapes import in_shell
from rumpus.results.reports.measure_text import version_line
from rumpus.usage_error import UsageError

_NIGHTS = 10


def failure_command(arguments: argparse.Namespace) -> int:
    """Tell of a failure; the exit code.

    Raises:
        UsageError: there is no such failure, or it has no case to write.
        UnreadableRun, StoreError: the store cannot be read, or the case cannot be written.
    """
    with Store.opened(arguments.store) as store:
        row = store.failure(arguments.failure)
        case = kept_case(store, row)
        document = failure_document(store, row, case, arguments.case)
    if arguments.case is not None:
        if case is None:
            raise UsageError(f"{row.id}: no case of it was kept")
        save_case(case, arguments.case, "--case FILE", named=True)
    if arguments.json:
        print_document(document)
    else:
        _print(document, answers())
    return 0


def kept_case(store: Store, row: FailureRow) -> Case | None:
    """The case of a failure; None if none was kept.

    Raises:
        UsageError: it asks for what this program does not know.
    """
    text = store.case_text(row.id)
    return None if text is None else decode_case(text.encode(), f"the case of {row.id}")


def failure_document(
    store: Store, row: FailureRow, case: Case | None, file: Path | None = None
) -> dict[str, Any]:
    """What is known of a failure, as ``--json`` prints it.

    The rate is that of runs of the role ``run``, since the first night that saw the failure.

    Args:
        store: where it is kept.
        row: the failure.
        case: its case.
        file: where its case is written.
    """
    began = {each.name: each.began for each in store.nights()}
    first = began.get(row.first_night, 0.0)
    nights = [each for each in store.sightings(row.id) if began[each[0]] >= first]
    drawn = [each for each in store.sightings(row.id, roles=["run"]) if began[each[0]] >= first]
    hits, runs = sum(each[1] for each in drawn), sum(each[2] for each in drawn)
    rate = wilson(min(hits, runs), runs)
    versions: dict[str, set[str]] = {}
    for tally in store.rates(figures=False):
        if row.id in tally.shown:
            for software, version in tally.versions.items():
                versions.setdefault(software, set()).add(version)
    path = file or Path("cases") / f"{case.name() if case else row.id}{ENDING}"
    return {
        "id": row.id,
        "failure": str(row),
        "workload": row.workload,
        "recipe": row.recipe,
        "blamed": row.blamed,
        "first": {"night": row.first_night, "at": row.first_seen},
        "last": {"night": row.last_night, "at": row.last_seen},
        "runs": row.runs,
        "rate": {"runs": hits, "of": runs, "low": rate.low, "high": rate.high},
        "nights": [{"night": name, "runs": count, "of": of} for name, count, of in nights],
        "versions": {name: sorted(each) for name, each in sorted(versions.items())},
        "looks": [
            {"fingerprint": str(each.fingerprint), "why": each.why or None} for each in row.looks
        ],
        "shrunk": row.shrunk,
        "case": None if case is None else case.to_json().decode(),
        "written": None if file is None else str(file),
        "story": [] if case is None else list(case.story),
        "again": None if case is None else in_shell(["rumpus", "replay", shown(path)]),
        "write": None
        if case is None or file is not None
        else in_shell(["rumpus", "failure", row.id, "--case", shown(path)]),
    }


def _print(document: dict[str, Any], console: Console) -> None:
    def say(words: str, style: str = "") -> None:
        console.print(Text(words, style=style), soft_wrap=True)

    say(f"{document['id']}  {document['failure']}", "bold red")
    for what in ("first", "last"):
        seen = document[what]
        say(f"{what} seen: {seen['night'] or 'never'}{_at(seen['at'])}")
    rate = document["rate"]
    if rate["of"]:
        share = 100 * rate["runs"] / rate["of"]
        say(
            f"rate:       {rate['runs']} of {rate['of']} runs since then, {share:.3g} % "
            f"({100 * rate['low']:.3g} to {100 * rate['high']:.3g} with 95 %); "
            f"{document['runs']} with replays of its case"
        )
    for each in document["nights"][:_NIGHTS]:
        say(f"  {each['night']}: {each['runs']} of {each['of']} runs, replays too")
    if rest := document["nights"][_NIGHTS:]:
        say(f"  and {len(rest)} nights before")
    for each in document["looks"][1:]:
        say(f"also as:    {each['fingerprint']} ({each['why']})")
    told = {name: ", ".join(each) for name, each in document["versions"].items()}
    say(f"versions:   {version_line(told)}")
    if document["case"] is None:
        say("case:       none was kept")
        return
    say(f"case:       {'shrunk' if document['shrunk'] else 'not shrunk yet'}")
    for line in document["story"]:
        say(f"  {line}")
    if document["write"]:
        say(f"write it:   {document['write']}")
    say(f"again:      {document['again']}")


def _at(seconds: float) -> str:
    """A moment, for people."""
    if not seconds:
        return ""
    return f" ({datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC)"
