"""The failover workload: its requests, its client, and whole simulated runs."""

import pytest

from rumpus.harness.generators.generator import Context
from rumpus.harness.generators.seed import Seed
from rumpus.workloads.failover import _VALUES, MIX, OTHERS, Writes
from tests.harness.simulated_runs import SimulatedRuns

SECOND = 1_000_000_000


@pytest.fixture
def simulate(tmp_path):
    return SimulatedRuns(tmp_path)


def requests(generator, count):
    ctx = Context.start(clients=1, nemesis=False, time=0)
    for _ in range(count):
        request, generator = generator.op(ctx)
        yield request


def test_no_value_is_written_twice_and_some_requests_read():
    asked = list(requests(Writes(Seed(1), SECOND), 300))
    values = [request.value for request in asked if request.f == "append"]
    assert len(set(values)) == len(values)
    others = [request.f for request in asked if request.f != "append"]
    assert set(others) == {"read", "step-down", "hand-back", "isolate", "leave"}
    assert 300 * len(OTHERS) / MIX * 0.7 < len(others) < 300 * len(OTHERS) / MIX * 1.3


def test_the_final_phase_writes_other_values_than_the_load_and_never_reads():
    asked = list(requests(Writes(None, None, _VALUES // 2), 50))
    assert {request.f for request in asked} == {"append"}
    assert min(request.value for request in asked) >= _VALUES // 2


def test_the_load_ends_when_its_time_is_up():
    assert Writes(Seed(1), SECOND).op(Context.start(clients=1, time=SECOND)) is None


def test_a_majority_keeps_what_was_acknowledged_under_every_fault(simulate):
    _, _, verdict = simulate(3, workload="failover", recipe="quorum", seconds=20.0)
    assert verdict.outcome == "valid", verdict.reasons
    primaries = next(c for c in verdict.checks if c.name == "replication").stats["primaries"]
    assert primaries > 1


@pytest.mark.parametrize(
    ("recipe", "anomaly", "kinds", "seconds"),
    [
        ("acknowledges-first", "lost-write", ("client-kill", "client-pause"), 12.0),
        ("no-epoch-check", "lost-write", ("client-pause", "client-partition"), 10.0),
        ("no-catch-up", "lost-write", ("client-kill",), 12.0),
        (
            "shrinking-quorum",
            "lost-write",
            ("client-partition", "client-pause", "client-kill"),
            15.0,
        ),
        ("no-recheck", "split-brain", ("client-kill",), 20.0),
    ],
)
def test_each_mistake_is_found(simulate, recipe, anomaly, kinds, seconds):
    for seed in range(6):
        _, _, verdict = simulate(
            seed, workload="failover", recipe=recipe, seconds=seconds, kinds=kinds
        )
        if anomaly in {found.kind for found in verdict.anomalies}:
            return
    pytest.fail(f"{recipe} was never found")
