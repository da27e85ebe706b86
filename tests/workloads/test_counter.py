"""Counters: the judge on written histories, the client, and whole simulated runs."""

import pytest

from rumpus.checker.timeline.timeline import Timeline
from rumpus.recipes.counter.receipt_counter import AdditionUnknown, Counter
from rumpus.recipes.outcomes import NotDone
from rumpus.workloads.counter import AMOUNTS, COUNTER
from rumpus.workloads.framework.workload import OpenClient
from tests.checker.recorded import Recorded
from tests.harness.generators.dry_run import imperfect, perfect
from tests.sampling import sampled
from tests.workloads.dry_runs import DryRuns, invocations

SECOND = 1_000_000_000
UNTIL = 5 * SECOND
CLIENTS = 3
DRY = DryRuns(COUNTER, CLIENTS, UNTIL, Counter)


def add(recorded, called, returned, process, outcome="ok", key=0, total=1, amount=1):
    asked = {"key": key, "value": amount, "timeout": 1.0}
    recorded.add(called, process, "invoke", "add", asked)
    told = {"key": key, "value": total} if outcome == "ok" else None
    return recorded.add(returned, process, outcome, "add", told)


def read(recorded, called, returned, process, total, key=0):
    recorded.add(called, process, "invoke", "read", {"key": key, "timeout": 1.0})
    return recorded.add(returned, process, "ok", "read", {"key": key, "value": total})


def kinds(recorded):
    evidence = Timeline(history=recorded.history(), promises=Counter.promises)
    return {anomaly.kind for anomaly in COUNTER.judge(evidence).anomalies}


@pytest.mark.parametrize(("outcome", "possible"), [("ok", {2}), ("fail", {1}), ("info", {1, 2})])
def test_what_is_read_is_what_was_added(outcome, possible):
    for total in range(4):
        recorded = add(Recorded(), 0, 10, 0)
        add(recorded, 20, 30, 1, outcome, total=2)
        read(recorded, 40, 50, 2, total)
        assert kinds(recorded) == (set() if total in possible else {"miscount"})


@pytest.mark.parametrize("amount", [1, -3])
def test_additions_are_told_the_total_right_after_them(amount):
    def both(first, second, *, called):
        recorded = add(Recorded(), 0, 10, 0, total=first * amount, amount=amount)
        return kinds(add(recorded, called, 30, 1, total=second * amount, amount=amount))

    assert both(1, 2, called=20) == both(1, 2, called=5) == both(2, 1, called=5) == set()
    assert both(2, 2, called=5) == {"miscount"}, "the same step twice"
    assert both(2, 1, called=20) == {"miscount"}, "back in time"


def test_an_addition_is_told_no_total_that_was_read_before_it_was_called():
    recorded = add(Recorded(), 0, 100, 0, "info")
    read(recorded, 10, 20, 1, 1)
    assert kinds(add(recorded, 30, 40, 2, total=2)) == set()
    recorded = read(add(Recorded(), 0, 100, 0, "info"), 10, 20, 1, 1)
    assert kinds(add(recorded, 30, 40, 2, total=1)) == {"miscount"}


def test_who_can_read_nothing_in_the_end_is_stuck():
    recorded = add(Recorded(1), 0, 10, 0)
    recorded.add(20, "control", "info", "phase", {"phase": "final", "healed": True})
    recorded.add(30, 0, "invoke", "read", {"key": 0, "timeout": 1.0})
    recorded.add(40, 0, "fail", "read", error="no answer in time")
    recorded.add(50, "control", "info", "phase-end", {"phase": "final"}).end(60)
    evidence = Timeline(history=recorded.history(), promises=Counter.promises)
    assert {anomaly.kind for anomaly in COUNTER.judge(evidence).anomalies} == {"stuck-waiter"}


def test_counters_are_judged_one_by_one():
    recorded = add(add(Recorded(), 0, 10, 0), 0, 10, 1, key=1)
    read(recorded, 20, 30, 0, 1)
    assert kinds(read(recorded, 40, 50, 0, 1, key=1)) == set()
    assert kinds(read(recorded, 60, 70, 0, 0, key=1)) == {"miscount"}


def test_a_run_in_which_not_everybody_read_in_the_end_says_too_little():
    recorded = add(Recorded(), 0, 10, 0)
    recorded.add(20, "control", "info", "phase", {"phase": "final", "healed": True})
    read(recorded, 30, 40, 0, 1)
    recorded.add(50, "control", "info", "phase-end", {"phase": "final"}).end(60)
    evidence = Timeline(history=recorded.history(), promises=Counter.promises)
    found = COUNTER.judge(evidence)
    assert found.outcome == "inconclusive"
    assert any("read by everybody" in reason for reason in found.reasons)


@pytest.mark.parametrize("behaviour", [perfect, imperfect])
def test_all_add_and_read_at_the_counter_whose_turn_it_is(behaviour):
    calls = invocations(DRY.load(behaviour))
    assert max(op.time for op in calls) < UNTIL
    assert {op.f for op in calls} == {"add", "read"}
    assert [op.value["key"] for op in calls] == sorted(op.value["key"] for op in calls)
    assert {op.value["key"] for op in calls} == {0, 1}


def test_in_the_end_everybody_reads_every_counter():
    calls = sorted((op.process, op.value["key"]) for op in invocations(DRY.final()))
    assert calls == [(n, key) for n in range(CLIENTS) for key in range(len(AMOUNTS))]


class Scripted:
    """A counter that does not know what became of the first additions."""

    def __init__(self, unknown):
        self._unknown = unknown
        self.keys = []

    def add(self, amount, _timeout, *, key=""):
        self.keys.append(key)
        if self._unknown:
            self._unknown -= 1
            raise AdditionUnknown("no answer", key or "mine")
        return amount

    def read(self, _timeout):
        raise NotDone("no answer")


def test_an_unknown_addition_is_tried_again_under_its_key():
    counter = Scripted(unknown=2)
    told = OpenClient(COUNTER, [counter]).invoke("add", {"key": 0, "value": 1, "timeout": 5.0})
    assert (told.type, told.value) == ("ok", {"key": 0, "value": 1})
    assert counter.keys == ["", "mine", "mine"]


def test_outcomes_are_told_as_they_are():
    client = OpenClient(COUNTER, [Scripted(unknown=1)])
    assert client.invoke("add", {"key": 0, "value": 1, "timeout": 0.0}).type == "info"
    assert client.invoke("read", {"key": 0, "timeout": 1.0}).type == "fail"
    with pytest.raises(ValueError, match="no operation 'jump'"):
        client.invoke("jump", {"key": 0, "timeout": 1.0})


def test_a_sound_counter_is_valid(simulate):
    *_, found = simulate(
        0, workload="counter", recipe="receipts", seconds=12.0, kinds=["client-partition"]
    )
    assert found.outcome == "valid", found.reasons


@sampled("recipe", ["kazoo", "adds-again", "blind-write", "adds-one"], of=4)
def test_mistakes_are_found(simulate, recipe):
    *_, found = simulate(
        0, workload="counter", recipe=recipe, seconds=10.0, kinds=["client-partition"]
    )
    assert {anomaly.kind for anomaly in found.anomalies} == {"miscount"}
    assert found.outcome == "violation"
