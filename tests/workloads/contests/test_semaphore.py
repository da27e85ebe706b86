import pytest

from rumpus.recipes.semaphore.catalogue import SEMAPHORES
from tests.harness.simulated_runs import SimulatedRuns


def kinds(verdict):
    return {anomaly.kind for anomaly in verdict.anomalies if anomaly.promised}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return SimulatedRuns(tmp_path_factory.mktemp("semaphore"))


def test_ours_keeps_its_promises(simulated):
    _, _, verdict = simulated(1, workload="semaphore", seconds=6.0, kinds=["client-partition"])
    assert verdict.outcome == "valid", verdict.reasons


@pytest.mark.parametrize(
    ("name", "seed", "seconds", "faults"),
    [
        ("counts-all", 0, 4.0, []),
        ("counts-first", 0, 1.0, []),
        ("watches-one", 0, 12.0, []),
        ("no-lookup", 0, 12.0, ["client-partition"]),
        ("release-by-place", 0, 4.0, []),
        ("never-held", 0, 1.0, []),
        ("ignores-timeout", 0, 1.0, []),
    ],
)
def test_mutants_are_found(simulated, name, seed, seconds, faults):
    _, _, verdict = simulated(
        seed, workload="semaphore", recipe=name, seconds=seconds, kinds=faults
    )
    assert verdict.outcome == "violation"
    assert kinds(verdict) & SEMAPHORES[name].expected
