import threading
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rumpus.checker.history import History, Op
from rumpus.checker.timeline.faults import fault_windows
from rumpus.nemesis.client_partition import CUTS
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import VERSION, FaultPlan
from rumpus.nemesis.random_plan import random_plan
from rumpus.nemesis.registry import EVERYWHERE
from rumpus.nemesis.runner import Nemesis
from rumpus.nemesis.targets import Targets


def one(kind, duration=3.0, options=None, at=1.0, **targets):
    entry = Entry(
        id=1,
        at=at,
        kind=kind,
        targets=Targets(**targets),
        duration=duration,
        options=options or {},
    )
    return FaultPlan(version=VERSION, entries=(entry,))


def several(*plans):
    entries = [
        replace(e, id=number) for number, plan in enumerate(plans, start=1) for e in plan.entries
    ]
    return FaultPlan(version=VERSION, entries=tuple(entries))


@settings(max_examples=40)
@given(
    st.integers(0, 10_000),
    st.sampled_from([30, 60, 120]),
    st.sampled_from([5, 10]),
    st.integers(3, 5),
    st.integers(2, 6),
)
def test_every_fault_of_a_random_plan_is_in_force_and_healed(
    make_world, seed, time_limit, interval, nodes, clients
):
    world = make_world(nodes=nodes, clients=clients)
    plan = random_plan(
        EVERYWHERE,
        seed=seed,
        time_limit=time_limit,
        interval=interval,
        nodes=nodes,
        clients=clients,
        session_timeout=2.0,
    )
    nemesis = world.nemesis(plan, seed)
    told = world.perform(nemesis)
    assert [value["detail"] for _, value in told if not value["verified"]] == []
    assert len(told) == 2 * len(plan.entries)
    assert nemesis.heal_all() == {"verified": True, "detail": "nothing was broken", "healed": []}
    assert world.whole()
    assert world.lock.expired_holders, "no holder's session expired"


def test_the_same_seed_strikes_the_same(make_world):
    plan = random_plan(
        EVERYWHERE, seed=3, time_limit=90, interval=5, nodes=5, clients=5, session_timeout=2.0
    )
    worlds = [make_world(nodes=5) for _ in range(2)]
    first, second = (world.perform(world.nemesis(plan, 3)) for world in worlds)
    assert first == second


def test_the_schedule_is_in_order_and_stops_before_it_starts():
    plan = several(
        one("kill", role="one", at=4.0),
        one("partition", shape="isolate-leader", at=1.0),
        one("pause", role="leader", at=1.5, duration=1.0),
    )
    actions = Nemesis(plan, None, None, None, None, 0).schedule()
    assert [(a.time, a.f, a.value["id"]) for a in actions] == [
        (1_000_000_000, "start", 2),
        (1_500_000_000, "start", 3),
        (2_500_000_000, "stop", 3),
        (4_000_000_000, "stop", 2),
        (4_000_000_000, "start", 1),
        (7_000_000_000, "stop", 1),
    ]
    assert actions[0].value == {
        "id": 2,
        "kind": "partition",
        "targets": {"shape": "isolate-leader"},
    }


def test_what_it_tells_makes_the_records_that_checkers_read(make_world):
    world = make_world()
    nemesis = world.nemesis(one("kill", role="leader"))
    ops = []
    for action in nemesis.schedule():
        world.clock.sleep(max(0, action.time / 1e9 - world.clock.now))

        def record(kind, value, f=action.f):
            time = round(world.clock.now * 1e9)
            ops.append(Op(time=time, process="nemesis", type=kind, f=f, value=value))

        record("invoke", action.value)
        record("info", nemesis.invoke(action.f, action.value))
    (window,) = fault_windows(History(ops))
    assert (window.kind, window.targets) == ("kill", ["n3"])
    assert window.verified_in_force
    assert window.verified_healed
    assert window.detail == "the leader; dead and not serving; serving again"


def test_a_fault_lasts_its_duration_from_when_it_was_injected(make_world):
    world = make_world()
    nemesis = world.nemesis(one("client-pause", duration=3.0, role="holder"))
    start, stop = nemesis.schedule()
    world.clock.sleep(3.5)  # the nemesis comes late
    nemesis.invoke(start.f, start.value)
    nemesis.invoke(stop.f, stop.value)
    assert world.clock.now == pytest.approx(6.5, abs=0.2)
    assert world.lock.expired_holders


NOT_TAKING = [
    ("kill", {"role": "leader"}, "servers", "kill", "n3: running and serving"),
    ("pause", {"names": ("n1",)}, "servers", "pause", "n1: running and serving"),
    ("partition", {"names": ("n1",)}, "servers", "partition", "n1 reaches n2"),
    ("client-pause", {"role": "one"}, "clients", "pause", ": running"),
    ("client-kill", {"role": "one"}, "clients", "kill", ": running"),
    ("client-partition", {"role": "one"}, "links", "cut", "whole"),
]


@pytest.mark.parametrize(("kind", "targets", "part", "call", "words"), NOT_TAKING)
def test_a_fault_that_does_not_take_is_told(make_world, kind, targets, part, call, words):
    world = make_world()
    getattr(world, part).ignored.add(call)
    start, stop = world.perform(world.nemesis(one(kind, **targets)))
    assert not start[1]["verified"]
    assert words in start[1]["detail"]
    assert "not in force after 5 s" in start[1]["detail"]
    assert stop[1]["verified"]


NOT_HEALING = [
    ("kill", {"role": "leader"}, "servers", "restart", "n3 is dead"),
    ("pause", {"role": "leader"}, "servers", "resume", "n3 is paused"),
    ("partition", {"names": ("n1",)}, "servers", "heal", "n1 refuses n2 n3"),
    ("client-pause", {"names": (2,)}, "clients", "resume", "c2 is paused"),
    ("client-kill", {"names": (2,)}, "clients", "restart", "c2 is dead"),
    ("client-partition", {"names": (2,)}, "links", "heal", "links still cut"),
]


@pytest.mark.parametrize(("kind", "targets", "part", "call", "words"), NOT_HEALING)
def test_a_fault_that_does_not_heal_is_told_and_healed_in_the_end(
    make_world, kind, targets, part, call, words
):
    world = make_world()
    getattr(world, part).ignored.add(call)
    nemesis = world.nemesis(one(kind, **targets))
    start, stop = world.perform(nemesis)
    assert start[1]["verified"]
    assert not stop[1]["verified"]
    assert words in stop[1]["detail"]
    assert "within 15 s" in stop[1]["detail"] or "after 15 s" in stop[1]["detail"]

    still = nemesis.heal_all()
    assert not still["verified"]
    assert "still so" in still["detail"]

    getattr(world, part).ignored.clear()
    mended = nemesis.heal_all()
    assert mended["verified"]
    assert [value["kind"] for value in mended["healed"]] == ["stray"]
    assert world.whole()


@pytest.mark.parametrize(("kind", "targets", "part", "call", "_"), NOT_TAKING)
def test_a_fault_that_cannot_be_injected_is_told_in_words(make_world, kind, targets, part, call, _):
    world = make_world()
    getattr(world, part).failing.add(call)
    nemesis = world.nemesis(one(kind, **targets))
    (_, start), (_, stop) = world.perform(nemesis)
    assert not start["verified"]
    assert f"could not be injected: {call} is out of order" in start["detail"]
    assert stop["verified"]
    assert world.whole()


def test_a_fault_that_breaks_down_half_way_is_healed_whole(make_world):
    world = make_world(nodes=5)
    pause = world.servers.pause

    def pause_one(node):
        pause(node)
        world.servers.failing.add("pause")

    world.servers.pause = pause_one
    (_, start), (_, stop) = world.perform(world.nemesis(one("pause", role="minority")))
    assert not start["verified"]
    assert len(start["targets"]) == 2
    assert stop["verified"]
    assert world.whole()


def test_an_action_that_is_not_planned_is_a_mistake(make_world):
    nemesis = make_world().nemesis(one("kill", role="leader"))
    for f, value in (("begin", {"id": 1}), ("start", {"id": 2}), ("stop", {})):
        with pytest.raises(ValueError, match="no action"):
            nemesis.invoke(f, value)


def test_starting_twice_and_stopping_what_never_began_is_told(make_world):
    world = make_world()
    nemesis = world.nemesis(one("kill", role="leader"))
    assert nemesis.invoke("stop", {"id": 1})["detail"] == "it is not in force"
    assert nemesis.invoke("start", {"id": 1})["verified"]
    again = nemesis.invoke("start", {"id": 1})
    assert not again["verified"]
    assert "it was started before" in again["detail"]
    stopped = nemesis.invoke("stop", {"id": 1})
    assert stopped["verified"]
    assert nemesis.invoke("stop", {"id": 1}) == stopped


kinds = st.sampled_from(
    [
        ("kill", {"role": "one"}),
        ("pause", {"role": "minority"}),
        ("kill", {"role": "leader"}),
        ("partition", {"shape": "minority-majority"}),
        ("client-pause", {"role": "holder"}),
        ("client-kill", {"role": "random"}),
        ("client-partition", {"role": "next-in-line"}),
        ("client-partition", {"role": "all"}),
    ]
)


@settings(max_examples=30)
@given(
    st.lists(kinds, min_size=1, max_size=5, unique_by=str),
    st.sampled_from(CUTS),
    st.randoms(use_true_random=False),
    st.integers(0, 99),
)
def test_in_whatever_order_faults_start_and_stop_all_is_whole_in_the_end(
    make_world, drawn, how, random, seed
):
    world = make_world(nodes=5, clients=6)
    plan = several(
        *(
            one(kind, options={"how": how} if kind == "client-partition" else None, **targets)
            for kind, targets in drawn
        )
    )
    nemesis = world.nemesis(plan, seed)
    actions = [(f, e.id) for e in plan.entries for f in ("start", "stop")]
    random.shuffle(actions)
    actions.sort(key=lambda action: action[0] == "stop" and random.random() < 0.5)
    begun = set()
    for f, number in actions:
        if f == "start":
            begun.add(number)
        elif number not in begun:
            continue
        nemesis.invoke(f, {"id": number})
        if f == "stop":
            begun.discard(number)
    for number in begun:
        nemesis.invoke("stop", {"id": number})
    world.clock.sleep(5)
    assert world.whole()


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(["kill", "pause"]), min_size=5, max_size=5),
    st.sets(st.integers(1, 5)),
    st.booleans(),
    st.lists(st.sampled_from(["kill", "pause", *CUTS, ""]), min_size=4, max_size=4),
    st.booleans(),
)
def test_heal_all_mends_any_mess(make_world, hows, struck, partitioned, client_hows, planned):
    world = make_world(nodes=5, clients=4)
    nemesis = world.nemesis(one("kill", role="leader"))
    if planned:
        nemesis.invoke("start", {"id": 1})
    for how, number in zip(hows, range(1, 6), strict=True):
        if number in struck and world.servers.state(f"n{number}") == "running":
            getattr(world.servers, how)(f"n{number}")
    if partitioned:
        world.servers.partition({"n1": frozenset({"n2", "n3"}), "n4": frozenset({"n5"})})
    for client, how in enumerate(client_hows):
        if how in CUTS:
            world.links.cut(client, how)
        elif how:
            getattr(world.clients, how)(client)
    healed = nemesis.heal_all()
    assert healed["verified"], healed["detail"]
    assert world.whole()
    assert bool(healed["healed"]) == bool(
        planned or struck or partitioned or any(how for how in client_hows)
    )
    assert [value["id"] for value in healed["healed"] if value["id"]] == [1] * planned
    assert not nemesis.invoke("start", {"id": 1})["verified"]


def test_heal_all_tells_of_a_server_that_runs_but_does_not_serve(make_world):
    world = make_world()
    world.servers._ready["n2"] = 1e9
    healed = world.nemesis(one("kill", role="leader")).heal_all()
    assert not healed["verified"]
    assert "stray n2: not serving again within 15 s" in healed["detail"]


def test_heal_all_tells_of_what_cannot_even_be_inspected(make_world):
    world = make_world()

    def gone():
        raise OSError("the engine is gone")

    world.servers.grudge = gone
    healed = world.nemesis(one("kill", role="leader")).heal_all()
    assert not healed["verified"]
    assert "stray run: could not be inspected: the engine is gone" in healed["detail"]


def test_heal_all_goes_on_when_one_thing_cannot_be_healed(make_world):
    world = make_world()
    nemesis = world.nemesis(several(one("kill", role="leader"), one("client-pause", role="holder")))
    nemesis.invoke("start", {"id": 1})
    nemesis.invoke("start", {"id": 2})
    world.servers.failing.add("restart")
    healed = nemesis.heal_all()
    assert not healed["verified"]
    assert "could not be healed: restart is out of order" in healed["detail"]
    assert world.context().running_clients() == [0, 1, 2, 3, 4]


def stoppable(world, plan):
    """A nemesis that has begun its first fault, and what requests that the run stops."""
    requested = threading.Event()
    nemesis = world.nemesis(plan, stop_requested=requested.is_set)
    nemesis.invoke("start", {"id": 1})
    return nemesis, requested.set


def test_once_a_stop_is_requested_no_action_waits_any_longer(make_world):
    world = make_world()
    nemesis, request_stop = stoppable(world, one("client-pause", duration=1000.0, role="holder"))
    world.clock.later(2.0, request_stop)
    began = world.clock.now
    nemesis.invoke("stop", {"id": 1})
    assert world.clock.now - began < 2.5
    assert nemesis.heal_all()["verified"]
    assert not nemesis.invoke("start", {"id": 1})["verified"]


def test_an_interrupted_healing_is_finished_by_heal_all(make_world):
    world = make_world()
    nemesis, request_stop = stoppable(world, one("kill", duration=1.0, role="leader"))
    request_stop()
    assert not nemesis.invoke("stop", {"id": 1})["verified"]  # a server takes time to boot
    healed = nemesis.heal_all()
    assert healed["verified"]
    assert [value["id"] for value in healed["healed"]] == [1]


def test_heal_all_from_another_thread_hurries_what_is_under_way(make_world):
    world = make_world()
    waiting, go_on = threading.Event(), threading.Event()

    def sleep(seconds):
        world.clock.sleep(seconds)
        if threading.current_thread() is not threading.main_thread():
            waiting.set()
            go_on.wait(0.001)

    nemesis = Nemesis(
        one("client-pause", duration=1e9, names=(2,)),
        world.servers,
        world.links,
        world.clients,
        world.lock,
        0,
        sleep=sleep,
        monotonic=world.clock.monotonic,
    )
    nemesis.invoke("start", {"id": 1})
    stopped = []
    thread = threading.Thread(target=lambda: stopped.append(nemesis.invoke("stop", {"id": 1})))
    thread.start()
    assert waiting.wait(10)
    world.clock.sleep = lambda _: go_on.wait(0.001)  # real time passes for whoever waits now
    healed = nemesis.heal_all()
    thread.join(10)
    assert stopped[0]["verified"]
    assert healed == {"verified": True, "detail": "nothing was broken", "healed": []}


def test_entries_choose_apart_from_each_other(make_world):
    both = several(one("client-kill", role="one", at=1.0), one("client-pause", role="one", at=10.0))
    alone = FaultPlan(version=VERSION, entries=both.entries[1:])
    for seed in range(10):
        world, other = make_world(), make_world()
        first = world.perform(world.nemesis(both, seed))
        second = other.perform(other.nemesis(alone, seed))
        assert first[2][1]["targets"] == second[0][1]["targets"]
    assert all(a["id"] == b["id"] for (_, a), (_, b) in pairwise(second))


def test_what_no_fault_of_the_plan_did_is_somebody_elses(make_world):
    world = make_world()
    plan = one("kill", names=["n1"])
    nemesis = world.nemesis(plan, 0)
    assert nemesis.outside() == {}
    nemesis.invoke("start", {"id": 1})
    assert world.servers.state("n1") == "dead"
    assert nemesis.outside() == {}
    world.servers.pause("n2")
    assert nemesis.outside() == {"n2": "n2 is paused, and no fault of the plan did that"}
    nemesis.invoke("stop", {"id": 1})
    assert list(nemesis.outside()) == ["n2"]
    world.servers.kill("n1")
    assert list(nemesis.outside()) == ["n1", "n2"]
    nemesis.heal_all()
    assert nemesis.outside() == {}


def test_what_a_fault_has_left_broken_is_its_own(make_world):
    world = make_world()
    nemesis = world.nemesis(one("kill", names=["n1"]), 0)
    nemesis.invoke("start", {"id": 1})
    world.servers.restart = lambda _node: None
    assert not nemesis.invoke("stop", {"id": 1})["verified"]
    assert nemesis.outside() == {}


def test_nothing_is_told_of_others_while_an_action_is_under_way(make_world):
    world = make_world()
    nemesis = world.nemesis(one("kill", names=["n1"]), 0)
    seen = []
    kill = world.servers.kill

    def while_killing(node):
        kill(node)
        seen.append(nemesis.outside())

    world.servers.kill = while_killing
    nemesis.invoke("start", {"id": 1})
    assert seen == [None]
