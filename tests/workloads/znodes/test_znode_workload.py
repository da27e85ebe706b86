"""The workloads on ZooKeeper itself, in whole simulated runs."""

import pytest

from rumpus.nemesis.registry import SOUND
from rumpus.workloads.registry import WORKLOADS
from tests.harness.simulated_runs import SimulatedRuns

FAMILIES = ("register", "append", "watch", "ephemeral", "sequence", "multi", "znode")
SECONDS = 10.0


@pytest.mark.parametrize("workload", FAMILIES)
def test_sound_uses_are_valid_under_faults(workload, tmp_path):
    recipe = next(iter(WORKLOADS[workload].recipes))
    _, _, verdict = SimulatedRuns(tmp_path)(
        1, workload=workload, recipe=recipe, seconds=SECONDS, kinds=("kill", "client-partition")
    )
    assert [each.kind for each in verdict.anomalies] == []
    assert verdict.outcome in ("valid", "inconclusive"), verdict.reasons


@pytest.mark.parametrize(
    ("workload", "recipe", "kinds"),
    [
        ("register", "ignores-version", ()),
        ("register", "overwrites", ()),
        ("watch", "any-news", ("client-partition",)),
        ("append", "blind", ()),
        ("sequence", "counts-children", ()),
        ("ephemeral", "persistent", ()),
        ("ephemeral", "tidies-up", ()),
        ("multi", "one-by-one", ("follower-lag",)),
        ("multi", "ignores-version", ()),
        ("znode", "unguarded", ()),
        ("znode", "lists-on-parent", ()),
        ("znode", "counts-versions", ()),
    ],
)
def test_mistakes_that_need_few_faults_are_caught(workload, recipe, kinds, tmp_path):
    _, _, verdict = SimulatedRuns(tmp_path)(
        1, workload=workload, recipe=recipe, seconds=3.0, kinds=kinds
    )
    expected = WORKLOADS[workload].catalogue[recipe].expected
    assert expected & {each.kind for each in verdict.anomalies if each.promised}


def test_all_faults_of_the_simulation_leave_zookeepers_promises_whole(tmp_path):
    _, _, verdict = SimulatedRuns(tmp_path)(
        2, workload="register", recipe="linearizable", seconds=20.0, kinds=SOUND
    )
    assert [each.kind for each in verdict.anomalies] == []
