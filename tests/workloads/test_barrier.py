"""Barriers: the judge on written histories, the load, and whole simulated runs."""

import threading

import pytest

from rumpus.checker.every_run.timeouts import TIMED_OUT
from rumpus.checker.timeline.timeline import Timeline
from rumpus.harness.clients.client_body import Outcome
from rumpus.recipes.barrier.node_barrier import Barrier
from rumpus.workloads.barrier import BARRIER, KEEPERS, SHIFT_NS, Opened
from rumpus.workloads.framework.workload import OpenClient
from tests.checker.recorded import Recorded
from tests.harness.generators.dry_run import imperfect, perfect
from tests.sampling import sampled
from tests.workloads.dry_runs import DryRuns, invocations

SECOND = 1_000_000_000
CLIENTS = 4
UNTIL = CLIENTS * SHIFT_NS
DRY = DryRuns(BARRIER, CLIENTS, UNTIL, Barrier)


def call(recorded, called, returned, process, f, outcome="ok", key=0, **more):
    value = {"key": key, "timeout": 1.0, **more}
    recorded.add(called, process, "invoke", f, value)
    return recorded.add(returned, process, outcome, f)


def rounds(recorded=None):
    """The barrier is there from 10 to 100 ms, and c1 waits at it."""
    recorded = recorded or Recorded()
    call(recorded, 5, 10, 0, "create")
    call(recorded, 100, 110, 0, "remove")
    return call(recorded, 20, 105, 1, "wait")


def phase(recorded, ms):
    return recorded.add(ms, "control", "info", "phase", {"phase": "final", "healed": True})


def over(recorded, ms):
    return recorded.add(ms, "control", "info", "phase-end", {"phase": "final"}).end(ms + 1)


def verdict(recorded):
    return BARRIER.judge(Timeline(history=recorded.history(), promises=Barrier.promises))


def kinds(recorded):
    return {anomaly.kind for anomaly in verdict(recorded).anomalies}


def test_who_waits_until_it_is_removed_is_right():
    assert kinds(rounds()) == set()


@pytest.mark.parametrize("outcome", ["ok", "fail"])
def test_who_passes_while_it_is_there_is_early(outcome):
    early = call(rounds(), 30, 40, 2, "wait", outcome)
    assert kinds(early) == ({"early-entry"} if outcome == "ok" else set())


def test_another_barrier_is_no_hindrance():
    assert kinds(call(rounds(), 30, 40, 2, "wait", key=1)) == set()


def test_an_unknown_remove_may_have_opened_it():
    recorded = Recorded()
    call(recorded, 5, 10, 0, "create")
    call(recorded, 20, 25, 0, "remove", "info")
    assert kinds(call(recorded, 30, 40, 2, "wait")) == set()


def test_who_sleeps_on_once_it_is_open_is_stuck():
    recorded = rounds()
    phase(recorded, 200)
    call(recorded, 210, 215, 0, "remove")
    for process in (0, 1):
        call(recorded, 220, 230, process, "wait")
    call(recorded, 220, 900, 2, "wait", "fail")
    for process, waiting in ((0, 0), (1, 2)):
        recorded.add(910, process, "invoke", "left-over", {"patience": 1.0})
        recorded.add(920, process, "ok", "left-over", {"waiting": waiting})
    over(recorded, 1000)
    found = verdict(recorded)
    assert found.outcome == "violation"
    assert [(a.kind, a.clients) for a in found.anomalies] == [
        ("stuck-waiter", [1]),
        ("stuck-waiter", [2]),
    ]


def test_without_a_remove_in_the_end_nobody_can_say():
    recorded = rounds()
    phase(recorded, 200)
    call(recorded, 210, 215, 0, "remove", "info")
    call(recorded, 220, 900, 2, "wait", "fail")
    found = verdict(over(recorded, 1000))
    assert found.outcome == "unknown"
    assert any("no client could remove" in reason for reason in found.reasons)


def keeper_of(dispatched):
    return (dispatched.what.value["key"] + dispatched.time // SHIFT_NS) % CLIENTS


@pytest.mark.parametrize("behaviour", [perfect, imperfect])
def test_clients_take_turns_at_keeping_the_barriers_and_wait_at_those_of_others(behaviour):
    calls = DRY.load(behaviour).dispatches
    assert all(each.time < UNTIL for each in calls)
    waits = [each for each in calls if each.what.f == "wait"]
    kept = [each for each in calls if each.what.f != "wait"]
    assert all(each.what.thread == keeper_of(each) for each in kept)
    keys = range(KEEPERS)
    everybody = {(client, key) for client in range(CLIENTS) for key in keys}
    assert {(each.what.thread, each.what.value["key"]) for each in kept} == everybody
    assert {each.what.thread for each in waits} == set(range(CLIENTS))
    assert all(each.what.thread != keeper_of(each) for each in waits)
    assert {each.what.value["key"] for each in waits} == set(keys)
    assert {each.what.value.get("value") for each in waits} == {None, "endless"}


def test_in_the_end_everybody_passes_and_looks_for_who_is_left():
    calls = invocations(DRY.final())
    passed = [op.process for op in calls if op.f == "wait"]
    assert sorted(passed) == list(range(CLIENTS))
    assert [op.f for op in calls[-CLIENTS:]] == ["left-over"] * CLIENTS


class Slow:
    """A barrier that opens when it is told to."""

    def __init__(self):
        self.open = threading.Event()

    def wait(self, timeout):
        return self.open.wait(timeout)


def test_a_wait_without_a_timeout_is_left_to_itself_and_counted_until_it_has_passed():
    barrier = Slow()
    client = OpenClient(BARRIER, Opened([barrier], []))
    endless = {"key": 0, "timeout": 0.01, "value": "endless"}
    assert client.invoke("wait", {"key": 0, "timeout": 0.01}).error == TIMED_OUT
    assert client.invoke("wait", endless).type == "fail"
    assert client.invoke("left-over", {"patience": 0.0}).value == {"waiting": 1}
    barrier.open.set()
    assert client.invoke("left-over", {"patience": 5.0}).value == {"waiting": 0}
    assert client.invoke("wait", {**endless, "timeout": 5.0}) == Outcome("ok")


def test_a_sound_barrier_is_valid(simulate):
    *_, found = simulate(
        1, workload="barrier", recipe="rechecking", seconds=20.0, kinds=["pause", "kill"]
    )
    assert found.outcome == "valid", found.reasons


@sampled(
    ("recipe", "kind"),
    [
        ("kazoo", "stuck-waiter"),
        ("sleeps-through", "stuck-waiter"),
        ("any-event", "early-entry"),
    ],
    of=3,
)
def test_mistakes_are_found(simulate, recipe, kind):
    *_, found = simulate(
        1, workload="barrier", recipe=recipe, seconds=20.0, kinds=["pause", "kill"]
    )
    assert kind in {anomaly.kind for anomaly in found.anomalies}
    assert found.outcome == "violation"
