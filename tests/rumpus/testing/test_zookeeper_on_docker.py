"""The same handle on real servers."""

import os
import threading
import time

import pytest
from kazoo.exceptions import ConnectionLoss

import rumpus
from rumpus.harness.srvr import answer_to

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def zk():
    with rumpus.zookeeper(ensemble="docker") as zk:
        yield zk


@pytest.mark.skipif(
    not os.environ.get("RUMPUS_FULL_CHECKS"), reason="builds an image: make test-full runs it"
)
def test_servers_of_another_version():
    with rumpus.zookeeper(nodes=1, ensemble="docker", version="3.9") as zk:
        host, port = zk.hosts.split(":")
        assert answer_to("srvr", (host, int(port))).startswith("Zookeeper version: 3.9.6")


def eventually(condition, within=30.0):
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_dump_shows_what_there_is(zk, client):
    session = client.client_id[0]
    client.create("/a", b"1")
    client.create("/a/b", b"2", ephemeral=True)
    dump = zk.dump()
    assert dump.znodes["/a"].data == b"1"
    assert dump.znodes["/a/b"].ephemeral_owner == session
    assert dump.sessions[session].timeout == 10
    assert dump.sessions[session].node in zk.nodes
    assert dump.sessions[session].ephemerals == ("/a/b",)
    client.delete("/a", recursive=True)


def test_a_session_ends_and_its_client_is_told(zk, client):
    lost = threading.Event()
    client.add_listener(lambda state: state == "LOST" and lost.set())
    session = client.client_id[0]
    client.create("/e", ephemeral=True)
    zk.expire(client)
    assert session not in zk.dump().sessions
    assert "/e" not in zk.dump().znodes
    assert lost.wait(20)
    with pytest.raises(rumpus.UsageError, match="no session 0x1234"):
        zk.expire(0x1234)


def test_a_reply_is_lost_one_at_a_time(zk, client):
    dropped = zk.drop_reply("create", number=2, client=client)
    with pytest.raises(rumpus.UsageError, match="one at a time"):
        zk.drop_reply("delete")
    client.create("/c")
    with pytest.raises(ConnectionLoss):
        client.create("/d")
    later = zk.drop_reply("delete")
    assert dropped.happened
    assert not later.happened
    later.withdraw()
    assert not later.happened
    assert {"/c", "/d"} <= zk.dump().znodes.keys()
    for path in ("/c", "/d"):
        client.retry(client.delete, path)


def test_a_connection_is_cut(zk, client):
    suspended = threading.Event()
    client.add_listener(lambda state: state == "SUSPENDED" and suspended.set())
    session = client.client_id[0]
    zk.cut(client)
    assert suspended.wait(20)
    eventually(lambda: client.client_id is not None)
    assert client.client_id[0] == session


def test_another_server_leads_when_the_leader_is_paused_or_cut_off(zk):
    for harm, mend in ((zk.pause, zk.resume), (zk.partition, lambda _: zk.heal())):
        old = zk.leader
        harm(old)
        eventually(lambda old=old: zk.leader not in (None, old))
        mend(old)
        zk.await_service()


def test_a_leader_is_chosen_and_killed_servers_come_back(zk):
    for node in ("n1", "n2", "n1"):
        zk.elect(node)
        assert zk.leader == node
    zk.kill("n1")
    assert zk.state("n1") == "dead"
    zk.restart("n1")
    zk.await_service()
