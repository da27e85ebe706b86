"""Whatever text stands in a document, what is printed of it has the structure that it always has.

All is printed twice: from documents whose texts are all ``x``, and from documents whose texts are
all dangerous. A real parser of each language has to find the same in both.
"""

import ast
import io
import json
import subprocess
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import msgspec
import pytest
from markdown_it import MarkdownIt

from rumpus import systematic_corners
from rumpus.campaigns import explored_answer
from rumpus.campaigns.bisecting import Bisection, Ran, Showed
from rumpus.campaigns.case import Case
from rumpus.campaigns.corners import Corner
from rumpus.campaigns.findings import Found
from rumpus.campaigns.merging import Part, merge
from rumpus.campaigns.mutant_hunt import Hunt, Mutant
from rumpus.campaigns.replaying import Replay, as_test
from rumpus.campaigns.tasks import Attempt
from rumpus.checker.timeline.states import Interval
from rumpus.checker.verdict import Anomaly, Verdict
from rumpus.command_line import main
from rumpus.commands import (
    bisect_command,
    failure_command,
    mutants_command,
    nights_command,
    replay_command,
)
from rumpus.consoles import _Escaping
from rumpus.nights.comparing import comparison_text
from rumpus.nights.comparing.comparing import compare
from rumpus.nights.comparing.rates import Rate
from rumpus.nights.comparing.sides import Side, tallied
from rumpus.nights.memory.store_rows import Tally
from rumpus.nights.records import FailureRow, NightRow, RunRow
from rumpus.results.escapes import in_file_name, in_python, in_shell
from rumpus.results.likelihood import Likelihood
from rumpus.results.record import RunRecord
from rumpus.results.reports.junit import junit
from rumpus.results.reports.report import render_report
from rumpus.results.reports.summary import summary
from rumpus.results.reports.terminal import print_verdict
from rumpus.results.results_document import results_document
from tests.checker.laid_out import laid_out
from tests.dangerous_strings import DANGEROUS
from tests.hostile_documents import filled, with_text
from tests.results.conftest import run_sample

END = [
    '"""\nimport os; os.abort()\n"""',
    "\\\"\"\"\nimport os; os.abort()\n\\'''",
    "'''\nimport os; os.abort()\n'''",
    "\"'; touch evil; '\"",
    "\\'; touch evil #\n\x01",
    "--help",
    "../../evil",
]
"""Texts that end what they are in."""

TEXTS = [*DANGEROUS, *END]
PATH = Path("runs/lock/x")


@pytest.fixture(scope="module")
def sample():
    """A run of four seconds."""
    return run_sample(seconds=4)


class Report:
    """A run's documents, in which every text is this one."""

    def __init__(self, sample, text, outcome="violation"):
        self.history = with_text(sample.history, text)
        self.record = filled(RunRecord, text)
        self.record = msgspec.structs.replace(self.record, clients=5, clock_anchors=[])
        self.verdict = filled(Verdict, text)
        self.verdict.outcome = outcome
        anomaly = sample.verdict.anomalies[0]
        for check in self.verdict.checks:
            check.anomalies = [
                msgspec.structs.replace(each, ops=anomaly.ops, start=anomaly.start, end=anomaly.end)
                for each in (*check.anomalies, filled(Anomaly, text))
            ]
            check.anomalies[1].promised = False
        bar = msgspec.structs.replace(
            filled(Interval, text), start=anomaly.start, end=anomaly.end, client=0
        )
        self.timeline = laid_out(self.history, bars=[bar])
        self.results = results_document(
            PATH / in_file_name(text), self.record, self.timeline, self.verdict
        )

    def page(self, text):
        likelihood = filled(Likelihood, text)
        return render_report(self.record, self.timeline, self.verdict, self.results, likelihood)


def printed(call, *arguments):
    """What is printed on a terminal on which no line is broken."""
    console = _Escaping(file=io.StringIO(), width=1_000_000)
    call(*arguments, console)
    return console.file.getvalue()


def reports(sample, text):
    """Language -> what a run's reports say in it."""
    report = Report(sample, text)
    parts = report.record, report.history, report.verdict
    return {
        "markdown": summary(*parts, report.results),
        "xml": junit(*parts).decode(),
        "json": report.results.to_json().decode(),
        "terminal": printed(lambda on: print_verdict(on, *parts, report.results)),
    }


def explored(text):
    """An exploration, joined from one part that somebody has sent."""
    found = filled(Found, text)
    whole = filled(Part, text)
    part = msgspec.structs.replace(whole, failures=(found.failure,), taken=(0,), made=(found,))
    return merge([msgspec.json.decode(msgspec.json.encode(part), type=Part)])


def campaigns(text):
    """What commands of campaigns print for people."""
    case = filled(Case, text)
    told = Replay(
        name=text,
        case=case,
        reproduced=True,
        anomaly=text,
        story=[text],
        reasons=[text],
        versions={text: text},
    )
    row = replay_command._row(text, case, told, Attempt(error=text))
    hunt = Hunt(Mutant(text, text, frozenset({text})), "failed", words=text)
    hunt.anomalies[text] = 1
    shrunk = SimpleNamespace(case=case, operations=1, corner=Corner((), None), runs=1)
    failed = Corner((), SimpleNamespace(attempt=Attempt(error=text)))
    walk = systematic_corners.Walk(found=[shrunk], errors=[failed])
    corners = SimpleNamespace(frames=1, switches=0, total=1)
    ran = Ran(reproduced="unknown", error=text)
    bisection = Bisection(showed=[Showed(version=text, runs=[ran])])
    return [
        printed(explored_answer.print_explored, explored(text), [Path(text)]),
        printed(systematic_corners._print, corners, walk, [Path(text)]),
        printed(mutants_command._print, [hunt]),
        printed(bisect_command._print, bisection),
        printed(partial(replay_command._print, row, told, alone=True)),
        *nights(text),
    ]


def nights(text):
    """What is told of nights: their list, a failure, and a comparison as text."""
    night = filled(NightRow, text)
    listed = nights_command.nights_document(
        [night], [Tally(night=night.name, subject=text, role="run")]
    )
    told = {
        **dict.fromkeys(("id", "failure", "write", "again", "case"), text),
        **{what: {"night": text, "at": 1.0} for what in ("first", "last")},
        "rate": {"runs": 1, "of": 2, "low": 0.1, "high": 0.9},
        "runs": 1,
        "nights": [{"night": text, "runs": 1, "of": 2}],
        "looks": [{"fingerprint": text, "why": text}] * 2,
        "versions": {text: [text]},
        "shrunk": True,
        "story": [text],
    }
    return [
        printed(nights_command._print, listed),
        printed(nights_command._print_found_rates, [filled(Rate, text)]),
        printed(failure_command._print, told),
        printed(comparison_text.print_comparison, compared(text)),
    ]


def compared(text):
    """Two sides that have in common what is named by a text, and a failure of it."""
    known = FailureRow(workload=text, recipe=text, fingerprint=filled(Case, text).expects)
    thing = f"{text} / {text}"
    rows = [RunRow(role="run", subject=thing, outcome="violation", failures=(known.id,))]
    a, b = (
        Side(name=text, what="night", tallies=tallied(each), failures={known.id: known})
        for each in ([*rows, RunRow(role="run", subject="x, sim", outcome="valid")], rows)
    )
    return compare(a, b)


class Page(HTMLParser):
    """What is in a page, but for its text."""

    def __init__(self, text):
        super().__init__()
        self.parts = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.parts.add(tag)
        # Classes are known words; other values are numbers, or text in quotes.
        known = ("class", "style", "href", "src")
        self.parts.update((tag, name, value if name in known else "") for name, value in attrs)

    handle_startendtag = handle_starttag

    def handle_comment(self, data):
        self.parts.add(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def of_xml(text):
    return [(each.tag, sorted(each.attrib)) for each in ET.fromstring(text).iter()]


def of_markdown(text):
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(text)
    inline = [part.type for token in tokens for part in token.children or ()]
    plain = ("text", "text_special")
    return [token.type for token in tokens], [kind for kind in inline if kind not in plain]


def of_python(text):
    tree = ast.parse(text)
    strings = {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)}
    return [type(each).__name__ for each in ast.walk(tree)], ast.get_docstring(tree), strings


def of_json(value):
    if isinstance(value, dict):
        return [of_json(each) for each in value.values()]
    return list(map(of_json, value)) if isinstance(value, list) else type(value)


def words_of(command, place):
    """The words of a command, as shells read them; they can find no other program."""
    code = f"words() {{ printf '%s\\0' \"$@\"; }}; words {command}"
    read = []
    for shell in ("/bin/bash", "/bin/sh"):
        done = subprocess.run(
            [shell, "-c", code],
            cwd=place,
            env={"HOME": str(place), "PATH": "", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            check=True,
        )
        assert list(place.iterdir()) == []
        read.append(done.stdout.decode(errors="surrogateescape").split("\0")[:-1])
    assert read[0] == read[1]
    return read[0]


@pytest.fixture(scope="module")
def harmless(sample):
    return reports(sample, "x")


@pytest.mark.parametrize("text", TEXTS)
def test_reports_of_a_run(sample, harmless, text):
    told = reports(sample, text)
    for each in told.values():
        assert each.replace("\n", "").isprintable()
    assert of_xml(told["xml"]) == of_xml(harmless["xml"])
    assert of_markdown(told["markdown"]) == of_markdown(harmless["markdown"])
    assert of_json(json.loads(told["json"])) == of_json(json.loads(harmless["json"]))
    assert told["terminal"].count("\n") == harmless["terminal"].count("\n")


@pytest.fixture(scope="module")
def harmless_page(sample):
    return page(sample, "x")


def page(sample, text):
    report = Report(sample, text)
    parts = report.record, report.timeline, report.verdict, report.results
    return render_report(*parts, filled(Likelihood, text))


@pytest.mark.parametrize("first", range(0, len(TEXTS), 4))
def test_the_page_of_a_run(sample, harmless_page, first):
    told = page(sample, " ".join(TEXTS[first : first + 4]))
    assert told.replace("\n", "").isprintable()
    assert Page(told).parts <= Page(harmless_page).parts


@pytest.mark.parametrize("outcome", ["valid", "unknown", "inconclusive"])
def test_reports_of_a_run_that_shows_no_violation(sample, outcome):
    found = []
    for text in ("x", " ".join(TEXTS)):
        report = Report(sample, text, outcome)
        told = summary(report.record, report.history, report.verdict, report.results)
        found.append(of_markdown(told))
    assert found[0] == found[1]


@pytest.mark.parametrize("text", TEXTS)
def test_answers_of_campaigns(text):
    for told, before in zip(campaigns(text), campaigns("x"), strict=True):
        assert told.replace("\n", "").isprintable()
        assert told.count("\n") == before.count("\n")


@pytest.mark.parametrize("text", TEXTS)
def test_a_comparison_in_markdown(text):
    told, before = (comparison_text.in_markdown_page(compared(each)) for each in (text, "x"))
    assert told.replace("\n", "").isprintable()
    assert of_markdown(told) == of_markdown(before)


@pytest.mark.parametrize("text", TEXTS)
def test_a_test_in_python(text):
    case = filled(Case, text)
    name = case.name()
    told, before = (of_python(as_test({each: case})) for each in (text, "x"))
    assert told[:2] == before[:2]
    assert case in [decode(each) for each in told[2] if isinstance(each, str)]
    assert ast.literal_eval(in_python(text)) == text
    assert (Path(name).name, Path(name).parent) == (name, Path())


def decode(text):
    return msgspec.json.decode(text, type=Case) if text.startswith("{") else None


@pytest.mark.parametrize("text", TEXTS)
def test_commands_that_are_printed_to_be_run_again(text, tmp_path):
    word = text.replace("\0", "")
    record = msgspec.structs.replace(filled(RunRecord, word), argv=[word, "run", word, word])
    commands = [
        record.command_line(),
        in_shell(["rumpus", word]),
        *(each["again"] for each in found_in(explored(word), Path(word))),
    ]
    for command in commands:
        assert command.isprintable()
        words = words_of(command, tmp_path)
        assert words[0] == "rumpus"
        assert {word, str(Path(word))} & set(words[1:])


def found_in(explored, path):
    return json.loads(msgspec.json.encode(explored_answer.explored_document(explored, [path], 1)))[
        "findings"
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_the_picture_of_a_witness(text, tmp_path, capsys):
    """A register that was never written has a value that is this text."""
    history = tmp_path / "history.jsonl"
    records = [
        {"process": 0, "type": kind, "f": "read", "value": value, "time": time}
        for time, (kind, value) in enumerate([("invoke", None), ("ok", [text, 1])])
    ]
    history.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    picture = tmp_path / "picture.svg"
    words = ["check", history, "--model", "register", "--svg", picture, "--json"]
    assert main(list(map(str, words))) == 1
    said = capsys.readouterr()
    assert f"{said.out}{said.err}".replace("\n", "").isprintable()
    assert json.loads(said.out)["valid"] is False
    tags = {tag.rpartition("}")[2] for tag, _ in of_xml(picture.read_text())}
    assert tags <= {"svg", "style", "rect", "line", "path", "text", "title"}
