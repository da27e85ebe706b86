"""Latches: the judge on written histories, and whole simulated runs."""

import pytest

from rumpus.checker.timeline.timeline import Timeline
from rumpus.recipes.latch.tally_latch import Latch
from rumpus.workloads.latch import LATCH
from tests.checker.recorded import Recorded


@pytest.mark.parametrize(("count", "found"), [(0, set()), (1, {"early-entry"})])
def test_a_wait_that_nobody_had_counted_for_is_early(count, found):
    recorded = Recorded(1).add(0, 0, "invoke", "wait", {"key": 1, "count": count, "timeout": 6.0})
    history = recorded.add(10, 0, "ok", "wait").end(20).history()
    verdict = LATCH.judge(Timeline(history=history, promises=Latch.promises))
    assert {anomaly.kind for anomaly in verdict.anomalies} == found
    assert verdict.outcome == ("violation" if found else "inconclusive")


@pytest.mark.parametrize(
    ("recipe", "outcome"),
    [
        ("tally", "valid"),
        ("off-by-one", "violation"),
        ("ephemeral", "violation"),
        ("halves-timeout", "violation"),
    ],
)
def test_runs_are_judged(simulate, recipe, outcome):
    *_, found = simulate(
        0, workload="latch", recipe=recipe, seconds=12.0, kinds=["client-partition"]
    )
    assert found.outcome == outcome, found.reasons
