"""The workload of logs with one owner: its requests, its client, and whole simulated runs."""

from collections import Counter

import pytest

from rumpus.harness.clients.client_body import Leaves
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.sealed_log.owned_log import Place
from rumpus.workloads.framework.workload import OpenClient
from rumpus.workloads.sealed_log import FINAL_VALUES, REPLICAS, SEALED_LOG
from tests.harness.generators.dry_run import imperfect
from tests.sampling import sampled
from tests.workloads.dry_runs import DryRuns, invocations

SECOND = 1_000_000_000
DRY = DryRuns(SEALED_LOG, clients=5, until=20 * SECOND)


def test_no_value_is_appended_twice_and_every_operation_is_called():
    asked = invocations(DRY.load(imperfect))
    values = [op.value for op in asked if op.f == "append"]
    assert len(set(values)) == len(values)
    assert max(values) < FINAL_VALUES
    often = Counter(op.f for op in asked)
    assert often.keys() == SEALED_LOG.operations.keys() - {"converge"}
    assert {op.process % 5 for op in asked if op.f in ("cut-off", "restart")} == set(
        range(REPLICAS)
    )


def test_in_the_end_everybody_owns_the_log_and_the_replicas_converge():
    asked = invocations(DRY.final())
    often = Counter(op.f for op in asked)
    assert often == {"own": 6, "append": 5, "release": 5, "converge": REPLICAS}
    assert min(op.value for op in asked if op.f == "append") == FINAL_VALUES


class Scripted:
    """A log that answers what it is told to, or raises it."""

    def __init__(self, answer=None, disk=(), replica=True):
        self.answer, self.disk = answer, list(disk)
        self.replica = self if replica else None
        self.asked = []

    def _give(self, *asked):
        self.asked.append(asked)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    take_over = append = read = cut_off = restart = _give

    def repair(self, _timeout):
        return None

    def on_disk(self, _timeout):
        return self.disk


@pytest.mark.parametrize(
    ("f", "value", "answer", "told"),
    [
        ("own", {"timeout": 1.0}, Place(5, 2), ("ok", {"epoch": 5, "at": 2})),
        ("own", {"timeout": 1.0}, NotDone("owned"), ("fail", None)),
        ("own", {"timeout": 1.0}, OutcomeUnknown("lost"), ("info", None)),
        ("append", 7, Place(1, 0), ("ok", {"epoch": 1, "at": 0})),
        ("append", 7, NotDone("sealed"), ("fail", None)),
        ("append", 7, OutcomeUnknown("lost"), ("info", None)),
        ("read", None, [7], ("ok", [7])),
        ("read", None, OutcomeUnknown("lost"), ("fail", None)),
        ("restart", None, None, ("ok", None)),
        ("converge", {"patience": 0.0}, [7], ("ok", {"values": [7]})),
        ("converge", {"patience": 0.0}, [7, 8], ("fail", None)),
    ],
)
def test_outcomes_are_told_as_they_are(f, value, answer, told):
    outcome = OpenClient(SEALED_LOG, Scripted(answer, disk=[7])).invoke(f, value)
    assert (outcome.type, outcome.value) == told


def test_only_a_replica_is_cut_off_and_restarted():
    log = Scripted()
    cut = {"clients": [1, 3], "seconds": 0.5}
    assert OpenClient(SEALED_LOG, log).invoke("cut-off", cut).type == "ok"
    assert log.asked == [(["c1", "c3"], 0.5)]
    for f, value in (("cut-off", cut), ("restart", None)):
        assert OpenClient(SEALED_LOG, Scripted(replica=False)).invoke(f, value).type == "fail"


def test_who_leaves_comes_back_in_another_session():
    with pytest.raises(Leaves):
        OpenClient(SEALED_LOG, Scripted()).invoke("leave", None)


@sampled(("recipe", "late"), [("seal", False), ("token", True)], of=2)
def test_what_a_seal_and_a_token_prevent_under_faults(simulate, recipe, late):
    kinds = ("client-pause", "client-partition")
    _, _, verdict = simulate(3, workload="sealed-log", recipe=recipe, seconds=12.0, kinds=kinds)
    assert verdict.outcome == "valid", verdict.reasons
    stats = next(check for check in verdict.checks if check.name == "takeovers").stats
    assert stats["takeovers"] > 10
    assert (stats["late"] > 0) == late
