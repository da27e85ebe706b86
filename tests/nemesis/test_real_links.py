"""Faults of clients' links on real links between real clients and servers."""

import time

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.states import KazooState

from rumpus.harness.links.link_process import ProcessLinks
from rumpus.nemesis.client_partition import CUTS
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import VERSION, FaultPlan
from rumpus.nemesis.runner import Nemesis
from rumpus.nemesis.targets import Targets

pytestmark = pytest.mark.docker

CUTS = [how for how in CUTS if how != "lost-reply"]


@pytest.fixture
def links(ensemble):
    addresses = {node: ensemble.client_address(node) for node in ensemble.nodes}
    with ProcessLinks(addresses, 2) as links:
        yield links


@pytest.fixture
def zookeeper(links):
    """The connected client 0; the other one exists in name only."""
    client = KazooClient(hosts=links.hosts(0), timeout=2.0)
    client.start(10)
    try:
        yield client
    finally:
        client.stop()
        client.close()


@pytest.fixture
def breaking(ensemble, links, make_world):
    """A nemesis that breaks something of client 0."""
    world = make_world(clients=1)

    def nemesis(kind, **options):
        entry = Entry(
            id=1, at=0, kind=kind, targets=Targets(names=(0,)), duration=0.1, options=options
        )
        plan = FaultPlan(version=VERSION, entries=(entry,))
        return Nemesis(plan, ensemble, links, world.clients, world.lock, seed=0)

    return nemesis


@pytest.fixture
def cut(breaking):
    """A nemesis that cuts client 0 in some way."""
    return lambda how: breaking("client-partition", how=how)


@pytest.mark.parametrize("how", CUTS)
def test_a_cut_client_is_suspended_and_comes_back(links, zookeeper, cut, eventually, how):
    nemesis = cut(how)
    started = nemesis.invoke("start", {"id": 1})
    assert started["verified"], started["detail"]
    eventually(lambda: zookeeper.state == KazooState.SUSPENDED, within=10)
    stopped = nemesis.invoke("stop", {"id": 1})
    assert stopped["verified"], stopped["detail"]
    assert links.in_force(0) == {}
    eventually(lambda: zookeeper.connected, within=10)
    assert zookeeper.exists("/zookeeper")


def test_a_reply_is_lost_though_the_create_took_effect(zookeeper, cut, eventually):
    nemesis = cut("lost-reply")
    started = nemesis.invoke("start", {"id": 1})
    assert started["verified"], started["detail"]
    with pytest.raises(ConnectionLoss):
        zookeeper.create("/lost", ephemeral=True)
    stopped = nemesis.invoke("stop", {"id": 1})
    assert stopped["verified"], stopped["detail"]
    assert stopped["struck"] == ["c0"]
    eventually(lambda: zookeeper.connected, within=10)
    assert zookeeper.exists("/lost")


def test_without_a_create_no_reply_is_lost_and_that_is_told(zookeeper, cut):
    nemesis = cut("lost-reply")
    assert nemesis.invoke("start", {"id": 1})["verified"]
    assert zookeeper.exists("/zookeeper")
    stopped = nemesis.invoke("stop", {"id": 1})
    assert not stopped["verified"]
    assert "no reply was lost" in stopped["detail"]
    assert zookeeper.connected


def test_a_slow_link_makes_answers_late_and_no_session_end(zookeeper, links, breaking):
    session = zookeeper.client_id[0]
    nemesis = breaking("client-delay", milliseconds=150)
    started = nemesis.invoke("start", {"id": 1})
    assert started["verified"], started["detail"]
    began = time.monotonic()
    assert zookeeper.exists("/zookeeper")
    assert time.monotonic() - began >= 0.3
    stopped = nemesis.invoke("stop", {"id": 1})
    assert stopped["verified"], stopped["detail"]
    assert links.delays(0) == {}
    assert zookeeper.client_id[0] == session


@pytest.mark.parametrize(
    ("how", "answered", "there"),
    [
        ("drop-reply", False, True),
        ("cut-before", False, False),
        ("cut-after", False, None),  # a server may drop what a connection that is gone has asked
        ("hold-reply", True, True),
    ],
)
def test_one_request_fails_at_its_moment(zookeeper, breaking, eventually, how, answered, there):
    nemesis = breaking("client-request", how=how, request="create", number=2, hold=300)
    assert nemesis.invoke("start", {"id": 1})["verified"]
    zookeeper.create(f"/first-{how}", ephemeral=True)
    began = time.monotonic()
    if answered:
        zookeeper.create(f"/{how}", ephemeral=True)
        assert time.monotonic() - began >= 0.3
    else:
        with pytest.raises(ConnectionLoss):
            zookeeper.create(f"/{how}", ephemeral=True)
    eventually(lambda: zookeeper.connected, within=10)
    assert there in (None, bool(zookeeper.exists(f"/{how}")))
    stopped = nemesis.invoke("stop", {"id": 1})
    assert stopped["verified"], stopped["detail"]
    assert stopped["struck"] == ["c0"]


@pytest.mark.parametrize(
    ("how", "number", "there"),
    [("lose", 1, False), ("lose", 2, True), ("reset", 1, None), ("silence", 1, True)],
)
def test_a_fault_begins_at_a_frame(zookeeper, links, breaking, eventually, how, number, there):
    """The first frame is the request, and the second one its reply."""
    path = f"/{how}-{number}"
    nemesis = breaking("client-frame", how=how, number=number)
    assert nemesis.invoke("start", {"id": 1})["verified"]
    with pytest.raises(ConnectionLoss):
        zookeeper.create(path, ephemeral=True)
    if how == "silence":
        assert set(links.in_force(0).values()) == {"black-hole"}
    stopped = nemesis.invoke("stop", {"id": 1})
    assert stopped["verified"], stopped["detail"]
    assert stopped["struck"] == ["c0"]
    eventually(lambda: zookeeper.connected, within=10)
    assert there in (None, bool(zookeeper.exists(path)))
