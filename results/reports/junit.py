"""``junit.xml``: a run as continuous integration servers read it.

Each check is a test case; the check ``exercise`` asks whether enough happened. A broken promise is
a failure. A check without an answer, and a run in which too little happened, are errors: they do
not pass, and do not say that the recipe is wrong.
"""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from rumpus.checker.history import History
from rumpus.checker.verdict import Anomaly, CheckResult, Requirement, Verdict, meaning_of
from rumpus.results.escapes import escaped_lines
from rumpus.results.record import RunRecord
from rumpus.results.wording import fails_run, headline, milliseconds, remarks

_MOST_ANOMALIES = 50
_DECLARATION = b"<?xml version='1.0' encoding='utf-8'?>\n"


def junit(record: RunRecord, history: History, verdict: Verdict) -> bytes:
    """The XML document."""
    name = f"rumpus.{record.workload}.{record.recipe}"
    duration = f"{(history.end - history.start) / 1e9:.3f}"
    suite = ET.Element(
        "testsuite",
        name=name,
        timestamp=record.started.isoformat(timespec="seconds"),
        time=duration,
    )
    properties = ET.SubElement(suite, "properties")
    for key in ("run", "seed", "ensemble", "nodes", "clients"):
        ET.SubElement(properties, "property", name=key, value=str(getattr(record, key)))
    for name, version in sorted({"rumpus": record.rumpus, **record.versions}.items()):
        ET.SubElement(properties, "property", name=f"version.{name}", value=version)
    for check in verdict.checks:
        _add_check(suite, name, check, record)
    if verdict.outcome != "valid" and suite.find("testcase/*[@type]") is None:
        # What is known of the whole run, and of no check: it was interrupted, or came from others.
        case = ET.SubElement(suite, "testcase", classname=name, name="verdict")
        message = verdict.reasons[0] if verdict.reasons else headline(verdict)
        text = "\n".join(verdict.reasons)
        _add_outcome(case, "error", verdict.outcome, f"undecided: {message}", text)
    lines = [headline(verdict), *remarks(verdict, history)]
    lines.append(f"run again: {record.command_line()}")
    ET.SubElement(suite, "system-out").text = "\n".join(lines)
    return document_of([suite])


def document_of(suites: Sequence[ET.Element]) -> bytes:
    """The document of some test suites, whose cases are counted."""
    root = ET.Element("testsuites")
    for suite in suites:
        for outcome, plural in (("failure", "failures"), ("error", "errors")):
            suite.set(plural, str(len(suite.findall(f"testcase/{outcome}"))))
        suite.set("tests", str(len(suite.findall("testcase"))))
        suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
        root.append(suite)
    ET.indent(root)
    # XML 1.0 cannot contain most control characters, not even escaped.
    return _DECLARATION + escaped_lines(ET.tostring(root, encoding="unicode")).encode() + b"\n"


def _add_check(suite: ET.Element, name: str, check: CheckResult, record: RunRecord) -> None:
    case = ET.SubElement(suite, "testcase", classname=name, name=check.name)
    failures = [a for a in check.anomalies if fails_run(a, strict=record.strict)]
    hazards = [a for a in check.anomalies if not fails_run(a, strict=record.strict)]
    if failures:
        kinds = sorted({anomaly.kind for anomaly in failures})
        message = "; ".join(
            f"{kind}: {meaning_of(kind, [check]) or 'an anomaly'}" for kind in kinds
        )
        _add_outcome(case, "failure", ", ".join(kinds), message, _listed(failures))
    elif check.unknown:
        text = "\n".join(check.unknown)
        _add_outcome(case, "error", "unknown", f"undecided: {check.unknown[0]}", text)
    elif any(not need.met for need in check.requirements):
        unmet = [_told(need) for need in check.requirements if not need.met]
        message = f"too little happened: {'; '.join(unmet)}"
        _add_outcome(case, "error", "inconclusive", message, "\n".join(unmet))
    remarks = [_told(need) for need in check.requirements]
    if hazards:
        remarks.append("hazards:\n" + _listed(hazards))
    if remarks:
        ET.SubElement(case, "system-out").text = "\n".join(remarks)


def _told(need: Requirement) -> str:
    return f"{need.name}: {need.observed} of at least {need.needed}"


def _add_outcome(case: ET.Element, tag: str, kind: str, message: str, text: str) -> None:
    ET.SubElement(case, tag, type=kind, message=message).text = text


def _listed(anomalies: list[Anomaly]) -> str:
    lines = [
        f"{anomaly.kind} ({milliseconds(anomaly.length_ms)}): {anomaly.description} "
        f"[records {', '.join(map(str, anomaly.ops))}]"
        for anomaly in anomalies[:_MOST_ANOMALIES]
    ]
    if len(anomalies) > _MOST_ANOMALIES:
        lines.append(f"and {len(anomalies) - _MOST_ANOMALIES} more: see results.json")
    return "\n".join(lines)
