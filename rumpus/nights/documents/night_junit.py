"""``junit.xml`` of a night: a suite for each thing that a night does, as CI servers read it.

What is broken is a failure. What could not be looked at, or proves nothing, is an error: it does
not pass, and does not say that a recipe is wrong.
"""

from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from rumpus.nights.documents.document import NightDocument
from rumpus.nights.documents.summary import headline
from rumpus.results.reports.junit import document_of


def night_junit(document: NightDocument) -> bytes:
    """The XML document."""
    suites = [
        _recipes(document),
        _cases(document),
        _canaries(document),
        _commands(document),
        _night(document),
    ]
    return document_of([suite for suite in suites if len(suite)])


def _recipes(document: NightDocument) -> ET.Element:
    suite = _suite("rumpus.night.recipes", document)
    seconds: dict[str, float] = {}
    shown: dict[str, set[str]] = {}
    for run in document.trials:
        seconds[run.subject] = seconds.get(run.subject, 0.0) + run.seconds
        shown.setdefault(run.subject, set()).update(run.failures)
    for subject, counts in document.outcomes.items():
        case = _case(suite, subject, seconds[subject])
        for each in document.failures:
            if each.failure.id not in shown[subject]:
                continue
            if each.state not in ("new", "known"):
                ET.SubElement(
                    case, "system-out"
                ).text = f"expected: {each.failure} ({each.why or 'also without the change'})"
                continue
            story = each.failure.case.story if each.failure.case is not None else ()
            _outcome(
                case,
                "failure",
                each.state,
                f"{each.failure.fingerprint}",
                "\n".join([f"rumpus failure {each.failure.id}", *story]),
            )
        if number := document.unexplained.get(subject):
            _outcome(case, "failure", "hazards", f"{number} runs were violations by hazards", "")
        if subject in document.unexercised:
            _outcome(case, "error", "inconclusive", "too little happened in all runs", "")
        elif subject in document.undecided:
            _outcome(case, "error", "unknown", "most runs could not be decided", "")
        elif counts["none"] == counts.total():
            _outcome(case, "error", "unperformed", "no run could be performed", "")
    for subject in document.waiting:
        case = _case(suite, subject, 0.0)
        ET.SubElement(case, "skipped", message="it had no turn within the budget")
    return suite


def _cases(document: NightDocument) -> ET.Element:
    suite = _suite("rumpus.night.cases", document)
    for each in document.cases:
        case = _case(suite, each.name, 0.0)
        if each.state == "regression":
            _outcome(case, "failure", "regression", each.why, each.again)
        elif each.state not in ("shown", "mended"):
            _outcome(case, "error", each.state, each.why, each.again)
    return suite


def _canaries(document: NightDocument) -> ET.Element:
    suite = _suite("rumpus.night.canaries", document)
    for each in document.canaries:
        case = _case(suite, each.name, 0.0)
        if each.state == "blind":
            message = f"stayed green in {each.runs} runs: {', '.join(each.expected)} is not seen"
            _outcome(case, "error", "blind", message, "")
        elif each.state != "found":
            ET.SubElement(case, "skipped", message=each.why or "it had too few runs")
    return suite


def _commands(document: NightDocument) -> ET.Element:
    suite = _suite("rumpus.night.commands", document)
    for each in document.commands:
        case = _case(suite, each.name, each.seconds)
        if each.exit_code:
            _outcome(case, "failure", "command", f"exit code {each.exit_code}", each.said)
    return suite


def _night(document: NightDocument) -> ET.Element:
    """What belongs to no recipe: troubles, expectations that are over, and the first line."""
    suite = _suite("rumpus.night", document)
    case = _case(suite, "night", document.night.seconds)
    for words in document.expired:
        _outcome(case, "failure", "expired", words, "")
    for trouble in document.night.troubles:
        _outcome(case, "error", trouble.kind, trouble.what, "")
    if document.night.interrupted or document.nothing_run:
        _outcome(case, "error", "open", headline(document), "")
    ET.SubElement(case, "system-out").text = headline(document)
    return suite


def _suite(name: str, document: NightDocument) -> ET.Element:
    began = datetime.fromtimestamp(document.night.began, UTC)
    return ET.Element("testsuite", name=name, timestamp=began.isoformat(timespec="seconds"))


def _case(suite: ET.Element, name: str, seconds: float) -> ET.Element:
    return ET.SubElement(
        suite, "testcase", classname=suite.get("name", ""), name=name, time=f"{seconds:.3f}"
    )


def _outcome(case: ET.Element, tag: str, kind: str, message: str, text: str) -> None:
    ET.SubElement(case, tag, type=kind, message=message).text = text
