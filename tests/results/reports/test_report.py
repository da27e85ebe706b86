import base64
import hashlib
import re
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest

from rumpus.checker.history import History, Op
from rumpus.checker.measures import measure
from rumpus.checker.verdict import Anomaly, CheckResult, judge
from rumpus.results.reports import report
from rumpus.results.reports.report import render_report
from rumpus.results.results_document import results_document
from tests.checker.laid_out import laid_out
from tests.sampling import one_in

MS = 1_000_000
START = 86_400_000 * MS


def replace_index(op, index):
    return msgspec.structs.replace(op, index=index)


def render(sample, history=None, verdict=None):
    history = sample.history if history is None else history
    verdict = verdict or sample.verdict
    results = results_document(Path("runs/lock/x"), sample.record, sample.of(history), verdict)
    return render_report(sample.record, sample.of(history), verdict, results)


class Page(HTMLParser):
    """Tags, attributes and words of a page; fails on tags that do not match."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.words, self.open = [], [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def html(sample):
    measures = measure(laid_out(sample.history, contended=True))
    return render(sample, verdict=msgspec.structs.replace(sample.verdict, measures=measures))


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_is_one_file_without_references_to_others(html, page):
    assert not {"link", "img", "iframe", "object", "base", "form"} & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert not names & {"src", "srcset", "data", "style", "xlink:href"}
    assert not [name for name in names if name.startswith("on")]
    assert "://" not in html
    assert "@import" not in html
    assert set(re.findall(r"url\(([^)]*)\)", html)) == {"#hatch", "#cross"}


def test_links_lead_to_places_of_the_same_page(page):
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = {value for name, value in page.attributes if name == "href"}
    assert links
    assert links <= {f"#{each}" for each in ids}


def test_only_its_own_script_and_styles_may_run(html):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1].replace("&#39;", "'")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules.pop("default-src") == rules.pop("base-uri") == rules.pop("form-action") == "'none'"
    assert set(rules) == {"style-src", "script-src"}
    for name, rule in (("style", "style-src"), ("script", "script-src")):
        (inside,) = re.findall(f"<{name}>(.*?)</{name}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_its_script_makes_no_markup_of_texts():
    script = (files("rumpus.results.reports") / "report.js").read_text()
    for made in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "Function(",
    ):
        assert made not in script


@pytest.mark.parametrize(
    "told",
    [
        "✘ Violation: the recipe broke a promise",
        "split-brain: 1 (more clients with live",
        "What led to it",
        "split-brain : ",
        "c0 and c2 both believed that they held the lock",
        "58.997 s",
        '"token":',
        "promise broken split-brain",
        "hazard stale-belief",
        "✘ not verified after 0.18 s",
        "contended handovers 10 4,321 ✔ enough",
        "Latency of acquire",
        "client-partition c4, closer",
        "rumpus run lock --recipe fair --time-limit 60 --seed 7",
        "rumpus check runs/lock/x",
        "narrower than it can show",
    ],
)
def test_tells_verdict_anomalies_faults_exercise_speed_and_how_to_run_again(page, told):
    assert told in page.text


def test_tells_how_long_each_healing_took(page):
    assert page.text.count("✔ verified after 0.42 s") == 6


@one_in(2)
def test_a_run_of_100000_operations_stays_small(make_sample):
    sample = make_sample(seconds=60, cycle=2_400_000)
    assert len(sample.history.operations()) > 95_000
    assert len(render(sample)) < 5_000_000


def test_pictures_that_do_not_fit_are_left_out_with_a_word(sample, monkeypatch):
    monkeypatch.setattr(report, "Drawing", partial(report.Drawing, room=0))
    page = Page(render(sample))
    assert "<svg viewBox" not in page.text
    assert "pictures were left out to keep this file small" in page.text
    assert "Nothing could be drawn" in page.text


def test_of_very_many_anomalies_the_longest_are_told(sample):
    many = [
        Anomaly(
            kind="stale-belief",
            description=f"number {n}",
            start=sample.history.start + n * MS,
            end=sample.history.start + n * MS + 1,
            length_ms=float(n),
        )
        for n in range(500)
    ]
    verdict = judge([CheckResult(name="exclusion", anomalies=many)], [])
    page = Page(render(sample, verdict=verdict))
    assert "499.0 ms: number 499" in page.text
    assert "499 more, none longer" in page.text
    assert "489.0 ms number 489" in page.text
    assert "488.0 ms number 488" not in page.text
    assert "The other 489 are in results.json" in page.text


def test_anomalies_of_one_fingerprint_are_folded_with_their_number(sample):
    acquire = next(op.index for op in sample.history if op.f == "acquire")
    release = next(op.index for op in sample.history if op.f == "release")
    anomalies = [
        Anomaly(kind="split-brain", description=f"number {n}", ops=[op], start=n * MS, end=n * MS)
        for n, op in enumerate([acquire, acquire, acquire, release])
    ]
    verdict = judge([CheckResult(name="exclusion", anomalies=anomalies)], ["split-brain"])
    page = Page(render(sample, verdict=verdict))
    assert page.attributes.count(("open", None)) == 2  # the first of them, and the first latency
    before, folded = page.text.split("2 more of acquire, none longer")
    assert "Number 0." in before
    assert folded.index("number 1") < folded.index("number 2") < folded.index("number 3")


def test_records_have_a_column_for_errors_only_if_one_has_an_error(sample):
    failed = next(op.index for op in sample.history if op.error)
    fine = [op.index for op in sample.history if op.error is None][:2]

    def told(ops):
        anomaly = Anomaly(kind="split-brain", description="", ops=ops, start=0, end=MS)
        verdict = judge([CheckResult(name="exclusion", anomalies=[anomaly])], ["split-brain"])
        return Page(render(sample, verdict=verdict)).text

    assert "type value error" in told([*fine, failed])
    assert "type value error" not in told(fine)
    assert "type value" in told(fine)


def test_text_from_the_run_cannot_become_markup(make_sample):
    sample = make_sample(seconds=5)
    nasty = "</td></svg><script>alert(1)</script>"
    sample.record.recipe = nasty
    ops = [
        Op(index=0, time=1, process=0, type="invoke", f=nasty, value=nasty),
        Op(index=1, time=9 * MS, process=0, type="fail", f=nasty, error=nasty),
        *(
            Op(index=n, time=n * MS, process="nemesis", type=type_, f="start", value=value)
            for n, type_, value in [
                (2, "invoke", {"id": 1, "kind": nasty, "targets": [nasty]}),
                (3, "info", {"id": 1, "kind": nasty, "targets": [nasty], "detail": nasty}),
            ]
        ),
    ]
    anomaly = Anomaly(kind=nasty, description=nasty, ops=[0, 1], start=1, end=9 * MS)
    verdict = judge([CheckResult(name=nasty, anomalies=[anomaly], unknown=[nasty])], [])
    html = render(sample, History(ops, clients=1, truncated=True), verdict)
    page = Page(html)
    assert page.tags.count("script") == 1
    assert nasty in page.text
    assert "did not come to its orderly end" in page.text


def test_a_history_without_a_record_can_be_told(sample):
    verdict = judge([CheckResult(name="exercise", unknown=["nothing happened"])], [])
    page = Page(render(sample, History([], truncated=True), verdict))
    assert "There were no operations" in page.text
    assert "? Unknown" in page.text


def test_shows_the_measures_and_the_versions(page, sample):
    assert "acquire that ended ok over 5 clients" in page.text
    assert "after a release: median" in page.text
    assert (
        f"With kazoo 2.10.0, python 3.11.2, rumpus {sample.record.rumpus}, zookeeper" in page.text
    )


def test_a_run_without_measures_has_no_such_heading(sample):
    assert "Measures" not in Page(render(sample)).text


def test_says_what_is_not_judged(sample):
    promises = replace(sample.record.promises, notes="It has no `held`: <b>derived</b>.")
    record = msgspec.structs.replace(sample.record, promises=promises)
    page = Page(render(replace(sample, record=record)))
    assert "Limits: It has no `held`: <b>derived</b>." in page.text


def test_says_what_is_promised_and_what_is_not(sample):
    promises = replace(sample.record.promises, notes="A paused holder can act late.", wakeups=1)
    record = msgspec.structs.replace(sample.record, promises=promises)
    page = Page(render(replace(sample, record=record)))
    assert "Promised, whatever the faults: never double-grant, split-brain" in page.text
    assert "A release wakes at most 1 waiter for each permitted holder." in page.text
    assert "Limits: A paused holder can act late." in page.text


def test_the_first_screen_is_one_sentence_a_picture_in_two_widths_and_the_command(html):
    first = html[html.index("<main>") : html.index('<h2 id="story"')]
    assert first.count('<p class="sentence"') == 1
    assert "c0 and c2 both believed that they held the lock" in first
    assert re.findall(r'<svg viewBox="0 0 (\d+) [^>]*role="group"', first) == ["1100", "366"]
    assert first.index("</figure>") < first.index("<pre>rumpus run lock <span>--recipe</span> fair")


def test_lines_of_the_story_are_linked_to_their_records_and_numbered_in_the_picture(html, page):
    numbers = [
        value[6:] for name, value in page.attributes if name == "href" and value[:6] == "#line-"
    ]
    lines = re.findall(r'<li id="line-(\d+)">', html)
    assert lines == [str(n) for n in range(1, len(lines) + 1)]
    assert set(numbers) >= set(lines)
    told = html[html.index('<ol class="story">') : html.index("</ol>")]
    linked = re.findall(r'href="#record-(\d+)"', told)
    assert linked
    assert all(f'<tr id="record-{index}">' in html for index in linked)


def test_of_a_long_history_the_records_around_what_went_wrong_are_told(html, sample):
    assert len(sample.history) > 10_000
    rows = re.findall(r'<tr id="record-(\d+)">', html)
    cited = {index for anomaly in sample.verdict.anomalies for index in anomaly.ops}
    assert cited <= set(map(int, rows))
    assert len(rows) <= 500 + len(cited) + 12
    assert f"of {len(sample.history):,}: those that are cited" in html


def test_faults_of_a_long_run_are_folded_by_kind(make_sample):
    sample = make_sample(seconds=5)
    plan = [("kill", 0), ("pause", 1)] * 8
    ops = [
        Op(time=START + (40 * n + step) * MS, process="nemesis", type=type_, f=f, value=value)
        for n, (kind, _) in enumerate(plan)
        for step, (type_, f) in enumerate(
            [("invoke", "start"), ("info", "start"), ("invoke", "stop"), ("info", "stop")]
        )
        for value in [{"id": str(n), "kind": kind, "targets": ["n1"], "verified": n != 3}]
    ]
    page = Page(render(sample, History([replace_index(op, n) for n, op in enumerate(ops)])))
    assert "kill \u00d7 8, 0.0 s to 0.0 s each, ✔ all verified" in page.text
    assert "pause \u00d7 8, 0.0 s to 0.0 s each, ✘ 1 not verified" in page.text
    assert page.text.count(", closer") == 2
