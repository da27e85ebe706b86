"""What every verdict has in common, whatever the family."""

from pathlib import Path

import pytest

from rumpus.checker.check import all_kinds
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult
from rumpus.recipes.promises import Promises
from rumpus.runs.judging import judge_laid_out
from rumpus.workloads.contests.lock import LOCK
from rumpus.workloads.framework import judgement
from tests.checker.recorded import Recorded


@pytest.fixture
def judged(monkeypatch):
    """A verdict on a run in which a check found a deadlock, and an acquire ended with an error."""

    def judge_it(error=None, late_ms=0.0, kind="deadlock", **evidence):
        recorded = Recorded()
        recorded.add(0, 0, "invoke", "acquire").add(4, 0, "info", "acquire", error=error)
        host = {"since": -2_000_000_000, "late_ms": late_ms, "queue": 1.0}
        recorded.add(5, "control", "info", "host", host)
        found = Anomaly(kind=kind, description="it waits", start=0, end=4_000_000)

        result = CheckResult(name="liveness", anomalies=[found], kinds=all_kinds())
        monkeypatch.setattr(judgement, "findings", lambda *_: [result])
        told = Timeline(
            history=recorded.history(),
            promises=Promises(prevents=frozenset({kind})),
            **evidence,
        )
        return judge_laid_out(Path("history.jsonl"), LOCK, "fair", LOCK.lay_out(told))[1]

    return judge_it


def test_a_recipe_that_makes_requests_that_the_servers_do_not_know_is_not_judged(judged):
    verdict = judged("UnimplementedError: ", strict=True)
    assert (verdict.outcome, verdict.exit_code) == ("unknown", 3)
    assert any("needs a newer ZooKeeper" in reason for reason in verdict.reasons)
    assert not any(anomaly.promised for anomaly in verdict.anomalies)


def test_any_other_error_leaves_a_violation_as_it_is(judged):
    assert judged("ConnectionLoss: ").outcome == "violation"


@pytest.mark.parametrize(
    ("late_ms", "kind", "outcome"),
    [
        (5.0, "overdue-call", "violation"),
        (250.0, "overdue-call", "unknown"),
        (250.0, "deadlock", "violation"),
    ],
)
def test_only_a_promise_about_time_is_undecided_on_a_late_host(judged, late_ms, kind, outcome):
    verdict = judged(late_ms=late_ms, kind=kind)
    assert verdict.outcome == outcome
    assert any("host was too busy" in reason for reason in verdict.reasons) == (
        outcome == "unknown"
    )
