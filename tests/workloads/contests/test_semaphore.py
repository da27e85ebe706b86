import pytest

from rumpus.recipes.semaphore.catalogue import SEMAPHORES


def kinds(verdict):
    return {anomaly.kind for anomaly in verdict.anomalies if anomaly.promised}


def test_ours_keeps_its_promises(simulate):
    _, _, verdict = simulate(1, workload="semaphore", seconds=6.0, kinds=["client-partition"])
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
def test_mutants_are_found(simulate, name, seed, seconds, faults):
    _, _, verdict = simulate(seed, workload="semaphore", recipe=name, seconds=seconds, kinds=faults)
    assert verdict.outcome == "violation"
    assert kinds(verdict) & SEMAPHORES[name].expected
