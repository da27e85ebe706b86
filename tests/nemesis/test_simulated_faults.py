"""Faults of machines, disks, clocks, threads and links, on the world in memory."""

from typing import get_args

import pytest

from rumpus.harness.ensemble import Slowness
from rumpus.harness.links.triggers import RequestAction
from rumpus.nemesis.client_request import ACTIONS
from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.plan import VERSION, FaultPlan, validate
from rumpus.nemesis.targets import Targets

DISK_FAULTS = ("file-slow", "file-full", "file-fail", "file-lie")
SERVER_FAULTS = (
    "power-off",
    "file-damage",
    *DISK_FAULTS,
    "clock-skew",
    "follower-lag",
    "packet-delay",
)
CLIENT_FAULTS = ("client-clock-skew", "client-stall", "client-request", "client-delay")


def plan_of(kind, targets, **options):
    entry = Entry(id=1, at=1.0, kind=kind, targets=targets, duration=3.0, options=dict(**options))
    plan = FaultPlan(version=VERSION, entries=(entry,))
    validate(plan, nodes=3, clients=5, time_limit=30)
    return plan


def targets_of(kind):
    return Targets(names=("c2",) if kind.startswith("client-") else ("n2",))


def told(world, kind, **options):
    nemesis = world.nemesis(plan_of(kind, targets_of(kind), **options))
    started, stopped = (value for _, value in world.perform(nemesis))
    return nemesis, started, stopped


@pytest.mark.parametrize("kind", SERVER_FAULTS + CLIENT_FAULTS)
def test_is_seen_in_force_and_healed(make_world, kind):
    world = make_world()
    nemesis, started, stopped = told(world, kind)
    assert started["verified"], started
    assert stopped["verified"], stopped
    assert started["targets"] == [targets_of(kind).names[0]]
    assert nemesis.heal_all() == {"verified": True, "detail": "nothing was broken", "healed": []}
    assert world.whole()


@pytest.mark.parametrize(
    ("kind", "part", "call"),
    [
        ("power-off", "servers", "power_off"),
        ("file-damage", "servers", "damage"),
        ("file-slow", "servers", "trouble_disk"),
        ("file-full", "servers", "trouble_disk"),
        ("file-fail", "servers", "trouble_disk"),
        ("file-lie", "servers", "trouble_disk"),
        ("clock-skew", "servers", "skew_clock"),
        ("client-clock-skew", "clients", "skew_clock"),
        ("client-stall", "clients", "stall"),
    ],
)
def test_what_has_no_effect_is_not_in_force(make_world, kind, part, call):
    world = make_world()
    getattr(world, part).machines.ignored.add(call)
    _, started, _ = told(world, kind)
    assert not started["verified"]


@pytest.mark.parametrize("kind", ["follower-lag", "packet-delay"])
def test_packets_that_are_not_late_are_not_in_force(make_world, kind):
    world = make_world()
    world.servers.packets.ignored.add("slow_down")
    _, started, _ = told(world, kind)
    assert not started["verified"]


@pytest.mark.parametrize(
    ("kind", "part", "call", "words"),
    [
        ("file-slow", "servers", "mend_disk", "disks still faulty: n2"),
        ("client-stall", "clients", "unstall", "still stalled: c2"),
    ],
)
def test_what_cannot_be_mended_is_not_healed(make_world, kind, part, call, words):
    world = make_world()
    getattr(world, part).machines.ignored.add(call)
    _, _, stopped = told(world, kind)
    assert not stopped["verified"]
    assert words in stopped["detail"]


def test_a_slow_link_is_read_back_and_what_stays_slow_is_told(make_world):
    world = make_world()
    nemesis = world.nemesis(plan_of("client-delay", targets_of("client-delay"), milliseconds=80))
    start, stop = nemesis.schedule()
    started = nemesis.invoke(start.f, start.value)
    assert (started["verified"], started["detail"]) == (True, "by name; 80 ms each way")
    assert world.links.delays(2) == dict.fromkeys(world.servers.nodes, 80)
    world.links.ignored.add("delay")
    stopped = nemesis.invoke(stop.f, stop.value)
    assert not stopped["verified"]
    assert "links still slow: c2" in stopped["detail"]
    _, started, _ = told(world, "client-delay")
    assert not started["verified"]


@pytest.mark.parametrize(
    ("kind", "part", "ignored", "words"),
    [
        ("clock-skew", "machines", "skew_clock", "clocks still wrong: n2"),
        ("follower-lag", "packets", "slow_down", "still reached late: n2"),
        ("packet-delay", "packets", "slow_down", "packets still arrive late at n1, n2, n3"),
    ],
)
def test_what_cannot_be_set_right_is_told(make_world, kind, part, ignored, words):
    world = make_world()
    nemesis = world.nemesis(plan_of(kind, Targets(names=("n2",))))
    start, stop = nemesis.schedule()
    assert nemesis.invoke(start.f, start.value)["verified"]
    getattr(world.servers, part).ignored.add(ignored)
    value = nemesis.invoke(stop.f, stop.value)
    assert not value["verified"]
    assert words in value["detail"]


def test_a_follower_that_does_not_catch_up_is_told(make_world, monkeypatch):
    world = make_world()
    nemesis = world.nemesis(plan_of("follower-lag", Targets(names=("n2",))))
    start, stop = nemesis.schedule()
    assert nemesis.invoke(start.f, start.value)["verified"]
    applied = world.servers.applied
    monkeypatch.setattr(world.servers, "applied", lambda node: 5 if node == "n2" else applied(node))
    value = nemesis.invoke(stop.f, stop.value)
    assert not value["verified"]
    assert "still behind after" in value["detail"]


def test_a_leader_without_a_transaction_in_its_epoch_is_nothing_to_catch_up_with(
    make_world, monkeypatch
):
    world = make_world()
    nemesis = world.nemesis(plan_of("follower-lag", Targets(names=("n2",))))
    (start, stop) = nemesis.schedule()
    assert nemesis.invoke("start", start.value)["verified"]
    epoch, leads = 5 << 32, world.servers.leader()
    monkeypatch.setattr(
        world.servers, "applied", lambda node: epoch if node == leads else epoch - 9
    )
    assert nemesis.invoke("stop", stop.value)["verified"]


def test_the_follower_with_most_clients_is_behind_and_never_the_leader(make_world, monkeypatch):
    world = make_world()
    monkeypatch.setattr(world.links, "connected_to", lambda c: "n1" if c == 3 else "n2")
    _, started, stopped = told_of(world, Targets(role="follower"))
    assert (started["targets"], stopped["verified"]) == (["n2"], True)
    assert "serving c0, c1, c2, c4" in started["detail"]
    _, started, _ = told_of(make_world(), Targets(names=("n3",)))
    assert not started["verified"]
    assert "n3 leads" in started["detail"]


def told_of(world, targets):
    nemesis = world.nemesis(plan_of("follower-lag", targets))
    started, stopped = (value for _, value in world.perform(nemesis))
    return nemesis, started, stopped


def test_a_clock_that_was_set_is_set_back(make_world):
    world = make_world()
    told(world, "clock-skew")
    assert world.servers.machines.steps == {"n2": 0}
    assert world.servers.machines.clock_rate("n2") == 1


@pytest.mark.parametrize("awaited", ["request", "switch"])
def test_what_never_comes_was_not_affected(make_world, awaited):
    world = make_world()
    world.links.create = lambda _: None
    world.clients.machines.ignored.add("hold_back")
    _, started, stopped = told(world, f"client-{awaited}")
    assert started["verified"]
    assert not stopped["verified"]
    assert f"no such {awaited} came" in stopped["detail"]


def test_a_fault_of_a_request_says_which(make_world):
    world = make_world()
    _, _, stopped = told(world, "client-request", how="hold-reply", request="delete", number=3)
    [(_, _, trigger, nodes)] = [call for call in world.links.calls if call[0] == "arm"]
    assert (trigger.action, trigger.request, trigger.number, nodes) == (
        "hold-reply",
        "delete",
        3,
        None,
    )
    assert stopped["how"] == "hold-reply"
    assert world.links.armed[2].withdrawn


def test_a_thread_is_held_back_at_a_switch(make_world):
    world = make_world()
    _, started, stopped = told(world, "client-switch", number=7, hold=50.0)
    assert (started["verified"], stopped["verified"]) == (True, True)
    assert stopped["struck"] == ["c2"]
    assert stopped["how"] == "thread held back for 50 ms at switch 7"
    assert world.clients.machines.held == [(2, 7, 0.05)]


def test_what_somebody_left_broken_is_a_stray(make_world):
    world = make_world()
    world.servers.machines.trouble_disk("n1", "slow")
    world.servers.machines.skew_clock("n3", step=0, rate=1.01)
    world.servers.packets.slow_down("n2", {"n1": Slowness(0.5)})
    world.clients.machines.stall(4, 0.5)
    world.clients.machines.skew_clock(0, step=0, rate=0.99)
    told = world.nemesis(FaultPlan(version=VERSION)).heal_all()
    assert told["verified"]
    found = {value["targets"][0]: value["detail"] for value in told["healed"]}
    assert found.keys() == {"n1", "n2", "n3", "c4", "c0"}
    assert "packets arrived late at n2" in found["n2"]
    assert "n1's disk was slow" in found["n1"]
    assert "c4's thread thread 0.5 was stalled" in found["c4"]
    assert world.nemesis(FaultPlan(version=VERSION)).heal_all()["detail"] == "nothing was broken"


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("client-request", {"how": "black-hole"}, "options.how"),
        ("client-request", {"request": "steal"}, "options.request"),
        ("client-request", {"number": 0}, "options.number"),
        ("client-request", {"hold": -1.0}, "options.hold"),
        ("client-partition", {"number": 2}, "takes only nodes, how"),
        ("client-stall", {"how": "drop-reply"}, "takes none"),
        ("power-off", {"number": 1}, "takes none"),
    ],
)
def test_options_that_make_no_sense_are_refused(kind, options, words):
    with pytest.raises(PlanError, match=words):
        plan_of(kind, targets_of(kind), **options)


def test_actions_are_those_of_links():
    assert get_args(RequestAction) == ACTIONS
