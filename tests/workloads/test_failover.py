"""The failover workload: its requests, its client, and whole simulated runs."""

from collections import Counter

import pytest

from rumpus.harness.clients.client_body import Leaves
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.workloads.failover import FAILOVER_WORKLOAD, FINAL_VALUES
from rumpus.workloads.framework.workload import OpenClient
from tests.harness.generators.dry_run import imperfect
from tests.sampling import sampled
from tests.workloads.dry_runs import DryRuns, invocations

SECOND = 1_000_000_000
DRY = DryRuns(FAILOVER_WORKLOAD, clients=3, until=10 * SECOND)


def test_no_value_is_written_twice_and_half_of_the_requests_are_others():
    asked = invocations(DRY.load(imperfect))
    values = [op.value for op in asked if op.f == "append"]
    assert len(set(values)) == len(values)
    assert max(values) < FINAL_VALUES
    often = Counter(op.f for op in asked)
    assert often.keys() == FAILOVER_WORKLOAD.operations.keys() - {"converge"}
    assert 0.4 < often["append"] / len(asked) < 0.55
    assert max(op.time for op in asked) < 10.2 * SECOND


def test_in_the_end_everybody_writes_another_value_and_converges():
    asked = invocations(DRY.final())
    assert [op.f for op in asked] == ["append"] * 3 + ["converge"] * 3
    assert sorted(op.value for op in asked[:3]) == [FINAL_VALUES + number for number in range(3)]


class Scripted:
    """A member, its database and its user: answers what it is told to, or raises it."""

    def __init__(self, answer=None, remaining=0.0, values=()):
        self.database = self.user = self
        self.answer, self.remaining_s, self._values = answer, remaining, list(values)
        self.isolated = None

    def isolate(self, seconds):
        self.isolated = seconds

    def remaining(self):
        return self.remaining_s

    def values(self):
        return self._values

    def _give(self, *_):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    write = read = hand_back = step_down = _give


@pytest.mark.parametrize(
    ("f", "value", "answer", "told"),
    [
        ("append", 7, {"epoch": 1, "at": 0, "is": "done"}, ("ok", {"epoch": 1, "at": 0})),
        ("append", 7, OutcomeUnknown("lost"), ("info", None)),
        ("append", 7, NotDone("nobody"), ("fail", None)),
        ("read", None, [7], ("ok", [7])),
        ("read", None, OutcomeUnknown("lost"), ("fail", None)),
        ("step-down", None, True, ("ok", None)),
        ("step-down", None, False, ("fail", None)),
        ("converge", {"patience": 0.0}, [], ("ok", {"values": []})),
        ("converge", {"patience": 0.0}, [7], ("fail", None)),
    ],
)
def test_outcomes_are_told_as_they_are(f, value, answer, told):
    outcome = OpenClient(FAILOVER_WORKLOAD, Scripted(answer)).invoke(f, value)
    assert (outcome.type, outcome.value) == told


def test_the_appointment_is_handed_back_by_who_has_it_and_is_cut_off_then():
    asked = {"after": 0.0, "seconds": 0.6}
    for appointed, outcome, isolated in ((1.0, "ok", 0.6), (0.0, "fail", None)):
        member = Scripted(answer=True, remaining=appointed)
        assert OpenClient(FAILOVER_WORKLOAD, member).invoke("hand-back", asked).type == outcome
        assert member.isolated == isolated


def test_who_leaves_comes_back_in_another_session():
    with pytest.raises(Leaves):
        OpenClient(FAILOVER_WORKLOAD, Scripted()).invoke("leave", None)


def test_a_majority_keeps_what_was_acknowledged_under_every_fault(simulate):
    _, _, verdict = simulate(3, workload="failover", recipe="quorum", seconds=20.0)
    assert verdict.outcome == "valid", verdict.reasons
    primaries = next(c for c in verdict.checks if c.name == "replication").stats["primaries"]
    assert primaries > 1


@sampled(
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
    of=5,
)
def test_each_mistake_is_found(simulate, recipe, anomaly, kinds, seconds):
    for seed in range(6):
        _, _, verdict = simulate(
            seed, workload="failover", recipe=recipe, seconds=seconds, kinds=kinds
        )
        if anomaly in {found.kind for found in verdict.anomalies}:
            return
    pytest.fail(f"{recipe} was never found")
