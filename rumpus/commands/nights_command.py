"""``rumpus nights``: the nights that the store remembers, one a line, or rates over all of them."""

import argparse
import importlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from rumpus.consoles import answers, print_document, shown
from rumpus.nights.comparing.rates import Rate, rates_of
from rumpus.nights.comparing.trends import Trend, branch_nights, trends
from rumpus.nights.memory.store import Store
from rumpus.nights.memory.store_rows import Tally
from rumpus.nights.records import NightRow
from rumpus.results.escapes import escaped


def nights_command(arguments: argparse.Namespace) -> int:
    """Print the nights, newest first, or rates, or write pages; the exit code.

    Raises:
        UsageError: there is no store.
        UnreadableRun, StoreError: it cannot be read, or a page cannot be written.
    """
    if arguments.html is not None:
        return _write_pages(arguments)
    if arguments.rates:
        return _print_rates(arguments)
    with Store.opened(arguments.store) as store:
        nights, tallies = store.nights(), store.rates(figures=False)
        alike = branch_nights(nights[::-1])
        standing = trends(alike, store.rates(alike))
    rows = nights_document(nights, tallies)
    if arguments.json:
        print_document({"nights": rows, "trends": msgspec.to_builtins(standing)})
    else:
        _print(rows, answers())
        _print_trends(standing, answers())
    return 0


def _write_pages(arguments: argparse.Namespace) -> int:
    # It is slow to import, and needed for this only.
    writing = importlib.import_module("rumpus.nights.pages.writing")
    with Store.opened(arguments.store) as store:
        files, written = writing.write_pages(store, arguments.html)
    first = arguments.html / "index.html"
    if arguments.json:
        print_document({"page": str(first), "files": files, "written": written})
    else:
        words = f"{shown(first)}: {files} files, {written} of them written now"
        answers().print(Text(words), soft_wrap=True)
    return 0


def _print_rates(arguments: argparse.Namespace) -> int:
    with Store.opened(arguments.store) as store:
        rows = [run for night in store.nights() for run in store.runs(night.name)]
        kinds = {
            each.id: each.fingerprint.kind + f" ({each.blamed})" * (each.blamed != "recipe")
            for each in store.failures()
        }
        found = rates_of(store.rates(figures=False), rows, kinds)
    if arguments.json:
        print_document({"rates": msgspec.to_builtins(found)})
    elif not found:
        answers().print(Text("no runs yet: rumpus nightly makes them"))
    else:
        _print_found_rates(found, answers())
    return 0


def _print_found_rates(rates: Sequence[Rate], console: Console) -> None:
    for each in rates:
        share = "no rate"
        if each.runs:
            value = 100 * each.violations / each.runs
            share = f"{value:.3g} % ({100 * each.low:.3g} to {100 * each.high:.3g} with 95 %)"
        kinds = ", ".join(f"{kind} in {count}" for kind, count in each.kinds.items())
        words = (
            f"  violations: {each.violations} of {each.runs} runs, {share}; decided: "
            f"{each.decided}{'; ' if kinds else ''}{kinds}"
        )
        subject = escaped(each.subject)
        console.print(Text.assemble((subject, "bold"), escaped(words)), soft_wrap=True)


def nights_document(nights: Sequence[NightRow], tallies: Iterable[Tally]) -> list[dict[str, Any]]:
    """The nights as ``--json`` prints them. Times are in seconds since the epoch.

    A failure is new in the first night that saw it, and known in later ones.

    Args:
        nights: newest first.
        tallies: what came of the runs of these, and of all before.
    """
    worlds: dict[str, Counter[str]] = {each.name: Counter() for each in nights}
    shown: dict[str, set[str]] = {each.name: set() for each in nights}
    for tally in tallies:
        if tally.role != "command":
            worlds[tally.night][_world(tally.subject)] += tally.runs
            shown[tally.night] |= tally.shown.keys()
    rows, before = [], set[str]()
    for night in reversed(nights):
        new = shown[night.name] - before
        before |= new
        rows.append(
            {
                "name": night.name,
                "headline": night.headline,
                "began": night.began,
                "ended": night.ended,
                "seconds": night.seconds,
                "interrupted": night.interrupted,
                "exit_code": night.exit_code,
                "runs": dict(sorted(worlds[night.name].items())),
                "new_failures": sorted(new),
                "known_failures": sorted(shown[night.name] - new),
                "troubles": [{"kind": x.kind, "what": x.what} for x in night.troubles],
                "branch": night.branch,
                "commit": night.commit,
                "shard": night.shard,
            }
        )
    return rows[::-1]


def _world(subject: str) -> str:
    """Where the runs of a subject took place, by its key."""
    return next((part for part in subject.split(", ")[1:] if part in ("sim", "docker")), "sim")


def _print(rows: Sequence[dict[str, Any]], console: Console) -> None:
    for row in rows:
        runs = ", ".join(f"{count} on {world}" for world, count in row["runs"].items())
        facts = [
            f"runs: {runs or 'none'}",
            f"{len(row['new_failures'])} new, {len(row['known_failures'])} known failures",
            f"{len(row['troubles'])} troubles",
            _duration(row["seconds"]) if row["ended"] is not None else "not ended",
        ]
        at = "@".join(each for each in (row["branch"], row["commit"]) if each)
        headline = row["headline"].removeprefix(row["name"]).lstrip() or "no headline"
        words = Text.assemble((row["name"], "bold"), f"  {headline}; {', '.join(facts)}")
        if at:
            words.append(f"; {at}")
        console.print(words, soft_wrap=True)
    if not rows:
        console.print(Text("no nights yet: rumpus nightly makes them"))


def _print_trends(standing: Sequence[Trend], console: Console) -> None:
    for each in standing:
        console.print(Text.assemble(("worse: ", "bold red"), escaped(str(each))), soft_wrap=True)


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{seconds:.0f} s"
