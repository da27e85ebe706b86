"""What is seen only if a program restarts its client while an attempt of another thread waits."""

import pytest

import rumpus
from tests.sampling import one_in

SMALL = {"ensemble": "sim", "nemesis": [], "clients": 3, "nodes": 1, "seed": 1}


@one_in(3)
@pytest.mark.parametrize(("usage", "outcome"), [("", "valid"), ("interrupts=0.5", "violation")])
def test_a_lock_that_trusts_in_the_node_of_an_ended_session(usage, outcome, tmp_path):
    recipe = "tests.workloads.own.restarting_locks:TrustingQueuer"
    found = rumpus.run("lock", recipe=recipe, usage=usage, time_limit=6, runs=tmp_path, **SMALL)
    assert found.outcome == outcome, found.reasons
    assert {each.kind for each in found.anomalies} <= {"split-brain", "double-grant"}
