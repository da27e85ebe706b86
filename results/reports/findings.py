"""The anomalies of a run, as a report tells them: by kind, and those of one fingerprint folded."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from rumpus.checker.history import History, Op
from rumpus.checker.verdict import Anomaly, Verdict
from rumpus.results.fingerprint import Fingerprint
from rumpus.results.reports.drawing import CONTEXT, Drawing
from rumpus.results.reports.record_rows import RecordRow, record_row
from rumpus.results.wording import milliseconds

_MOST_FINGERPRINTS = 6
_MOST_ALIKE = 10
_MOST_RECORDS = 24


@dataclass
class Finding:
    """The longest anomaly of its fingerprint with its records and its picture, and those like it.

    ``first`` says whether it is the one of the first screen, whose picture is there.
    """

    of: str
    count: int
    at: str
    length: str
    description: str
    records: list[RecordRow]
    more_records: int
    svg: Markup | None
    first: bool
    alike: list[tuple[str, str, str]]

    @property
    def left_out(self) -> int:
        """How many anomalies of the fingerprint are not told at all."""
        return self.count - 1 - len(self.alike)


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
        """How many anomalies are of fingerprints that are not told."""
        return self.count - sum(finding.count for finding in self.findings)


def cited_records(history: History, verdict: Verdict) -> Mapping[int, Op]:
    """The records that anomalies cite, by index."""
    told = {index for anomaly in verdict.anomalies for index in anomaly.ops}
    return {op.index: op for op in history if op.index in told} if told else {}


def extent(anomaly: Anomaly, cited: Mapping[int, Op]) -> tuple[int, int]:
    """When an anomaly began and ended: where it does not say, by its records; else 0 and 0."""
    times = [cited[index].time for index in anomaly.ops if index in cited]
    start = anomaly.start or min(times, default=0)
    return start, anomaly.end or max(times, default=0)


def finding_groups(
    history: History, verdict: Verdict, cited: Mapping[int, Op], drawing: Drawing
) -> list[FindingGroup]:
    """Anomalies by kind, broken promises first; of each kind by fingerprint, the most first."""
    first = next(iter(verdict.anomalies), None)
    kinds: dict[tuple[str, bool], list[Anomaly]] = {}
    for anomaly in verdict.anomalies:
        kinds.setdefault((anomaly.kind, anomaly.promised), []).append(anomaly)
    groups = []
    for (kind, promised), anomalies in kinds.items():
        lengths = [each.length_ms for each in anomalies if each.length_ms is not None]
        alike: dict[Fingerprint, list[Anomaly]] = {}
        for anomaly in anomalies:
            alike.setdefault(_fingerprint(anomaly, cited), []).append(anomaly)
        most = sorted(alike.items(), key=lambda item: -len(item[1]))[:_MOST_FINGERPRINTS]
        groups.append(
            FindingGroup(
                kind=kind,
                promised=promised,
                meaning=verdict.meaning(kind),
                count=len(anomalies),
                longest=milliseconds(max(lengths, default=None)),
                findings=[
                    _finding(fingerprint, same, first, history, cited, drawing)
                    for fingerprint, same in most
                ],
            )
        )
    return groups


def _fingerprint(anomaly: Anomaly, cited: Mapping[int, Op]) -> Fingerprint:
    ops = [cited[index] for index in anomaly.ops if index in cited]
    operations = {op.f for op in ops if isinstance(op.process, int)}
    return Fingerprint(kind=anomaly.kind, operations=tuple(sorted(operations)))


def _finding(
    fingerprint: Fingerprint,
    same: Sequence[Anomaly],
    first: Anomaly | None,
    history: History,
    cited: Mapping[int, Op],
    drawing: Drawing,
) -> Finding:
    by_length = sorted(same, key=lambda each: -(each.length_ms or 0.0))
    anomaly = by_length[0]
    others = sorted(by_length[1 : 1 + _MOST_ALIKE], key=lambda each: each.start)
    ops = sorted(
        (cited[index] for index in set(anomaly.ops) if index in cited),
        key=lambda op: (op.time, op.index),
    )
    start, end = extent(anomaly, cited)
    return Finding(
        of=", ".join(fingerprint.operations),
        count=len(same),
        at=_at(anomaly, cited, history),
        length=milliseconds(anomaly.length_ms),
        description=anomaly.description,
        records=[record_row(op, history) for op in ops[:_MOST_RECORDS]],
        more_records=max(len(ops) - _MOST_RECORDS, 0),
        svg=_picture(anomaly, start, end, drawing) if end and anomaly is not first else None,
        first=anomaly is first,
        alike=list(_in_short(others, history, cited)),
    )


def _picture(anomaly: Anomaly, start: int, end: int, drawing: Drawing) -> Markup | None:
    context = max(end - start, CONTEXT)
    description = f"{anomaly.kind}: {anomaly.description}"
    return drawing.timeline(start - context, end + context, description, anomaly)


def _in_short(
    anomalies: Sequence[Anomaly], history: History, cited: Mapping[int, Op]
) -> Iterable[tuple[str, str, str]]:
    for each in anomalies:
        yield _at(each, cited, history), milliseconds(each.length_ms), each.description


def _at(anomaly: Anomaly, cited: Mapping[int, Op], history: History) -> str:
    start, end = extent(anomaly, cited)
    return f"{(start - history.start) / 1e9:.3f} s" if end else "-"
