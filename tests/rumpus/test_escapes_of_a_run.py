"""Every text of a run's files, replaced by what is dangerous: nothing of it acts on its reader."""

import contextlib
import io
import json
import shutil
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from rumpus.command_line import main
from rumpus.results.run_directory import RunDirectory
from tests.dangerous_strings import DANGEROUS
from tests.sampling import sampled

OUTPUTS = ("report.html", "summary.md", "junit.xml", "results.json")
RUN = ["run", "lock", "--recipe", "fair", "--ensemble", "sim", "--time-limit", "3", "--seed", "5"]
RUN += ["--clients", "2"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A simulated run as it is on disk, and as documents that can be changed."""
    runs = tmp_path_factory.mktemp("runs")
    code, _ = called(*RUN, "--nemesis", "kill,pause", "--runs", runs)
    assert code in (0, 3)
    run = RunDirectory((runs / "latest").resolve())
    shutil.rmtree(run.clients)
    return run


@pytest.fixture
def run(recorded, tmp_path):
    shutil.copytree(recorded.path, tmp_path / "run")
    return RunDirectory(tmp_path / "run")


def called(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return code, out.getvalue() + err.getvalue()


def places(value, path=()):
    """Where the strings of a document are."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, (dict, list)):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*path, key))


def kinds_of_places(value):
    """One place for each kind of string: of the elements of a list the last."""
    kinds = {tuple(k if isinstance(k, str) else 0 for k in path): path for path in places(value)}
    return list(kinds.values())


def put(document, path, text):
    *before, last = path
    for key in before:
        document = document[key]
    document[last] = text


def dangerous(number):
    """All that is dangerous in one string, each time with another of them in front."""
    first = number % len(DANGEROUS)
    return " ".join([*DANGEROUS[first:], *DANGEROUS[:first]])


class Page(HTMLParser):
    """What acts in a page."""

    def __init__(self, text):
        super().__init__()
        self.tags = set()
        self.attributes = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    handle_startendtag = handle_starttag


PASSIVE = {"tbody", "details", "summary", "strong", "code", "ul", "ol", "li", "pre"}
DRAWN = {"svg", "g", "title", "circle"}


def harmless(run, said, before):
    """Assert that nothing acts; ``before`` is the report as it was."""
    assert said.replace("\n", "").isprintable()
    if not run.report.exists():
        return
    pages = {name: (run.path / name).read_text() for name in OUTPUTS}
    for text in pages.values():
        assert text.replace("\n", "").isprintable()
    ET.fromstring(pages["junit.xml"])
    json.loads(pages["results.json"])
    page = Page(pages["report.html"])
    assert page.tags <= before.tags | PASSIVE | DRAWN
    assert page.attributes <= before.attributes | {"open", "cx", "cy", "r"}
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(pages["summary.md"])
    parts = [part for token in tokens for part in (token, *(token.children or ()))]
    assert not {part.type for part in parts} & {"link_open", "image", "html_inline", "html_block"}
    headings = [
        parts[number + 1] for number, part in enumerate(parts) if part.type == "heading_open"
    ]
    assert [heading.content for heading in headings][1:] == [
        "Anomalies",
        "Exercise",
        "Operations",
        "Faults",
        "Run again",
    ]


def judged(run, before):
    for name in OUTPUTS:
        (run.path / name).unlink(missing_ok=True)
    run.seal()
    code, said = called("check", run.path, "--json")
    assert code in (0, 1, 2, 3), said
    harmless(run, said, before)
    return code


def test_every_text_of_the_description(run):
    before = Page(run.report.read_text())
    document = json.loads(run.record.read_text())
    document["options"]["server_mutant"] = "x"
    codes = set()
    for number, path in enumerate(kinds_of_places(document)):
        changed = json.loads(json.dumps(document))
        put(changed, path, dangerous(number))
        run.record.write_text(json.dumps(changed))
        codes.add(judged(run, before))
    assert codes >= {2, 3}


def test_all_texts_of_the_description_that_do_not_matter_at_once(run):
    before = Page(run.report.read_text())
    document = json.loads(run.record.read_text())
    for number, field in enumerate(("run", "rumpus", "ensemble", "digest", "image")):
        document[field] = dangerous(number)
    document["argv"] = [*document["argv"], dangerous(5), "--seed", dangerous(6)]
    document["versions"] = {dangerous(number): dangerous(number + 1) for number in (7, 8)}
    document["options"][dangerous(9)] = dangerous(10)
    document["promises"]["notes"] = dangerous(11)
    run.record.write_text(json.dumps(document))
    assert judged(run, before) in (0, 3)


@sampled("part", range(3), of=3)
def test_every_kind_of_text_in_the_history(run, part):
    before = Page(run.report.read_text())
    lines = run.history.read_text().splitlines()
    records = [json.loads(line) for line in lines]
    codes = set()
    kinds = {
        (isinstance(record["process"], int) or record["process"], record["type"], record["f"]): line
        for line, record in enumerate(records)
    }
    found = [(line, path) for line in kinds.values() for path in kinds_of_places(records[line])]
    for number, (line, path) in [*enumerate(found)][part::3]:
        if path == ("process",):
            continue
        changed = json.loads(lines[line])
        put(changed, path, dangerous(number))
        text = [*lines[:line], json.dumps(changed), *lines[line + 1 :]]
        run.history.write_text("\n".join(text) + "\n")
        codes.add(judged(run, before))
    assert codes >= {2, 3}


def test_a_violation_among_texts_that_are_all_dangerous(run):
    before = Page(run.report.read_text())
    records = [json.loads(line) for line in run.history.read_text().splitlines()]
    for number, record in enumerate(records):
        if record["type"] == "fail" or (record["type"], record["process"]) == ("info", "nemesis"):
            record["error"] = dangerous(number)
        if isinstance(record.get("value"), dict) and "detail" in record["value"]:
            record["value"]["detail"] = dangerous(number)
        if isinstance(record.get("value"), dict) and "node" in record["value"]:
            record["value"]["node"] = f"{record['value']['node']}{dangerous(number)}"
        if (record["type"], record["f"]) == ("ok", "acquire"):
            last = record
    last["value"]["token"] = 1
    run.history.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    assert judged(run, before) == 1


@pytest.mark.parametrize("name", ["plan.json", "seal.json"])
def test_every_text_of_the_plan_and_the_seal(run, name):
    before = Page(run.report.read_text())
    path = run.path / name
    document = json.loads(path.read_text())
    document[dangerous(0)] = {dangerous(1): dangerous(2)}
    if name == "seal.json":
        document["files"][dangerous(3)] = {"size": 1, "sha256": dangerous(4)}
        document["files"]["test.json"]["sha256"] = dangerous(5)
        path.write_text(json.dumps(document))
        code, said = called("check", run.path)
        assert code == 3
        harmless(run, said, before)
    else:
        path.write_text(json.dumps(document))
        assert judged(run, before) == 3


def test_halves_of_characters_are_refused(run):
    before = Page(run.report.read_text())
    document = json.loads(run.record.read_text())
    run.record.write_text(json.dumps({**document, "run": "\ud800"}))
    assert judged(run, before) == 2
