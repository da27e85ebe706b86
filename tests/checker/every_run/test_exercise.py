import pytest

from rumpus.checker.every_run.exercise import AS_ASKED, check_exercise
from rumpus.checker.servers.commitment import Commitment
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.faults import fault_windows
from rumpus.checker.timeline.timeline import Asked
from rumpus.checker.verdict import Requirement
from rumpus.harness.clients.client_body import Leaves
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded


def fault(recorded, start, stop, *, number=1, kind="kill", verified=(True, True)):
    named = {"id": number, "kind": kind}
    recorded.add(start, "nemesis", "invoke", "start", named)
    began = {**named, "targets": ["n1"], "verified": verified[0], "detail": "the leader"}
    recorded.add(start + 2, "nemesis", "info", "start", began)
    recorded.add(stop, "nemesis", "invoke", "stop", named)
    ended = {**named, "targets": ["n1"], "verified": verified[1], "detail": "serving again"}
    return recorded.add(stop + 2, "nemesis", "info", "stop", ended)


def handovers(count):
    return Requirement(name="contended handovers", needed=10, observed=count)


def check(recorded, *, leader_changes=1, kinds=("kill",), any_kind=False, **kwargs):
    given = {
        "happened": [handovers(20)],
        "expiries": 1,
        "effects": ["expiry", "leader change"],
        "expired": "expiries while holding",
        **kwargs,
    }
    asked = Asked(kinds=kinds, punctual=any_kind)
    timeline = laid_out(recorded.history(), asked=asked, leader_changes=leader_changes)
    return check_exercise(timeline, **given)


def unmet(result):
    return {need.name for need in result.requirements if not need.met}


def exercised():
    return fault(Recorded(), 10, 50).acquire(12, 30, 0).release(60, 61, 0).end(99)


def test_windows_reach_from_the_call_of_start_to_the_verified_end():
    (window,) = fault_windows(exercised().history())
    assert (window.begun, window.ended) == (10 * MS, 52 * MS)
    assert (window.in_force, window.healing) == (12 * MS, 50 * MS)
    assert (window.kind, window.targets) == ("kill", ["n1"])
    assert window.detail == "the leader; serving again"


def test_a_fault_mended_by_heal_all_has_ended_too():
    recorded = Recorded().add(1, "nemesis", "invoke", "start", {"id": 4, "kind": "pause"})
    recorded.add(2, "nemesis", "info", "start", {"id": 4, "kind": "pause", "verified": True})
    recorded.add(5, "nemesis", "invoke", "heal-all", {})
    healed = [{"id": 4, "verified": True}, {"id": None, "verified": True}]
    recorded.add(8, "nemesis", "info", "heal-all", {"verified": True, "healed": healed})
    (window,) = fault_windows(recorded.history())
    assert (window.ended, window.verified_healed) == (8 * MS, True)


def test_a_run_in_which_all_of_it_happened_is_exercised():
    assert unmet(check(exercised())) == set()


def test_too_few_handovers():
    assert unmet(check(exercised(), happened=[handovers(9)])) == {"contended handovers"}


def test_a_kind_that_never_came():
    assert unmet(check(exercised(), kinds=["kill", "pause"])) == {
        "pause: in force, with operations inside, and healed"
    }


def test_a_fault_that_did_not_take_or_did_not_heal():
    for verified in ((False, True), (True, False)):
        recorded = fault(Recorded(), 10, 50, verified=verified).acquire(12, 30, 0).end(99)
        assert unmet(check(recorded)) == {"kill: in force, with operations inside, and healed"}


@pytest.mark.parametrize("at", [(2, 5), (60, 61)], ids=["before", "after"])
def test_a_window_in_which_nobody_asked_for_anything(at):
    recorded = fault(Recorded(), 10, 50).acquire(*at, 0).end(99)
    assert unmet(check(recorded)) == {"kill: in force, with operations inside, and healed"}


@pytest.mark.parametrize("at", [(2, 12), (20, 30), (40, 70), (2, 70)], ids=str)
def test_a_window_with_a_call_that_ended_began_or_waited_in_it(at):
    assert unmet(check(fault(Recorded(), 10, 50).acquire(*at, 0).end(99))) == set()


def test_one_fault_that_does_not_count_withholds_no_verdict_if_another_of_its_kind_does():
    recorded = exercised()
    fault(recorded, 60, 70, number=2, verified=(True, False)).acquire(62, 63, 1)
    fault(recorded, 80, 90, number=3)
    result = check(recorded)
    assert unmet(result) == set()
    assert result.stats["faults"] == 3
    assert result.stats["faults in force, with operations inside, and healed"] == 1


def test_random_plans_must_expire_a_holder_and_change_the_leader():
    recorded = exercised()
    fault(recorded, 60, 70, number=2, kind="client-pause").acquire(62, 63, 1)
    kinds = ["kill", "client-pause"]
    assert unmet(check(recorded, kinds=kinds, expiries=0)) == {"expiries while holding"}
    assert unmet(check(recorded, kinds=kinds, leader_changes=0)) == {"leader changes"}
    untold = check(recorded, kinds=kinds, expiries=None)
    assert unmet(untold) == set()
    assert untold.unknown == [
        "without the servers' logs the expiries while holding cannot be counted"
    ]
    assert unmet(check(recorded, kinds=kinds, expiries=0, leader_changes=0, effects=[])) == set()


def outside(recorded, at, *, over, since):
    detail = "n2 runs again" if over else "n2 is paused"
    value = {"id": 1, "target": "n2", "detail": detail, "since": since * MS, "over": over}
    return recorded.add(at, "control", "info", "outside", value)


def test_what_somebody_else_did_is_a_fault_from_the_look_before_it():
    recorded = outside(Recorded(), 50, over=False, since=40)
    (window,) = fault_windows(recorded.history())
    assert (window.kind, window.targets, window.begun, window.ended) == (
        "outside",
        ["n2"],
        40 * MS,
        None,
    )
    assert not window.verified_healed
    outside(recorded, 90, over=True, since=80)
    (window,) = fault_windows(recorded.history())
    assert (window.healing, window.ended, window.verified_healed) == (80 * MS, 90 * MS, True)


def test_a_run_with_a_fault_of_somebody_elses_that_stays_is_not_exercised():
    recorded = outside(exercised(), 50, over=False, since=40)
    assert unmet(check(recorded)) == {"outside: in force, with operations inside, and healed"}
    assert unmet(check(outside(recorded, 90, over=True, since=80))) == set()


def test_what_recovers_late_is_told_by_a_later_record():
    recorded = Recorded().add(1, "nemesis", "invoke", "start", {"id": 4, "kind": "kill"})
    recorded.add(2, "nemesis", "info", "start", {"id": 4, "kind": "kill", "verified": True})
    recorded.add(5, "nemesis", "invoke", "stop", {"id": 4, "kind": "kill"})
    waiting = {"id": 4, "kind": "kill", "verified": False, "recovering": True}
    recorded.add(6, "nemesis", "info", "stop", waiting)
    (window,) = fault_windows(recorded.history())
    assert (window.healing, window.ended, window.verified_healed) == (5 * MS, None, False)
    recorded.add(8, "nemesis", "invoke", "start", {"id": 5, "kind": "pause"})
    healed = [{"id": 4, "kind": "kill", "verified": True}]
    later = {"id": 5, "kind": "pause", "verified": True, "healed": healed}
    recorded.add(9, "nemesis", "info", "start", later)
    window, _ = fault_windows(recorded.history())
    assert (window.healing, window.ended, window.verified_healed) == (5 * MS, 9 * MS, True)


def test_of_a_punctual_plan_one_fault_of_any_kind_is_enough():
    recorded = fault(Recorded(), 10, 50).acquire(12, 30, 0)
    fault(recorded, 60, 70, number=2, kind="pause", verified=(False, True)).end(99)
    kinds = {"kinds": ["kill", "pause"]}
    assert unmet(check(recorded, **kinds)) == {
        "pause: in force, with operations inside, and healed"
    }
    assert unmet(check(recorded, **kinds, any_kind=True)) == set()


def test_but_one_there_must_be():
    recorded = fault(Recorded(), 10, 50, verified=(False, True)).acquire(12, 30, 0).end(99)
    result = check(recorded, any_kind=True)
    assert unmet(result) == {"a fault in force, with operations inside, and healed"}
    assert unmet(check(Recorded().end(99), kinds=[], any_kind=True)) == set()


def calls(count, *, answered=0, error="KeyError: 'linger'"):
    recorded = exercised()
    for number in range(count):
        at = 100 + 2 * number
        process = 2 * number  # each unknown outcome makes a new process of client 0
        recorded.add(at, process, "invoke", "work", None)
        if number < answered:
            recorded.add(at + 1, process, "fail", "work", None)
        else:
            recorded.add(at + 1, process, "info", "work", None, error=error)
    return recorded


def test_a_function_that_raises_whenever_it_is_called_was_not_put_to_the_test():
    result = check(calls(10))
    assert unmet(result) == {"answered calls of work"}
    assert result.unjudged == ["what work does: none of its 10 calls was answered, most: KeyError"]
    assert unmet(check(calls(9))) == set(), "so few may have been unlucky"
    other_seed = check(calls(30, answered=1))
    assert unmet(other_seed) == set()
    (need,) = (each for each in other_seed.requirements if each.name.startswith("answered"))
    assert (need.name, need.observed) == ("answered calls of work", 1), "it makes up for the first"


def test_a_client_that_leaves_as_it_was_asked_to_does_what_is_asked():
    assert Leaves.__name__ == AS_ASKED
    assert unmet(check(calls(20, error=f"{AS_ASKED}: "))) == set()


def test_logs_that_cannot_be_read_are_named_beside_what_they_would_have_shown():
    why = "n1: transaction log log.100000001, byte 16: unreasonable record length -1"
    truth = ServerTruth(
        Commitment(committed=(), discarded=(), uncertain=(), reasons=(why,), forked=())
    )
    timeline = laid_out(exercised().history(), truth=truth)
    assert timeline.leader_changes >= 0
    result = check_exercise(
        timeline, happened=[], expiries=0, effects=["leader change"], expired="expiries"
    )
    assert result.unknown == [f"the servers' logs: {why}"]
