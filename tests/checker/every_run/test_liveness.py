import pytest

from rumpus.checker.every_run.liveness import check_liveness
from rumpus.checker.every_run.timeouts import NEVER_RETURNED
from rumpus.checker.timeline.holds import Words
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def final(*, healed=True, detail=""):
    value = {"phase": "final", "healed": healed, "detail": detail}
    return Recorded(clients=2).add(10, "control", "info", "phase", value)


def tried(recorded, process, outcome="ok"):
    recorded.add(11, process, "invoke", "acquire")
    return recorded.add(20, process, outcome, "acquire", error=None if outcome == "ok" else "late")


def inspected(recorded, *nodes):
    recorded.add(30, 0, "invoke", "inspect").add(31, 0, "ok", "inspect", {"nodes": list(nodes)})
    return recorded.add(40, "control", "info", "phase-end").end(41)


def check(recorded, nobody="deadlock"):
    return check_liveness(laid_out(recorded.history(), words=Words()), nobody=nobody)


def kinds(result):
    return [anomaly.kind for anomaly in result.anomalies]


def test_everybody_proceeds_and_nothing_is_left():
    result = check(inspected(tried(tried(final(), 0), 1)))
    assert (kinds(result), result.unknown) == ([], [])
    assert all(need.met for need in result.requirements)


def test_one_that_cannot_proceed_is_stuck():
    result = check(inspected(tried(tried(final(), 0), 1, "fail")))
    assert kinds(result) == ["stuck-waiter"]
    assert "c1 could not get the lock" in result.anomalies[0].description


@pytest.mark.parametrize("nobody", ["deadlock", "leaderless"])
def test_if_nobody_can_it_is_a_deadlock(nobody):
    result = check(inspected(tried(tried(final(), 0, "fail"), 1, "info")), nobody)
    assert kinds(result) == [nobody, nobody]


def test_a_client_that_got_it_at_the_second_try_is_fine():
    recorded = tried(tried(final(), 0), 1, "fail")
    recorded.add(21, 1, "invoke", "acquire").add(22, 1, "ok", "acquire")
    assert kinds(check(inspected(recorded))) == []


def test_a_node_left_behind_is_an_orphan():
    node = {"path": "/l/x", "owner": "0x1", "czxid": 7}
    assert kinds(check(inspected(tried(tried(final(), 0), 1), node))) == ["orphan-node"]


def test_without_a_final_phase_nothing_is_judged_and_the_run_is_not_green():
    result = check(Recorded().acquire(1, 2, 0).end(9))
    assert kinds(result) == []
    assert [need.met for need in result.requirements] == [False]


def test_a_client_that_was_never_asked_leaves_the_run_not_green():
    result = check(inspected(tried(final(), 0)))
    assert kinds(result) == []
    assert [need.met for need in result.requirements] == [False]


def test_if_healing_failed_nobody_is_blamed():
    result = check(inspected(tried(tried(final(healed=False, detail="n1 is dead"), 0, "fail"), 1)))
    assert kinds(result) == []
    assert result.unknown == ["not every fault was healed before the final phase: n1 is dead"]


def test_an_interrupted_final_phase_is_unknown():
    result = check(tried(tried(final(), 0), 1, "fail").end(21))
    assert kinds(result) == []
    assert "the final phase was cut short" in result.unknown


def test_a_look_that_failed_leaves_orphans_open():
    recorded = tried(tried(final(), 0), 1).add(30, 0, "invoke", "inspect")
    recorded.add(31, 0, "fail", "inspect", error="ConnectionLoss")
    result = check(recorded.add(40, "control", "info", "phase-end").end(41))
    assert result.unknown == [
        "no client could look whether nodes were left behind (ConnectionLoss)"
    ]


def test_calls_that_never_returned_are_named_with_a_client_that_is_stuck():
    recorded = Recorded(clients=2).add(1, 0, "invoke", "release")
    recorded.add(4, 0, "info", "release", error=f"{NEVER_RETURNED} after 45 s")
    recorded.add(10, "control", "info", "phase", {"phase": "final", "healed": True})
    (stuck,) = check(inspected(tried(tried(recorded, 2), 1, "fail"))).anomalies
    assert stuck.description.endswith("(fail: late); never returned: c0's release")
    assert {0, 1} <= set(stuck.ops)


def hanging(began, ended):
    """A call of the load that goes on until its process is killed; the next process is served."""
    recorded = Recorded(clients=2).add(began, 1, "invoke", "acquire", {"timeout": 0.5})
    recorded.add(10, "control", "info", "phase", {"phase": "final", "healed": True, "detail": ""})
    error = f"{NEVER_RETURNED} after {(ended - began) / 1000:g} s"
    recorded.add(ended, 1, "info", "acquire", error=error)
    for process in (0, 3):  # the second process of client 1
        recorded.add(ended + 1, process, "invoke", "acquire")
        recorded.add(ended + 2, process, "ok", "acquire")
    recorded.add(ended + 3, 0, "invoke", "inspect")
    recorded.add(ended + 4, 0, "ok", "inspect", {"nodes": []})
    return recorded.add(ended + 5, "control", "info", "phase-end").end(ended + 6)


def test_a_call_that_hung_is_not_excused_by_the_next_process_that_is_served():
    (anomaly,) = check(hanging(5, 45_000)).anomalies
    assert anomaly.kind == "stuck-waiter"
    assert anomaly.description == (
        "c1's acquire, called at 0.000 s, never returned: its process was killed 45.0 s later, and "
        "for 45.0 s of these nothing was in its way"
    )


def test_a_call_that_had_little_time_after_the_faults_may_have_been_slow():
    assert kinds(check(hanging(5, 15_000))) == []
