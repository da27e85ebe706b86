"""``report.html``: one file, without scripts or external resources, that explains a run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from rumpus.checker.history import History, Op, Operation, load_began
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, Verdict
from rumpus.results.escapes import escaped_lines, in_shell
from rumpus.results.likelihood import Likelihood
from rumpus.results.pictures.lanes import Lanes, fault_label, lanes_of
from rumpus.results.pictures.latency import draw_latency, draw_rate
from rumpus.results.pictures.likelihood_curve import draw_likelihood, title_of
from rumpus.results.pictures.timeline import DrawnTimeline, draw_timeline
from rumpus.results.record import RunRecord
from rumpus.results.reports.measure_text import measure_lines, version_line
from rumpus.results.results_document import ResultsDocument
from rumpus.results.wording import SYMBOLS, headline, milliseconds, remarks, seconds

_PICTURE_BYTES = 4_000_000
_MOST_OF_A_KIND = 10
_MOST_RECORDS = 24
_MOST_FUNCTIONS = 12
_LONGEST_VALUE = 240
_CONTEXT = 50_000_000  # ns shown at least on each side of an anomaly


@dataclass
class Drawing:
    """Draws pictures until ``room`` bytes are used up, and counts what was left out."""

    room: int = _PICTURE_BYTES
    thinned: int = 0
    omitted: int = 0

    def admit(self, draw: Callable[[], Markup]) -> Markup | None:
        """A picture, or None where the file would become too large."""
        svg = draw() if self.room > 0 else None
        if svg is None or len(svg) > self.room:
            self.omitted += 1
            return None
        self.room -= len(svg)
        return svg


@dataclass
class RecordRow:
    """One record of the history, as words."""

    index: int
    at: str
    client: str
    process: str
    type: str
    f: str
    value: str
    error: str


@dataclass
class Finding:
    """One anomaly with its records and its picture."""

    at: str
    length: str
    description: str
    records: list[RecordRow]
    more_records: int
    svg: Markup | None


@dataclass
class FindingGroup:
    """Anomalies of one kind."""

    kind: str
    promised: bool
    meaning: str
    count: int
    longest: str
    findings: list[Finding] = field(default_factory=list)

    @property
    def left_out(self) -> int:
        """How many anomalies have no finding of their own."""
        return self.count - len(self.findings)


@dataclass
class FaultRow:
    """One fault, with a picture of the time around it."""

    at: str
    kind: str
    targets: str
    in_force: str
    verified_in_force: bool
    lasted: str
    healed: str
    verified_healed: bool
    detail: str
    svg: Markup | None = None


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
    lanes = lanes_of(timeline, operations, verdict)
    drawing = Drawing()
    overview = _overview(lanes, drawing)
    groups = _groups(history, verdict, lanes, drawing)
    latencies = _latencies(lanes, operations, drawing)
    rate = drawing.admit(lambda: draw_rate(lanes, operations)) if operations else None
    page = _template().render(
        record=record,
        results=results,
        run=in_shell([results.run]),
        symbol=SYMBOLS[verdict.outcome],
        headline=headline(verdict),
        remarks=remarks(verdict, history),
        duration=seconds(history.end - history.start),
        overview=overview,
        likelihood=_curve(record, history, lanes, likelihood, drawing),
        likelihood_words="" if likelihood is None else title_of(likelihood.step()),
        violations=[group for group in groups if group.promised],
        hazards=[group for group in groups if not group.promised],
        faults=_fault_rows(lanes, drawing),
        latencies=latencies,
        rate=rate,
        by_function=results.by_function,
        by_fault=results.by_fault,
        configuration=_configuration(record),
        measures=measure_lines(results.measures),
        versions=version_line(results.versions),
        drawing=drawing,
        records=len(history),
    )
    return escaped_lines(page)


def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("rumpus.results.reports", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["ms"] = milliseconds
    return environment.get_template("report.html.j2")


def _latencies(
    lanes: Lanes, operations: Sequence[Operation], drawing: Drawing
) -> list[tuple[str, Markup | None]]:
    """The operations' names, those that occur first, each with the picture of its latencies."""
    functions: dict[str, list[Any]] = {}
    for operation in operations:
        functions.setdefault(operation.invoke.f, []).append(operation)
    shown = list(functions.items())[:_MOST_FUNCTIONS]
    return [
        (f, drawing.admit(lambda f=f, group=group: draw_latency(lanes, f, group)))  # type: ignore[misc] # defaults bind the loop's values
        for f, group in shown
    ]


def _curve(
    record: RunRecord,
    history: History,
    lanes: Lanes,
    likelihood: Likelihood | None,
    drawing: Drawing,
) -> Markup | None:
    began = load_began(history, record.time_limit)
    if likelihood is None or began is None:
        return None
    return drawing.admit(lambda: draw_likelihood(lanes, likelihood, began))


def _overview(lanes: Lanes, drawing: Drawing) -> Markup | None:
    return _timeline(lanes, drawing, lanes.start, lanes.end, "the whole run over time")


def _timeline(
    lanes: Lanes,
    drawing: Drawing,
    start: int,
    end: int,
    description: str,
    highlight: Anomaly | None = None,
) -> Markup | None:
    drawn: list[DrawnTimeline] = []

    def draw() -> Markup:
        drawn.append(draw_timeline(lanes, start, end, description, highlight))
        return drawn[0].svg

    svg = drawing.admit(draw)
    if svg is not None and highlight is None:
        drawing.thinned = max(drawing.thinned, drawn[0].thinned)
    return svg


def _groups(
    history: History, verdict: Verdict, lanes: Lanes, drawing: Drawing
) -> list[FindingGroup]:
    """Anomalies by kind, broken promises first; of each kind the longest, in order of time."""
    kinds: dict[tuple[str, bool], list[Anomaly]] = {}
    for anomaly in verdict.anomalies:
        kinds.setdefault((anomaly.kind, anomaly.promised), []).append(anomaly)
    told = {index for anomaly in verdict.anomalies for index in anomaly.ops}
    by_index = {op.index: op for op in history if op.index in told} if told else {}
    groups = []
    for (kind, promised), anomalies in kinds.items():
        lengths = [a.length_ms for a in anomalies if a.length_ms is not None]
        longest = sorted(anomalies, key=lambda a: -(a.length_ms or 0.0))[:_MOST_OF_A_KIND]
        groups.append(
            FindingGroup(
                kind=kind,
                promised=promised,
                meaning=verdict.meaning(kind),
                count=len(anomalies),
                longest=milliseconds(max(lengths, default=None)),
                findings=[
                    _finding(anomaly, by_index, history, lanes, drawing)
                    for anomaly in sorted(longest, key=lambda a: a.start)
                ],
            )
        )
    return groups


def _finding(
    anomaly: Anomaly,
    by_index: dict[int, Op],
    history: History,
    lanes: Lanes,
    drawing: Drawing,
) -> Finding:
    ops = sorted(
        (by_index[index] for index in set(anomaly.ops) if index in by_index),
        key=lambda op: (op.time, op.index),
    )
    times = [op.time for op in ops]
    start = anomaly.start or min(times, default=0)
    end = anomaly.end or max(times, default=0)
    svg = None
    if end:
        context = max(end - start, _CONTEXT)
        svg = _timeline(
            lanes,
            drawing,
            max(start - context, lanes.start),
            min(end + context, lanes.end),
            f"{anomaly.kind}: {anomaly.description}",
            anomaly,
        )
    return Finding(
        at=lanes.seconds(start) if end else "-",
        length=milliseconds(anomaly.length_ms),
        description=anomaly.description,
        records=[_record_row(op, history, lanes) for op in ops[:_MOST_RECORDS]],
        more_records=max(len(ops) - _MOST_RECORDS, 0),
        svg=svg,
    )


def _record_row(op: Op, history: History, lanes: Lanes) -> RecordRow:
    client = ""
    if isinstance(op.process, int):
        client = str(history.client_of(op.process))
    elif isinstance(op.value, dict) and "client" in op.value:
        client = str(op.value["client"])
    return RecordRow(
        index=op.index,
        at=lanes.seconds(op.time),
        client=client,
        process=str(op.process),
        type=op.type,
        f=op.f,
        value="" if op.value is None else _shortened(_compact(op.value)),
        error=_shortened(op.error or ""),
    )


def _fault_rows(lanes: Lanes, drawing: Drawing) -> list[FaultRow]:
    """Faults; each picture shows also a quarter of the fault's length before and after it."""
    rows = []
    full = False
    for fault in lanes.faults:
        end = lanes.fault_end(fault)
        margin = max((end - fault.begun) // 4, _CONTEXT)
        svg = None
        if full:
            drawing.omitted += 1
        else:
            svg = _timeline(
                lanes,
                drawing,
                max(fault.begun - margin, lanes.start),
                min(end + margin, lanes.end),
                f"{fault_label(fault)} over time",
            )
            full = svg is None  # further pictures would be drawn only to be dropped
        rows.append(
            FaultRow(
                at=lanes.seconds(fault.begun),
                kind=fault.kind,
                targets=", ".join(fault.targets),
                in_force=_between(fault.begun, fault.in_force),
                verified_in_force=fault.verified_in_force,
                lasted=seconds(end - fault.begun),
                healed=_between(fault.healing, fault.ended),
                verified_healed=fault.verified_healed,
                detail=_shortened(fault.detail),
                svg=svg,
            )
        )
    return rows


def _between(start: int | None, end: int | None) -> str:
    return "never" if start is None or end is None else f"after {seconds(end - start, 2)}"


def _configuration(record: RunRecord) -> Iterable[tuple[str, str]]:
    """The fields of ``test.json`` and their values, but for what the page shows elsewhere."""
    plain = msgspec.to_builtins(record, order="deterministic")
    left_out = {"argv", "format", "clock_anchors", "plan", "rumpus", "versions"}
    for key, value in plain.items():
        if key not in left_out and value not in (None, {}, []):
            yield key.replace("_", " "), value if isinstance(value, str) else _compact(value)


def _compact(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _shortened(words: str) -> str:
    return words if len(words) <= _LONGEST_VALUE else words[: _LONGEST_VALUE - 1] + "…"
