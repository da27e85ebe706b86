"""Double barriers: the judge on written histories, the load, and whole simulated runs."""

import time
from itertools import pairwise

import pytest

from rumpus.checker.servers.server_truth import SessionLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.timeline import Timeline
from rumpus.harness.generators.script import Client, Rest
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.curator.catalogue import CURATOR_DOUBLE_BARRIERS
from rumpus.recipes.double_barrier.catalogue import DOUBLE_BARRIERS
from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier, NotInside
from rumpus.recipes.double_barrier.kazoo_double_barrier import KazooDoubleBarrier
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.workloads.double_barrier import (
    DOUBLE_BARRIER,
    DoubleBarrierWorkload,
    Known,
    Party,
    Stay,
)
from rumpus.workloads.framework.workload import OpenClient
from rumpus.workloads.own.own_barriers import OwnDoubleBarrier
from tests.checker.recorded import Recorded
from tests.harness.generators.dry_run import Ending, imperfect, perfect
from tests.sampling import sampled
from tests.workloads.dry_runs import DryRuns, invocations

SECOND = 1_000_000_000
CLOCK = WallClock([(0, 0)])
UNTIL = 3 * SECOND
CLIENTS = 3
DRY = DryRuns(DOUBLE_BARRIER, CLIENTS, UNTIL, DoubleBarrier)
ALL_COME = DryRuns(DOUBLE_BARRIER, CLIENTS, UNTIL, KazooDoubleBarrier)


class Truth:
    """What the servers' logs say of some sessions."""

    reasons = uncertain = forked = committed = ()

    def __init__(self, *lives):
        self._lives = lives

    def sessions(self):
        return {life.session: life for life in self._lives}

    def znodes(self, _path):
        return iter(())

    def epochs(self):
        return {}


def call(recorded, called, returned, process, f, outcome="ok"):
    recorded.add(called, process, "invoke", f, {"timeout": 1.0})
    told = {"session": f"0x{process % CLIENTS + 1}"} if outcome == "ok" else None
    return recorded.add(returned, process, outcome, f, told)


def one_round(recorded, start):
    for process in range(CLIENTS):
        call(recorded, start + process, start + 20, process, "enter")
        call(recorded, start + 30 + process, start + 50, process, "leave")
    return recorded


def verdict(recorded, **more):
    return DOUBLE_BARRIER.judge(
        Timeline(history=recorded.history(), promises=DoubleBarrier.promises, **more)
    )


def kinds(recorded):
    return {anomaly.kind for anomaly in verdict(recorded).anomalies}


def test_rounds_of_all_are_right():
    assert kinds(one_round(one_round(Recorded(), 0), 100)) == set()


def test_who_is_in_before_all_have_come_is_early():
    recorded = one_round(Recorded(), 0)
    call(recorded, 60, 70, 0, "enter")
    assert kinds(call(recorded, 80, 90, 1, "enter")) == {"early-entry"}


def test_who_is_out_before_all_have_gone_is_early():
    recorded = Recorded()
    for process in range(CLIENTS):
        call(recorded, 0, 10, process, "enter")
    call(recorded, 20, 30, 0, "leave")
    call(recorded, 25, 50, 1, "leave")
    assert kinds(call(recorded, 40, 50, 2, "leave")) == {"early-exit"}


def test_what_only_the_model_sees_has_its_kind_too():
    """Who was let in while another was on its way out, and is inside still when that is out."""
    recorded = Recorded()
    for process in (0, 1, 2):
        call(recorded, 0, 10 + 5 * process, process, "enter")
    call(recorded, 12, 40, 0, "leave")
    call(recorded, 30, 60, 1, "leave")
    assert kinds(call(recorded, 50, 60, 2, "leave")) == {"early-exit"}
    recorded = Recorded()
    call(recorded, 0, 10, 0, "enter")
    assert kinds(call(recorded, 20, 30, 0, "leave")) == {"early-entry"}


def one_stay(leaves, *, doubts=None, left="ok"):
    recorded = Recorded()
    for process in range(CLIENTS):
        recorded.add(process, process, "invoke", "enter", {"timeout": 1.0})
    for process in range(CLIENTS):
        recorded.add(100 + process, process, "ok", "enter", {"session": f"0x{process + 1}"})
    if doubts is not None:
        recorded.session(doubts, 0, "doubts", session="0x1")
    for process in range(CLIENTS):
        recorded.add(leaves + process, process, "invoke", "leave", {"timeout": 1.0})
    for process in range(CLIENTS):
        told = {"session": f"0x{process + 1}"} if process or left == "ok" else None
        recorded.add(leaves + 50 + process, process, "ok" if told else left, "leave", told)
    return recorded


def found(recorded, closed_ms=None):
    life = SessionLife("0x1", 1, 0, 2000, closed_ms and 9, closed_ms, expired=True)
    truth = Truth(*(SessionLife(f"0x{n}", 1, 0, 2000) for n in (2, 3)), life)
    return [a.kind for a in verdict(recorded, truth=truth, clock=CLOCK).anomalies]


def test_who_was_let_in_believes_so_until_its_connection_is_lost():
    assert found(one_stay(9000)) == []
    assert found(one_stay(9000, doubts=300)) == ["unbelieving-holder"]
    assert found(one_stay(9000, doubts=300, left="fail"), closed_ms=290) == []


def test_whose_session_has_ended_stops_believing_and_does_not_leave_as_a_member():
    assert found(one_stay(9000, left="fail"), closed_ms=6500) == []
    assert found(one_stay(9000, left="fail"), closed_ms=5000) == ["unaware-holder"]
    assert found(one_stay(9000), closed_ms=6500) == ["false-exit"]


def last_round(recorded, *, entered="ok", left="ok"):
    recorded.add(100, "control", "info", "phase", {"phase": "final", "healed": True})
    for process in range(CLIENTS):
        call(recorded, 110, 120, process, "enter", entered)
        if entered == "ok":
            call(recorded, 130, 140, process, "leave", left if process == 1 else "ok")
    recorded.add(900, "control", "info", "phase-end", {"phase": "final"})
    return recorded.end(901)


@pytest.mark.parametrize(("timeout", "stuck"), [(15.0, [[1]]), (1.5, [])])
def test_nobody_is_left_waiting_in_the_last_rounds_though_let_out_once(timeout, stuck):
    """A leave of the load, which has another timeout, may be given up in the final phase."""
    recorded = one_round(Recorded(), 0)
    recorded.add(100, "control", "info", "phase", {"phase": "final", "healed": True})
    for process in range(CLIENTS):
        recorded.add(105 + process, process, "invoke", "enter", {"timeout": 15.0})
        recorded.add(110 + process, process, "ok", "enter", {"session": f"0x{process + 1}"})
    for process in range(CLIENTS):
        recorded.add(115 + process, process, "invoke", "leave", {"timeout": timeout})
        recorded.add(120 + process, process, "info" if process == 1 else "ok", "leave")
    one_round(recorded, 200)
    recorded.add(900, "control", "info", "phase-end", {"phase": "final"})
    found = verdict(recorded.end(901)).anomalies
    assert [a.clients for a in found if a.kind == "stuck-waiter"] == stuck


def test_who_does_not_come_in_or_out_in_the_end_is_stuck():
    assert "stuck-waiter" not in kinds(last_round(one_round(Recorded(), 0)))
    found = verdict(last_round(one_round(Recorded(), 0), entered="fail"))
    assert [a.clients for a in found.anomalies if a.kind == "stuck-waiter"] == [[0], [1], [2]]
    found = verdict(last_round(one_round(Recorded(), 0), left="info"))
    assert [a.clients for a in found.anomalies if a.kind == "stuck-waiter"] == [[1]]


@pytest.mark.parametrize("behaviour", [perfect, imperfect])
def test_who_is_let_in_leaves_again_even_when_the_time_is_up(behaviour):
    calls = [op for op in DRY.load(behaviour).history.operations() if op.completion]
    assert max(call.invoke.time for call in calls if call.invoke.f == "enter") < UNTIL
    for process in {call.invoke.process for call in calls}:
        own = [call for call in calls if call.invoke.process == process]
        assert own[0].invoke.f == "enter"
        for one, following in pairwise(own):
            entered = one.invoke.f == "enter" and one.outcome == "ok"
            after = {"enter": "stay" if entered else "enter", "stay": "leave", "leave": "enter"}
            assert following.invoke.f == after[one.invoke.f]
        assert (own[-1].invoke.f, own[-1].outcome) not in (("enter", "ok"), ("stay", "ok"))


def parties_of(seed, clients=5, recipe=DoubleBarrier):
    return DOUBLE_BARRIER.parties(WorkloadContext(Seed(seed), recipe, clients, 2.0))


def test_a_round_has_fewer_than_all_in_most_runs_of_recipes_that_take_more_clients():
    assert {parties_of(seed) for seed in range(50)} == {2, 3, 4, 5}
    assert {parties_of(seed, clients=3) for seed in range(50)} == {2, 3}
    assert {parties_of(seed, clients=2) for seed in range(9)} == {2}
    assert {parties_of(seed, clients=1) for seed in range(9)} == {1}
    assert {parties_of(seed, recipe=KazooDoubleBarrier) for seed in range(9)} == {None}
    assert DOUBLE_BARRIER.least_clients(DoubleBarrier) == 3
    assert DOUBLE_BARRIER.least_clients(KazooDoubleBarrier) == 2
    assert DOUBLE_BARRIER.least_clients(type("SaysNothing", (), {})) == 2


@pytest.mark.parametrize("recipe", [*DOUBLE_BARRIERS, *CURATOR_DOUBLE_BARRIERS])
def test_each_recipe_says_whether_it_takes_more_clients_than_parties(recipe):
    more = DOUBLE_BARRIER.recipe_of(recipe).more_clients
    assert more is not recipe.startswith(("kazoo", "curator", "published"))


@pytest.mark.parametrize("says", [False, True])
def test_an_own_recipe_takes_more_clients_if_its_class_says_so(says):
    class Theirs:
        more_clients = says

        def enter(self, timeout):
            """Enter."""

        def leave(self, timeout):
            """Leave."""

    assert OwnDoubleBarrier.promising(Theirs, DoubleBarrier.promises).more_clients is says
    del Theirs.more_clients
    assert OwnDoubleBarrier.promising(Theirs, DoubleBarrier.promises).more_clients is False


@pytest.mark.parametrize(("runs", "told"), [(DRY, {2}), (ALL_COME, {None})])
def test_each_enter_says_how_many_must_come(runs, told):
    calls = [*invocations(runs.load(imperfect)), *invocations(runs.final())]
    assert {(op.value or {}).get("parties") for op in calls if op.f == "enter"} == told


@pytest.mark.parametrize(("asked", "made"), [({"parties": 2}, 2), ({}, 5)])
def test_a_barrier_is_made_for_as_many_as_the_first_enter_says(asked, made):
    told = []

    def recipe(_client, _path, parties, grace):  # noqa: ARG001 - a recipe's
        told.append(parties)
        return Scripted(True)

    workload = DoubleBarrierWorkload(clients=5)
    client = OpenClient(workload, workload.open(recipe, Context(connected=True)))
    assert told == []
    assert client.invoke("leave", {"timeout": 1.0}).type == "fail"
    assert client.invoke("stay", {"patience": 1.0}).type == "ok"
    assert client.invoke("enter", {"timeout": 5.0, **asked}).type == "ok"
    assert told == [made]


def test_the_last_to_come_comes_now_and_then_when_another_gives_up():
    """c1 waits with a call that times out at 0.2 s, and nobody else; two are parties."""
    met = 0
    for seed in range(40):
        client = Client(0, DRY.context(UNTIL), Seed(seed), Known(ends={1: SECOND // 5}))
        (rest,) = [*DOUBLE_BARRIER._until_one_gives_up(client, 2)] or [None]
        if rest is not None:
            assert 0.197 <= rest.seconds <= 0.201
            assert client.shared.quiet == 0.22 * SECOND
            other = Client(2, DRY.context(UNTIL), Seed(seed), client.shared)
            assert [*DOUBLE_BARRIER._until_one_gives_up(other, 2)] == [Rest(0.22)]
            met += 1
    assert 5 <= met <= 15


def test_who_means_to_be_the_last_does_not_come_after_the_end():
    """c1's call times out after the end of the load."""
    for seed in range(40):
        client = Client(0, DRY.context(SECOND // 10), Seed(seed), Known(ends={1: SECOND // 5}))
        steps = DOUBLE_BARRIER.load(client)
        if isinstance(next(steps), Rest):
            client.time = SECOND // 5
            assert next(steps, None) is None
            return
    pytest.fail("nobody meant to be the last")


@pytest.mark.parametrize("ends", [{}, {1: 0}, {1: SECOND}, {1: SECOND // 5, 2: SECOND // 5}])
def test_unless_nobody_gives_up_soon_or_it_is_not_the_last(ends):
    for seed in range(20):
        client = Client(0, DRY.context(UNTIL), Seed(seed), Known(ends=ends))
        assert [*DOUBLE_BARRIER._until_one_gives_up(client, 2)] == []


def test_a_member_of_a_later_round_knows_who_waits_of_an_earlier_one():
    of_one, of_the_same, after_that = Stay(10, 30), Stay(20, 40), Stay(30, 50)
    known = Known(leaving={0: of_one})
    assert not known.waits_of_others(0, 90)
    assert not known.waits_of_others(10, 90)
    assert known.waits_of_others(11, 90)  # called when that one was inside already
    known.left.append((of_the_same, 60))
    assert not known.waits_of_others(0, 60)  # may be a member of that round, too
    assert known.waits_of_others(0, 61)
    assert not Known(leaving={0: of_one}, left=[(after_that, 60)]).waits_of_others(0, 90)


def test_in_the_end_rounds_go_on_until_all_have_passed():
    calls = [op for op in DRY.final().history.operations() if op.invoke.f != "drain"]
    left = [call for call in calls if call.invoke.f == "leave"]
    assert {call.invoke.process for call in left} == set(range(CLIENTS))
    assert 16 <= len(left) <= 16 + CLIENTS


def test_who_has_passed_helps_the_others_by_short_calls():
    """c2 is let in late: the others, who come again and again, wait for nobody for long."""

    def behaviour(dispatch, seed):
        late = dispatch.thread == 2 and dispatch.f == "enter"
        return Ending(0, 3 * SECOND, "ok") if late else perfect(dispatch, seed)

    asked = {}
    for op in invocations(DRY.final(behaviour)):
        if op.f == "enter":
            asked.setdefault(op.process, []).append(op.value["timeout"])
    assert len(asked[2]) == 1
    for process in (0, 1):
        first, *later = asked[process]
        assert first == 15
        assert len(later) > 8
        assert set(later) == {1}


def test_in_the_end_all_pass_one_round_where_all_are_parties():
    calls = [(op.process, op.f) for op in invocations(ALL_COME.final())]
    assert [f for _, f in calls[:CLIENTS]] == ["drain"] * CLIENTS
    expected = [(n, f) for n in range(CLIENTS) for f in ("enter", "leave")]
    assert sorted(calls[CLIENTS:]) == expected


class Scripted:
    """A barrier whose calls end as written."""

    inside = True
    session = -1

    def __init__(self, *answers):
        self._answers = list(answers)

    def enter(self, _timeout):
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    leave = enter


class Context:
    """Of a client that has its session, or only remembers it."""

    def __init__(self, *, connected):
        self.kazoo = self
        self.connected = connected

    def session(self):
        return "0xffffffffffffffff"


def driven(barrier, *, connected=True):
    party = Party(lambda _parties: barrier, Context(connected=connected), barrier)
    return OpenClient(DOUBLE_BARRIER, party)


@pytest.mark.parametrize(("connected", "inside", "lingers"), [(0, 1, 1), (0, 0, 0), (1, 1, 0)])
def test_who_believes_that_it_is_in_without_a_connection_lingers(connected, inside, lingers):
    barrier = Scripted()
    barrier.inside = inside
    began = time.monotonic()
    assert driven(barrier, connected=connected).invoke("stay", {"patience": 0.1}).type == "ok"
    assert (time.monotonic() - began >= 0.1) == lingers


@pytest.mark.parametrize(
    ("f", "answer", "outcome"),
    [
        ("enter", True, "ok"),
        ("enter", False, "fail"),
        ("enter", OutcomeUnknown("no answer"), "info"),
        ("leave", True, "ok"),
        ("leave", False, "info"),
        ("leave", NotInside("not entered"), "fail"),
        ("leave", OutcomeUnknown("no answer"), "info"),
    ],
)
def test_outcomes_are_told_as_they_are(f, answer, outcome):
    told = driven(Scripted(answer)).invoke(f, {"timeout": 5.0})
    assert told.type == outcome
    assert told.value == ({"session": "0xffffffffffffffff"} if outcome == "ok" else None)


class Slow(Scripted):
    """Its enters take a while."""

    def enter(self, _timeout):
        time.sleep(0.1)
        return super().enter(None)

    def leave(self, _timeout):
        return super().enter(None)


def test_who_was_given_up_and_let_in_leaves_before_the_last_round():
    client = driven(Slow(True, True, True))
    enter = {"timeout": 0.01, "value": "endless"}
    assert client.invoke("enter", enter).type == "info"
    assert client.invoke("drain", {"patience": 5.0}).type == "ok"
    assert client.invoke("enter", {**enter, "timeout": 5.0}).type == "ok"


def test_what_was_given_up_is_waited_for_by_the_next():
    client = driven(Slow(True))
    assert client.invoke("enter", {"timeout": 0.01, "value": "endless"}).type == "info"
    assert client.invoke("enter", {"timeout": 5.0, "value": None}).type == "ok"


def test_a_sound_double_barrier_is_valid(simulate):
    *_, found = simulate(
        1, workload="double-barrier", recipe="roll", seconds=20.0, kinds=["pause", "client-kill"]
    )
    assert found.outcome == "valid", found.reasons


@sampled(
    ("recipe", "kind"),
    [
        ("ready-stays", "early-entry"),
        ("counts-ready", "early-entry"),
        ("waits-for-one", "early-exit"),
    ],
    of=3,
)
def test_mistakes_are_found_without_faults(simulate, recipe, kind):
    *_, found = simulate(1, workload="double-barrier", recipe=recipe, seconds=8.0, kinds=[])
    assert kind in {anomaly.kind for anomaly in found.anomalies}
    assert found.outcome == "violation"


@pytest.mark.parametrize("recipe", ["kazoo", "sleeps-through"])
def test_who_sleeps_through_a_reconnect_is_found(simulate, recipe):
    *_, found = simulate(
        4, workload="double-barrier", recipe=recipe, seconds=15.0, kinds=["pause", "kill"]
    )
    assert {each.kind for each in found.anomalies if each.promised} == {"stuck-waiter"}
    assert found.outcome == "violation"
