"""What ``rumpus run`` and ``rumpus check`` print at their end: the verdict and its tables."""

from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rumpus.checker.history import History
from rumpus.checker.verdict import Verdict
from rumpus.results.escapes import escaped
from rumpus.results.record import RunRecord
from rumpus.results.reports.measure_text import measure_lines, version_line
from rumpus.results.results_document import ResultsDocument
from rumpus.results.wording import SYMBOLS, headline, milliseconds, remarks, seconds

_STYLES = {"valid": "green", "violation": "red", "unknown": "yellow", "inconclusive": "yellow"}


def print_verdict(
    console: Console,
    record: RunRecord,
    history: History,
    verdict: Verdict,
    results: ResultsDocument,
    report: Path | None = None,
) -> None:
    """Print the verdict, the story, tables, counts, measures, and the path of the report."""
    style = _STYLES[verdict.outcome]
    line = f"{SYMBOLS[verdict.outcome]} {headline(verdict)}"
    console.print(Text(line, style=f"bold {style}"))
    for remark in remarks(verdict, history):
        console.print(Padding(Text(escaped(remark), style=style), (0, 0, 0, 2), expand=False))
    if results.story:
        console.print(Text("what happened:"))
        for told in results.story:
            console.print(Text(f"  {told}"), soft_wrap=True)
    if results.anomalies:
        console.print(_anomalies(results, verdict))
    if results.requirements:
        console.print(_exercise(results))
    if results.faults:
        console.print(_faults(results))
    ops = results.ops
    duration = seconds(history.end - history.start)
    console.print(
        Text(f"operations: {ops.ok:,} ok, {ops.fail:,} fail, {ops.info:,} info in {duration}")
    )
    if record.promises.notes:
        console.print(Text(f"limits:     {record.promises.notes}"), soft_wrap=True)
    for name, figures in measure_lines(results.measures):
        console.print(Text(f"{name + ':':<12}{figures}"), soft_wrap=True)
    console.print(Text(f"versions:   {version_line(results.versions)}"), soft_wrap=True)
    console.print(Text(f"again:      {record.command_line()}"), soft_wrap=True)
    if report is not None:
        console.print(Text(f"report:     {report}", style="bold"), soft_wrap=True)


def _anomalies(results: ResultsDocument, verdict: Verdict) -> Table:
    table = _table("anomaly", "", "count>", "longest>", "meaning")
    for anomaly in results.anomalies:
        promise = Text("violation", "bold red") if anomaly.promised else Text("hazard", "yellow")
        table.add_row(
            Text(escaped(anomaly.kind)),
            promise,
            f"{anomaly.count:,}",
            milliseconds(anomaly.longest_ms),
            Text(escaped(verdict.meaning(anomaly.kind))),
        )
    return table


def _exercise(results: ResultsDocument) -> Table:
    table = _table("what must have happened", "needed>", "observed>", "")
    for need in results.requirements:
        met = Text("✔", "green") if need.met else Text("✘ too little", "yellow")
        table.add_row(Text(escaped(need.name)), f"{need.needed:,}", f"{need.observed:,}", met)
    return table


def _faults(results: ResultsDocument) -> Table:
    table = _table("fault", "count>", "verified>", "")
    for fault in results.faults:
        whole = fault.verified == fault.count
        mark = Text("✔", "green") if whole else Text("✘ not all in force and healed", "yellow")
        table.add_row(Text(escaped(fault.kind)), f"{fault.count:,}", f"{fault.verified:,}", mark)
    return table


def _table(*columns: str) -> Table:
    """A plain table; a column whose name ends in ``>`` is set flush right."""
    table = Table(box=None, pad_edge=True, header_style="bold")
    for column in columns:
        table.add_column(column.rstrip(">"), justify="right" if column.endswith(">") else "left")
    return table
