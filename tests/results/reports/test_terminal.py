from dataclasses import replace
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from rumpus.checker.availability import Availability
from rumpus.checker.measures import Measures, measure
from rumpus.checker.verdict import CheckResult, judge
from rumpus.results.reports.terminal import print_verdict
from rumpus.results.results_document import results_document
from tests.checker.laid_out import laid_out


def printed(sample, verdict=None):
    verdict = verdict or sample.verdict
    results = results_document(Path("runs/lock/x"), sample.record, sample.timeline, verdict)
    console = Console(file=StringIO(), width=110, color_system=None)
    report = Path("runs/lock/x/report.html")
    print_verdict(console, sample.record, sample.history, verdict, results, report)
    return console.file.getvalue()


def test_prints_the_verdict_tables_and_the_reports_path(sample):
    text = printed(sample)
    assert text.startswith("✘ Violation: the recipe broke a promise\n")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert any(line.startswith("split-brain: ") for line in lines)
    assert any(line.startswith("split-brain violation 1 4.00 ms more clients") for line in lines)
    assert any(line.startswith("stale-belief hazard 1 2.2 s") for line in lines)
    assert "pause 1 0 ✘ not all in force and healed" in lines
    assert "contended handovers 10 4,321 ✔" in lines
    assert lines[-1] == "report: runs/lock/x/report.html"


def test_prints_the_measures_and_what_the_run_stood_on(sample):
    measures = measure(laid_out(sample.history, contended=True))
    verdict = msgspec.structs.replace(sample.verdict, measures=measures)
    versions = {"kazoo": "2.10.0", "python": "3.11.9", "rumpus": "0.1.0"}
    record = msgspec.structs.replace(sample.record, versions=versions)
    lines = printed(replace(sample, record=record), verdict).splitlines()
    (spread,) = (line for line in lines if line.startswith("spread:     "))
    assert "acquire that ended ok over 5 clients" in spread
    assert any(line.startswith("handover:   after a release: median ") for line in lines)
    assert "versions:   kazoo 2.10.0, python 3.11.9, rumpus 0.1.0" in lines


def test_text_is_not_taken_for_markup(sample):
    verdict = judge([CheckResult(name="x", unknown=["[red]no[/red] [/nothing]"])], [])
    assert "[red]no[/red] [/nothing]" in printed(sample, verdict)


def test_says_whose_promise_was_broken(sample):
    blamed = msgspec.structs.replace(sample.verdict, blamed="servers")
    assert printed(sample, blamed).startswith(
        "✘ Violation: the servers broke a promise of ZooKeeper\n"
    )


def test_says_what_is_not_judged(sample):
    promises = replace(sample.record.promises, notes="It has no `held`: [b]derived[/b].")
    record = msgspec.structs.replace(sample.record, promises=promises)
    lines = printed(replace(sample, record=record)).splitlines()
    assert "limits:     It has no `held`: [b]derived[/b]." in lines


@pytest.mark.parametrize(
    ("quorum", "clients", "words"),
    [
        (
            0.28,
            [0.9, 0.8],
            "but a quorum served for only 28 % of the time: 144 operations answered",
        ),
        (0.95, [0.2, 0.3], "but clients were connected for only 25 % of the time: 144 operations"),
        (0.55, [0.5, 0.6], None),
        (None, [0.9], None),
    ],
)
def test_a_valid_run_that_rests_on_little_says_so_on_its_first_line(sample, quorum, clients, words):
    measures = Measures(
        spread=None,
        handovers=[],
        wakeups=None,
        messages=None,
        availability=Availability(quorum=quorum, clients=clients, answered=144, failed=3205),
    )
    kept = msgspec.structs.replace(
        sample.verdict, outcome="valid", valid=True, reasons=[], checks=[], measures=measures
    )
    first = printed(sample, kept).splitlines()[0]
    if words is None:
        assert "but" not in first
    else:
        assert words in " ".join(printed(sample, kept).split())
        assert first.startswith("✔ Valid: ")
