import re
from dataclasses import replace
from html.parser import HTMLParser
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

MS = 1_000_000


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


def test_is_one_file_without_scripts_or_references(html, page):
    assert not {"script", "link", "img", "iframe", "object", "a"} & set(page.tags)
    assert not {name for name, _ in page.attributes} & {"href", "src", "srcset", "data", "onclick"}
    assert "://" not in html
    assert "@import" not in html
    assert set(re.findall(r"url\(([^)]*)\)", html)) == {"#hatch", "#cross"}


@pytest.mark.parametrize(
    "told",
    [
        "✘ Violation: the recipe broke a promise",
        "split-brain: 1 (more clients with live",
        "What happened",
        "split-brain: ",
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


def test_a_run_of_100000_operations_stays_small(make_sample):
    sample = make_sample(seconds=60, cycle=2_400_000)
    assert len(sample.history.operations()) > 95_000
    assert len(render(sample)) < 5_000_000


def test_pictures_that_do_not_fit_are_left_out_with_a_word(sample, monkeypatch):
    no_room = report.Drawing(room=0)
    monkeypatch.setattr(report, "Drawing", lambda: no_room)
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
    assert "490.0 ms: number 490" in page.text
    assert "489.0 ms: number 489" not in page.text
    assert "the 10 longest; the other 490" in page.text
    assert page.text.count("9 more, each with its picture") == 1


def test_of_one_kind_the_first_broken_promise_is_open_and_the_others_are_folded(sample):
    anomalies = [
        Anomaly(kind="split-brain", description=f"number {n}", ops=[0, 1], start=n * MS, end=n * MS)
        for n in range(3)
    ]
    verdict = judge([CheckResult(name="exclusion", anomalies=anomalies)], ["split-brain"])
    page = Page(render(sample, verdict=verdict))
    assert page.attributes.count(("open", None)) == 1
    before, folded = page.text.split("2 more, each with its picture")
    assert "number 0" in before
    assert "number 1" not in before
    assert folded.index("number 1") < folded.index("number 2")


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
    assert "script" not in page.tags
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
    assert "Promises: It has no `held`: <b>derived</b>." in page.text
