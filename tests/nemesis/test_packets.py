"""Packets between servers that are lost or late, on the world in memory and on real servers."""

import threading
import time

import pytest
from kazoo.client import KazooClient

from rumpus.harness.docker.packet_filter import lossy, queued
from rumpus.harness.ensemble import Slowness
from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.plan import VERSION, FaultPlan, validate
from rumpus.nemesis.runner import Nemesis
from rumpus.nemesis.targets import Targets


def plan_of(kind="packet-loss", **options):
    entry = Entry(
        id=1,
        at=1.0,
        kind=kind,
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


def of_delay(**options):
    return plan_of("packet-delay", **options)


@pytest.mark.parametrize(
    ("options", "slow", "words"),
    [
        ({}, Slowness(0.2), "200 ms late"),
        (
            {"seconds": 0.1, "jitter": 0.05},
            Slowness(0.1, 0.05),
            "100 ms late, and up to 50 ms more",
        ),
        (
            {"seconds": 0, "bytes_per_second": 5000},
            Slowness(0.0, 0.0, 5000),
            "0 ms late, 5000 bytes a second",
        ),
    ],
)
def test_packets_in_one_direction_are_late(make_world, options, slow, words):
    world = make_world()
    nemesis = world.nemesis(of_delay(direction="from", **options))
    started = nemesis.invoke("start", {"id": 1})
    assert started["verified"]
    assert f"packets from n2 are {words}" in started["detail"]
    assert world.servers.packets.slowness() == {"n1": {"n2": slow}, "n3": {"n2": slow}}
    stopped = nemesis.invoke("stop", {"id": 1})
    assert stopped["verified"]
    assert stopped["late"] == 10
    assert world.whole()


def test_where_nothing_was_late_nothing_was_tested(make_world):
    world = make_world()
    world.servers.packets.quiet = True
    nemesis = world.nemesis(of_delay())
    started, stopped = (value for _, value in world.perform(nemesis))
    assert (started["verified"], stopped["verified"]) == (True, False)
    assert "no packet was late" in stopped["detail"]


@pytest.mark.parametrize(
    "options", [{"seconds": -1}, {"seconds": 0}, {"jitter": 61}, {"bytes_per_second": 0.5}]
)
def test_a_delay_that_makes_no_sense_is_refused(options):
    with pytest.raises(PlanError, match=next(iter(options))):
        of_delay(**options)


def test_queues_that_nobody_reads_make_nothing_late():
    rules = (
        "-P INPUT ACCEPT -c 0 0\n-A INPUT -c 9 900 -j RUMPUS-DELAYS\n"
        "-A RUMPUS-DELAYS -s 10.0.0.2/32 -c 7 700 -j NFQUEUE --queue-num 1 --queue-bypass\n"
        "-A RUMPUS-DELAYS -s 10.0.0.3/32 -c 0 0 -j NFQUEUE --queue-num 2 --queue-bypass\n"
    )
    read = "    1  23017     0 2    20     0     0        0  1\n"
    assert queued(rules + read) == {"10.0.0.2": 7}
    assert queued(rules) == {}
    assert queued(rules.replace("-A INPUT -c 9 900 -j RUMPUS-DELAYS\n", "") + read) == {}


def round_trip(ensemble, source, target):
    """Seconds until a port where nobody listens has refused a connection: there, and back."""
    address = ensemble._nodes[target].ip
    script = f"date +%s%N; (exec 3<>/dev/tcp/{address}/1); date +%s%N"
    _, said = ensemble.run_in_network(source, script)
    began, ended = (int(line) for line in said.splitlines() if line.isdigit())
    return (ended - began) / 1e9


@pytest.mark.docker
def test_real_servers_get_packets_late_in_one_direction_and_at_once_again(ensemble, make_world):
    world = make_world()
    plan = of_delay(direction="to", seconds=0.15)
    nemesis = Nemesis(plan, ensemble, world.links, world.clients, world.lock, seed=0)
    assert round_trip(ensemble, "n1", "n2") < 0.15
    started = nemesis.invoke("start", {"id": 1})
    assert started["verified"], started["detail"]
    slow = Slowness(0.15)
    assert ensemble.packets.slowness() == {"n2": {"n1": slow, "n3": slow}}
    assert ensemble.packets.losses() == {}
    assert round_trip(ensemble, "n1", "n2") >= 0.15
    assert round_trip(ensemble, "n2", "n1") >= 0.15, "the answer is late"
    assert round_trip(ensemble, "n1", "n3") < 0.15
    stopped = nemesis.invoke("stop", {"id": 1})
    assert stopped["verified"], stopped["detail"]
    assert stopped["late"] > 0
    assert ensemble.packets.slowness() == {}
    assert round_trip(ensemble, "n1", "n2") < 0.15


@pytest.mark.docker
def test_a_real_follower_is_behind_and_serves(ensemble, make_world):
    world = make_world()
    at = Targets(role="follower")
    entry = Entry(id=1, at=1.0, kind="follower-lag", targets=at, duration=3.0)
    plan = FaultPlan(version=VERSION, entries=(entry,))
    nemesis = Nemesis(plan, ensemble, world.links, world.clients, world.lock, seed=0)
    host, port = ensemble.client_address(ensemble.leader())
    client = KazooClient(f"{host}:{port}", timeout=20)
    client.start()
    over = threading.Event()

    def write():
        while not over.wait(0.01):
            client.create("/late/node", b"", sequence=True, makepath=True)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        started = nemesis.invoke("start", {"id": 1})
        assert started["verified"], started["detail"]
        assert "behind by" in started["detail"]
        stopped = nemesis.invoke("stop", {"id": 1})
        assert stopped["verified"], stopped["detail"]
    finally:
        over.set()
        writing.join()
        client.stop()
        client.close()
    assert ensemble.packets.slowness() == {}
