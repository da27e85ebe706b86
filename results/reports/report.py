"""``report.html``: one file, without external resources, that explains a run.

All is there without its script, which moves pictures and searches records. The page's content
security policy names the script and the styles by their hashes, so that no other can run.
"""

from collections.abc import Iterable, Sequence
from functools import cache

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from rumpus.checker.history import History, Operation, load_began
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Verdict
from rumpus.checker.wording import counted
from rumpus.results.escapes import escaped_lines, in_shell
from rumpus.results.likelihood import Likelihood
from rumpus.results.pictures.lanes import lanes_of
from rumpus.results.pictures.latency import draw_latency, draw_rate
from rumpus.results.pictures.likelihood_curve import draw_likelihood, title_of
from rumpus.results.record import RunRecord
from rumpus.results.reports.assets import asset, hashed
from rumpus.results.reports.drawing import Drawing
from rumpus.results.reports.fault_rows import MANY, fault_groups
from rumpus.results.reports.findings import cited_records, finding_groups
from rumpus.results.reports.first_screen import first_screen
from rumpus.results.reports.measure_text import measure_lines, version_line
from rumpus.results.reports.record_rows import compact, told_records
from rumpus.results.results_document import ResultsDocument
from rumpus.results.wording import (
    SYMBOLS,
    headline,
    milliseconds,
    promised,
    remarks,
    seconds,
)

_MOST_FUNCTIONS = 12


def render_report(
    record: RunRecord,
    timeline: Timeline,
    verdict: Verdict,
    results: ResultsDocument,
    likelihood: Likelihood | None = None,
) -> str:
    """The page, at most about 5 MB however long the run.

    Args:
        record: what was run.
        timeline: what happened.
        verdict: the findings of the checkers.
        results: the counts of them.
        likelihood: when the failure became likely, if that was measured.

    Raises:
        ValueError: calls and completions, or starts and stops of faults, do not pair.
    """
    history = timeline.history
    operations = history.operations()
    drawing = Drawing(lanes_of(timeline, operations, verdict))
    cited = cited_records(history, verdict)
    screen = first_screen(timeline, verdict, results, cited, drawing)
    groups = finding_groups(history, verdict, cited, drawing)
    style, script = asset("colours.css", "report.css"), asset("report.js")
    page = _template().render(
        record=record,
        results=results,
        run=in_shell([results.run]),
        symbol=SYMBOLS[verdict.outcome],
        headline=headline(verdict),
        remarks=remarks(verdict, history),
        duration=seconds(history.end - history.start),
        screen=screen,
        held=any(row in ("belief", "grant") for _, row in drawing.lanes.rows),
        violations=[group for group in groups if group.promised],
        hazards=[group for group in groups if not group.promised],
        kept={kind: verdict.meaning(kind) for kind in sorted(record.promises.prevents)},
        promised=promised(record.promises),
        records=told_records(history, cited, screen.numbers, screen.stretch),
        all_records=len(history),
        overview=_overview(drawing),
        likelihood=_curve(record, history, likelihood, drawing),
        likelihood_words="" if likelihood is None else title_of(likelihood.step()),
        fault_groups=fault_groups(drawing),
        folded=len(timeline.faults) > MANY,
        rate=drawing.admit(lambda: draw_rate(drawing.lanes, operations)) if operations else None,
        latencies=_latencies(operations, drawing),
        configuration=_configuration(record),
        measures=measure_lines(results.measures),
        versions=version_line(results.versions),
        drawing=drawing,
        style=style,
        script=script,
        hashed={"style": hashed(style), "script": hashed(script)},
    )
    return escaped_lines(page)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("rumpus.results.reports", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["ms"] = milliseconds
    environment.filters["counted"] = counted
    return environment.get_template("report.html.j2")


def _overview(drawing: Drawing) -> Markup | None:
    lanes = drawing.lanes
    return drawing.timeline(lanes.start, lanes.end, "the whole run over time")


def _latencies(
    operations: Sequence[Operation], drawing: Drawing
) -> list[tuple[str, Markup | None]]:
    """The operations' names, those that occur first, each with the picture of its latencies."""
    functions: dict[str, list[Operation]] = {}
    for operation in operations:
        functions.setdefault(operation.invoke.f, []).append(operation)

    def drawn(f: str) -> Markup | None:
        return drawing.admit(lambda: draw_latency(drawing.lanes, f, functions[f]))

    return [(f, drawn(f)) for f in list(functions)[:_MOST_FUNCTIONS]]


def _curve(
    record: RunRecord, history: History, likelihood: Likelihood | None, drawing: Drawing
) -> Markup | None:
    began = load_began(history, record.time_limit)
    if likelihood is None or began is None:
        return None
    return drawing.admit(lambda: draw_likelihood(drawing.lanes, likelihood, began))


def _configuration(record: RunRecord) -> Iterable[tuple[str, str]]:
    """The fields of ``test.json`` and their values, but for what the page shows elsewhere."""
    plain = msgspec.to_builtins(record, order="deterministic")
    left_out = {"argv", "format", "clock_anchors", "plan", "promises", "rumpus", "versions"}
    for key, value in plain.items():
        if key not in left_out and value not in (None, {}, []):
            yield key.replace("_", " "), value if isinstance(value, str) else compact(value)
