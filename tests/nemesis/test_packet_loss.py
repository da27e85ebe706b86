"""Packets between servers that are lost at random, on the world in memory and on real servers."""

import time

import pytest

from rumpus.harness.docker.packet_filter import lossy
from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.plan import VERSION, FaultPlan, validate
from rumpus.nemesis.runner import Nemesis
from rumpus.nemesis.targets import Targets


def plan_of(**options):
    entry = Entry(
        id=1,
        at=1.0,
        kind="packet-loss",
        targets=Targets(names=("n2",)),
        duration=3.0,
        options=options,
    )
    plan = FaultPlan(version=VERSION, entries=(entry,))
    validate(plan, nodes=3, clients=5, time_limit=30)
    return plan


def told(world, **options):
    nemesis = world.nemesis(plan_of(**options))
    started, stopped = (value for _, value in world.perform(nemesis))
    return nemesis, started, stopped


@pytest.mark.parametrize(
    ("direction", "losses"),
    [
        ("both", {"n2": {"n1": 0.1, "n3": 0.1}, "n1": {"n2": 0.1}, "n3": {"n2": 0.1}}),
        ("to", {"n2": {"n1": 0.1, "n3": 0.1}}),
        ("from", {"n1": {"n2": 0.1}, "n3": {"n2": 0.1}}),
    ],
)
def test_a_direction_is_seen_from_the_servers_chosen(make_world, direction, losses):
    world = make_world()
    nemesis = world.nemesis(plan_of(direction=direction, percent=10))
    start, stop = nemesis.schedule()
    started = nemesis.invoke(start.f, start.value)
    assert started["verified"]
    assert "n2 are lost" in started["detail"]
    assert world.servers.packets.losses() == losses
    stopped = nemesis.invoke(stop.f, stop.value)
    assert stopped["verified"]
    assert stopped["lost"] == 10
    assert world.whole()


def test_a_share_is_one_that_packet_filters_tell_apart(make_world):
    """Else what is read back would never be what was asked for."""
    world = make_world()
    nemesis = world.nemesis(plan_of(direction="to", percent=100 / 3))
    start, _ = nemesis.schedule()
    assert nemesis.invoke(start.f, start.value)["verified"]
    wanted = world.servers.packets.losses()["n2"]
    listing = "-A INPUT -j RUMPUS-LOSSES\n" + "".join(
        f"-A RUMPUS-LOSSES -s {node} -m statistic --mode random --probability "
        f"{share + 4e-10:.11f} -c 1 60 -j DROP\n"
        for node, share in wanted.items()
    )
    assert {node: share for node, (share, _) in lossy(listing).items()} == wanted


def test_what_has_no_effect_is_not_in_force(make_world):
    world = make_world()
    world.servers.packets.ignored.add("lose")
    _, started, _ = told(world)
    assert not started["verified"]


def test_where_nothing_was_lost_nothing_was_tested(make_world):
    world = make_world()
    world.servers.packets.quiet = True
    _, started, stopped = told(world)
    assert started["verified"]
    assert not stopped["verified"]
    assert "no packet was lost" in stopped["detail"]


def test_what_is_still_lost_is_not_healed(make_world):
    world = make_world()
    nemesis = world.nemesis(plan_of())
    start, stop = nemesis.schedule()
    nemesis.invoke(start.f, start.value)
    world.servers.packets.ignored.add("lose")
    stopped = nemesis.invoke(stop.f, stop.value)
    assert not stopped["verified"]
    assert "packets are still lost" in stopped["detail"]
    world.servers.packets.ignored.clear()
    healed = nemesis.heal_all()
    assert healed["verified"]
    assert world.whole()


@pytest.mark.parametrize("options", [{"percent": 0}, {"percent": 100}, {"direction": "sideways"}])
def test_what_makes_no_sense_is_refused(options):
    with pytest.raises(PlanError, match=next(iter(options))):
        plan_of(**options)


@pytest.mark.docker
def test_real_servers_lose_packets_and_recover(ensemble, make_world):
    world = make_world()
    nemesis = Nemesis(
        plan_of(direction="to", percent=50),
        ensemble,
        world.links,
        world.clients,
        world.lock,
        seed=0,
    )
    started = nemesis.invoke("start", {"id": 1})
    assert started["verified"], started["detail"]
    assert ensemble.packets.losses() == {"n2": {"n1": 0.5, "n3": 0.5}}
    assert ensemble.grudge() == {}
    deadline = time.monotonic() + 20
    while not ensemble.packets.lost():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    stopped = nemesis.invoke("stop", {"id": 1})
    assert stopped["verified"], stopped["detail"]
    assert stopped["lost"] > 0
    assert ensemble.packets.losses() == {}
