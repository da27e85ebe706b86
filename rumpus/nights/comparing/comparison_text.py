"""What a comparison says, for people: as text on a terminal, and in Markdown."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rumpus.nights.comparing.comparison import RATE, Change, Comparison, FailureChange
from rumpus.nights.memory.evidence import Estimate
from rumpus.results.escapes import escaped, in_markdown
from rumpus.results.figures import FIGURES

_STYLES: Final = {
    "new": "bold red",
    "known": "yellow",
    "gone": "green",
    "flaky": "yellow",
    "worse": "bold red",
    "better": "green",
    "changed": "yellow",
}
_TITLES: Final = ("", "of", "runs", "A", "B", "change", "")


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print a comparison as text."""
    style = {0: "bold green", 1: "bold red"}.get(comparison.exit_code, "bold yellow")
    console.print(Text(headline(comparison), style=style), soft_wrap=True)
    for line in _sides(comparison):
        console.print(Text(line), soft_wrap=True)
    for each in comparison.failures:
        words = Text.assemble((f"{each.state:5} ", _STYLES[each.state]), f"{_failure(each)}")
        console.print(words, soft_wrap=True)
    told, rest = _told(comparison.changes)
    if told:
        table = Table(box=None, pad_edge=False)
        for title in _TITLES:
            table.add_column(title)
        for change in told:
            row = [Text(cell) for cell in change_cells(change)]
            row[-1].style = _STYLES.get(change.verdict, "")
            table.add_row(*row)
        console.print(table)
    for line in [*_rest(rest), *_left_out(comparison)]:
        console.print(Text(line), soft_wrap=True)


def in_markdown_page(comparison: Comparison) -> str:
    """A comparison as Markdown, for a pull request."""
    lines = [f"### {in_markdown(headline(comparison))}", ""]
    lines += [f"{in_markdown(line)}  " for line in _sides(comparison)]
    if comparison.failures:
        lines += [""]
        lines += [f"- **{x.state}**: {in_markdown(_failure(x))}" for x in comparison.failures]
    told, rest = _told(comparison.changes)
    if told:
        lines += ["", f"| {' | '.join(_TITLES)} |", "|---" * len(_TITLES) + "|"]
        lines += [f"| {' | '.join(map(in_markdown, change_cells(change)))} |" for change in told]
    lines += ["", *map(in_markdown, [*_rest(rest), *_left_out(comparison)])]
    return "\n".join(lines).rstrip() + "\n"


def headline(comparison: Comparison) -> str:
    """What came of it, in one line."""
    if not comparison.subjects:
        return f"{comparison.a} and {comparison.b} have no subject in common: nothing was compared"
    new = sum(each.state == "new" for each in comparison.failures)
    worse = comparison.regressions - new
    if not comparison.regressions:
        return f"{comparison.b} is not worse than {comparison.a}, as far as there is evidence"
    words = [f"{new} new failure{'s' * (new != 1)}"] * bool(new)
    if worse:
        words.append("1 rate or figure worse" if worse == 1 else f"{worse} rates or figures worse")
    return f"{comparison.b} is worse than {comparison.a}: {', '.join(words)}"


def _sides(comparison: Comparison) -> Iterable[str]:
    names = (comparison.a, comparison.b)
    for side, name, nights, runs in zip(
        "AB", names, comparison.nights, comparison.runs, strict=True
    ):
        of = f" of {len(nights)} night{'s' * (len(nights) != 1)}" if nights else ""
        yield f"{side}: {name}, {runs} runs{of}"
    yield (
        f"{len(comparison.subjects)} subjects on both sides; intervals have 95 %, and p is "
        f"corrected for {len(comparison.changes)} comparisons"
    )


def _failure(change: FailureChange) -> str:
    (a, a_runs), (b, b_runs) = change.a, change.b
    words = f"{change.failure} ({change.id}): "
    words += "by its kept case" if change.by_case else f"{a} of {a_runs}, then {b} of {b_runs} runs"
    if change.missed is not None and change.state == "flaky":
        words += f"; B misses it with probability {change.missed:.2g} at A's rate"
    return words


def _told(changes: Sequence[Change]) -> tuple[list[Change], int]:
    """The changes that are printed, and how many there are beside them."""
    alone = len({each.subject for each in changes}) == 1
    told = [
        each
        for each in changes
        if alone or not each.subject or each.what == RATE or each.verdict in _STYLES
    ]
    return told, len(changes) - len(told)


def change_cells(change: Change) -> tuple[str, ...]:
    """A change as a row: what, of which subject, runs, A, B, by how much, and the verdict."""
    if change.what == RATE:
        sides = [_share(each) for each in (change.a, change.b)]
        points = [digits_of(100 * each, "+", 2) for each in change.change]
        by = f"{points[0]} ({points[1]} to {points[2]}) points"
        what = RATE
    else:
        unit = FIGURES[change.what].unit
        sides = [_number(each, unit) for each in (change.a, change.b)]
        by = f"{_number(change.change, '')} times"
        what = change.what
    verdict = f"{change.verdict}, p = {change.adjusted:.2g}"
    if change.verdict == "worse" and not change.regression:
        verdict += ", by less than 10 %"
    runs = ", ".join(map(str, change.runs))
    return what, escaped(change.subject) or "all", runs, *sides, by, verdict


def _share(rate: Estimate) -> str:
    value, low, high = (digits_of(100 * each) for each in rate)
    return f"{value} % ({low} to {high})"


def _number(value: Estimate, unit: str) -> str:
    middle, low, high = (digits_of(each) if math.isfinite(each) else "?" for each in value)
    return f"{middle}{' ' * bool(unit)}{unit} ({low} to {high})"


def digits_of(value: float, sign: str = "", digits: int = 3) -> str:
    """A number with so many digits that count, and never as a power of ten."""
    return f"{value:{sign}.{digits}g}" if abs(value) < 10**digits - 0.5 else f"{value:{sign}.0f}"


def _rest(rest: int) -> list[str]:
    return [f"{rest} other comparisons: no evidence of change (--json has all)"] if rest else []


def _left_out(comparison: Comparison) -> list[str]:
    return [
        f"only in {side}, not compared: {'; '.join(subjects)}"
        for side, subjects in zip("AB", comparison.only, strict=True)
        if subjects
    ]
