"""Verdicts on histories written by hand: every check takes part, and none cries wolf."""

import pytest

from rumpus.checker.every_run.timeouts import TIMED_OUT
from rumpus.checker.servers.server_truth import SessionLife, ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.timeline import Asked, Timeline
from rumpus.recipes.lock.contest_lock import FairLock, UnfairLock
from rumpus.recipes.promises import Promises
from rumpus.workloads.registry import WORKLOADS
from tests.checker.recorded import Recorded
from tests.own_tests import of_families


def node(number):
    return f"/rumpus/lock/x-contender-{number:010d}"


def taking_turns(grants=12, clients=3):
    """Clients that wait for each other and are granted in the order of their nodes."""
    recorded = Recorded(clients)
    for client in range(clients):
        recorded.session(0, client, "connected", session=f"0x{client + 1}")
    for turn in range(grants):
        process = turn % clients
        granted = 10 + 10 * turn
        recorded.acquire(max(1, granted - 15), granted, process, token=100 + turn, node=node(turn))
        recorded.act(granted + 1, process, token=100 + turn)
        recorded.release(granted + 8, granted + 9, process)
    return recorded


def final(recorded, ms, *, stuck=(), left=()):
    recorded.add(ms, "control", "info", "phase", {"phase": "final", "healed": True})
    for process in range(recorded.clients):
        recorded.add(ms + 1, process, "invoke", "acquire")
        recorded.add(ms + 2, process, "fail" if process in stuck else "ok", "acquire")
        if process not in stuck:
            recorded.release(ms + 3, ms + 4, process)
        ms += 5
    recorded.add(ms, 0, "invoke", "inspect").add(ms + 1, 0, "ok", "inspect", {"nodes": list(left)})
    return recorded.add(ms + 2, "control", "info", "phase-end").end(ms + 3)


class Truth:
    """What servers' logs tell: sessions that lived, and nodes that stood in the line."""

    committed = ()
    uncertain = ()
    forked = ()
    reasons = ()

    def __init__(self, sessions=3, nodes=()):
        self._sessions = [f"0x{number + 1}" for number in range(sessions)]
        self._nodes = list(nodes)

    def sessions(self):
        return {session: SessionLife(session, 1, 0, 2000) for session in self._sessions}

    def znodes(self, _path):
        return self._nodes

    def epochs(self):
        return {1: None}


def known_to_servers(*nodes):
    line = FairLock.line("/rumpus/lock")
    return {"truth": Truth(nodes=nodes), "clock": WallClock([(0, 0)]), "line": line}


def judge(recorded, workload="lock", recipe=FairLock, **more):
    evidence = {"promises": recipe.promises, "history": recorded.history()} | more
    return WORKLOADS[workload].judge(Timeline(**evidence))


def kinds(verdict, *, promised=True):
    return {anomaly.kind for anomaly in verdict.anomalies if anomaly.promised is promised}


def test_clients_that_take_turns_are_valid():
    verdict = judge(final(taking_turns(), 200))
    assert (verdict.outcome, verdict.exit_code, verdict.anomalies) == ("valid", 0, [])
    assert {check.name for check in verdict.checks} == {
        "exclusion",
        "answers to holders",
        "entitlement",
        "disconnection",
        "overdue",
        "timeouts",
        "tokens",
        "herd",
        "liveness",
        "exercise",
        "holds by model",
        "order",
        "errors",
    }


def test_two_at_once_are_a_violation():
    recorded = taking_turns()
    recorded.acquire(130, 131, 0, token=200, node=node(20)).acquire(
        130, 132, 1, token=201, node=node(21)
    )
    recorded.release(140, 141, 0).release(142, 143, 1)
    verdict = judge(final(recorded, 200), **known_to_servers())
    assert verdict.exit_code == 1
    assert kinds(verdict) == {"split-brain"}


def test_without_the_servers_logs_two_at_once_stay_undecided():
    recorded = taking_turns()
    recorded.acquire(130, 131, 0, token=200, node=node(20)).acquire(
        130, 132, 1, token=201, node=node(21)
    )
    recorded.release(140, 141, 0).release(142, 143, 1)
    verdict = judge(final(recorded, 200))
    assert (verdict.outcome, verdict.anomalies) == ("unknown", [])


def test_what_was_not_promised_is_a_hazard_unless_strict():
    recorded = taking_turns()
    recorded.acquire(130, 131, 0, token=200, node=node(20)).acquire(
        130, 132, 1, token=201, node=node(21)
    )
    recorded.release(140, 141, 0).release(142, 143, 1)
    nothing = Promises(prevents=frozenset())
    verdict = judge(final(recorded, 200), promises=nothing, **known_to_servers())
    assert (verdict.outcome, kinds(verdict, promised=False)) == ("valid", {"split-brain"})
    strict = judge(recorded, promises=nothing, strict=True, **known_to_servers())
    assert strict.exit_code == 1


def test_a_token_that_is_not_larger_is_a_violation():
    recorded = taking_turns()
    recorded.acquire(130, 131, 0, token=5, node=node(20)).release(132, 133, 0)
    assert kinds(judge(final(recorded, 200))) == {"token-regression"}


def test_tokens_are_not_compared_where_none_are_promised():
    recorded = taking_turns()
    recorded.acquire(130, 131, 0, token=5, node=node(20)).release(132, 133, 0)
    tokenless = Promises(prevents=FairLock.promises.prevents)
    assert judge(final(recorded, 200), promises=tokenless).anomalies == []


@pytest.mark.parametrize(("recipe", "found"), [(FairLock, {"unfair-grant"}), (UnfairLock, set())])
def test_order_is_asked_of_recipes_that_promise_it(recipe, found):
    recorded = taking_turns()
    recorded.acquire(130, 140, 0, token=200, node=node(21)).release(141, 142, 0)
    recorded.acquire(130, 150, 1, token=201, node=node(20)).release(151, 152, 1)
    verdict = judge(final(recorded, 200), recipe=recipe, **known_to_servers())
    assert kinds(verdict) - {"token-regression"} == found


def test_waking_more_than_promised_is_a_herd():
    recorded = taking_turns()
    recorded.acquire(129.2, 129.4, 0, token=200, node=node(20))
    for process in (1, 2):
        recorded.add(129.5, process, "invoke", "acquire")
    recorded.release(130, 132, 0)
    for process in (1, 2):
        recorded.link(131, process, node(20))
    for process in (1, 2):
        recorded.add(140, process, "fail", "acquire", error="timed out")
    assert kinds(judge(final(recorded, 200))) == {"herd"}


@pytest.mark.parametrize(("workload", "kind"), [("lock", "deadlock"), ("election", "leaderless")])
def test_when_nobody_proceeds_each_family_has_its_word(workload, kind):
    acquire = WORKLOADS[workload].words.acquire
    recorded = Recorded(2).add(1, "control", "info", "phase", {"phase": "final", "healed": True})
    for process in range(2):
        recorded.add(2, process, "invoke", acquire).add(9, process, "fail", acquire)
    recorded.add(10, 0, "invoke", "inspect").add(11, 0, "ok", "inspect", {"nodes": []})
    recorded.add(12, "control", "info", "phase-end").end(13)
    recipe = WORKLOADS[workload].recipes["fair"]
    assert kinds(judge(recorded, workload, recipe)) == {kind}


def test_one_that_is_stuck_and_a_node_left_behind_are_violations():
    left = {"path": node(3), "owner": "0x2", "czxid": 9}
    verdict = judge(final(taking_turns(), 200, stuck=(1,), left=[left]))
    assert kinds(verdict) == {"stuck-waiter", "orphan-node"}


def test_a_quiet_run_is_inconclusive():
    recorded = final(taking_turns(grants=4), 200)
    verdict = judge(recorded)
    assert (verdict.outcome, verdict.exit_code) == ("inconclusive", 3)
    assert any("contended handovers" in reason for reason in verdict.reasons)


def test_faults_that_were_asked_for_and_never_came_are_missed():
    verdict = judge(final(taking_turns(), 200), asked=Asked(kinds=["kill"]))
    assert verdict.outcome == "inconclusive"
    assert {
        need.name for check in verdict.checks for need in check.requirements if not need.met
    } == {
        "kill: in force, with operations inside, and healed",
        "leader changes",
    }


def test_a_plan_by_hand_need_not_change_the_leader():
    verdict = judge(final(taking_turns(), 200), asked=Asked(kinds=["kill"], directed=True))
    needs = {need.name for check in verdict.checks for need in check.requirements if not need.met}
    assert needs == {"kill: in force, with operations inside, and healed"}


def test_no_operation_of_unknown_outcome_raises_an_alarm():
    recorded = taking_turns()
    recorded.add(130, 0, "invoke", "acquire").add(131, 0, "info", "acquire", error="no answer")
    recorded.add(132, 0, "invoke", "release").add(133, 0, "info", "release", error="no answer")
    recorded.acquire(134, 135, 1, token=300, node=node(22)).release(136, 137, 1)
    recorded.add(138, 2, "invoke", "acquire")
    assert judge(recorded.end(150)).anomalies == []


def test_grants_are_drawn_from_the_servers_logs():
    life = ZnodeLife(
        path=node(0),
        czxid=100,
        created_ms=9,
        created_by="0x1",
        owner="0x1",
        data=None,
        deleted_zxid=101,
        deleted_ms=18,
        how="deleted",
    )
    recorded = final(taking_turns(), 200)

    def grants(**more):
        timeline = Timeline(recorded.history(), FairLock.promises, **more)
        bars = WORKLOADS["lock"].lay_out(timeline).bars
        return [bar for bar in bars if bar.kind == "grant"]

    assert grants() == []
    (grant,) = grants(**known_to_servers(life))
    assert (grant.client, grant.start, grant.end) == (0, 9_000_000, 18_000_000)
    assert grant.label == life.path


def test_a_grant_whose_session_nobody_told_is_its_nodes():
    """Two at once, one of which could not say in which session: the servers can."""
    life = ZnodeLife(
        path=node(20), czxid=100, created_ms=130, created_by="0x1", owner="0x1", data=None
    )
    recorded = taking_turns().acquire(130, 131, 0, token=200, node=node(20), session=None)
    recorded.acquire(130, 132, 1, token=201, node=node(21))
    recorded.release(140, 141, 0).release(142, 143, 1)
    verdict = judge(final(recorded, 200), recipe=UnfairLock, **known_to_servers(life))
    assert (kinds(verdict), verdict.exit_code) == ({"split-brain"}, 1)
    assert judge(final(recorded, 300), recipe=UnfairLock, **known_to_servers()).exit_code == 3


LONG_CALLS = {
    "lock": ("acquire", {}),
    "read-write": ("acquire", {"mode": "write"}),
    "semaphore": ("acquire", {}),
    "breaking": ("acquire", {}),
    "election": ("campaign", {}),
    "queue": ("dequeue", {}),
    "priority-queue": ("dequeue", {}),
    "barrier": ("wait", {"key": 0, "value": None}),
    "latch": ("wait", {"key": 1, "count": 2}),
    "double-barrier": ("enter", {"value": None}),
    "two-phase-commit": ("decide", {"key": "t0"}),
    "jobs": ("claim", {}),
    "watch": ("await", {"key": "a0", "version": 1}),
    "chubby": ("acquire", {"mode": "write"}),
    "counter": ("read", {"key": 0}),
    "registry": ("discover", {}),
    "partitioner": ("acquire", {}),
    "sealed-log": ("own", {}),
    **of_families("LONG_CALL"),
}


def promising(workload, kind="overdue-call"):
    recipes = WORKLOADS[workload].recipes.values()
    return {each.promises for each in recipes if kind in each.promises.prevents}


def test_families_whose_calls_end_in_time_are_known():
    assert {name for name in WORKLOADS if promising(name)} == LONG_CALLS.keys()


@pytest.mark.parametrize("workload", LONG_CALLS)
def test_a_call_that_ignores_its_timeout_breaks_a_promise(workload):
    f, value = LONG_CALLS[workload]
    for promises in promising(workload):
        for seconds, kinds in ((2, set()), (9, {"overdue-call"})):
            recorded = Recorded(2).add(1000, 0, "invoke", f, {**value, "timeout": 1.5})
            recorded.add(1000 + 1000 * seconds, 0, "fail", f, {**value, "timeout": 1.5})
            verdict = WORKLOADS[workload].judge(Timeline(recorded.end(20_000).history(), promises))
            assert {each.kind for each in verdict.anomalies} == kinds
            assert all(each.promised for each in verdict.anomalies)


@pytest.mark.parametrize(
    "workload", [name for name in LONG_CALLS if promising(name, "early-timeout")]
)
def test_a_call_that_gives_up_too_early_breaks_a_promise(workload):
    f, value = LONG_CALLS[workload]
    for promises in promising(workload, "early-timeout"):
        for took, kinds in ((1500, set()), (700, {"early-timeout"})):
            recorded = Recorded(2).add(1000, 0, "invoke", f, {**value, "timeout": 1.5})
            recorded.add(1000 + took, 0, "fail", f, {**value, "timeout": 1.5}, error=TIMED_OUT)
            verdict = WORKLOADS[workload].judge(Timeline(recorded.end(20_000).history(), promises))
            assert {each.kind for each in verdict.anomalies} == kinds
            assert all(each.promised for each in verdict.anomalies)


def test_families_whose_calls_give_up_are_known():
    assert {name for name in WORKLOADS if promising(name, "early-timeout")} < LONG_CALLS.keys()
