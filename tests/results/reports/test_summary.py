from dataclasses import replace
from pathlib import Path

import msgspec

from rumpus.checker.history import History
from rumpus.checker.verdict import Anomaly, CheckResult, judge
from rumpus.results.reports.summary import summary
from rumpus.results.results_document import results_document


def page(sample, verdict=None, history=None):
    verdict, history = verdict or sample.verdict, history or sample.history
    results = results_document(Path("runs/lock/x"), sample.record, sample.of(history), verdict)
    return summary(sample.record, history, verdict, results)


def test_tells_verdict_anomalies_operations_faults_and_how_to_run_again(sample):
    lines = page(sample).splitlines()
    assert lines[0] == "# ✘ Violation: the recipe broke a promise"
    assert any(
        line.startswith("| split-brain | **yes: violation** | 1 | 4.00 ms |") for line in lines
    )
    assert "| pause | 1 | 0 |" in lines
    assert "| pause: verified in force and healed | 1 | 0 | ✘ too little |" in lines
    assert "rumpus run lock --recipe fair --time-limit 60 --seed 7" in lines


def test_a_valid_run_counts_its_hazards(sample):
    anomalies = [Anomaly(kind=kind, description="") for kind in ("stale-belief", "fenced")]
    verdict = judge([CheckResult(name="x", anomalies=anomalies)], [])
    assert "# ✔ Valid: every promise of the recipe was kept; 1 hazard seen" in page(sample, verdict)


def test_a_run_cut_short_says_so(sample):
    cut = History(list(sample.history)[:1000], clients=5, truncated=True)
    assert "did not come to its orderly end" in page(sample, history=cut)
    assert "orderly end" not in page(sample)


def test_text_cannot_break_the_tables(make_sample):
    sample = make_sample(seconds=5)
    sample.record.recipe = "a|b\n<script>"
    assert "a\\|b &lt;script&gt;" in page(sample)


def test_says_what_is_not_judged(sample):
    promises = replace(sample.record.promises, notes="It has no `held`.")
    record = msgspec.structs.replace(sample.record, promises=promises)
    assert "\n\nLimits: " in page(replace(sample, record=record))
