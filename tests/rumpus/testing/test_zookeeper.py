import socket
import struct
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, LockTimeout
from kazoo.protocol.serialization import Auth, Connect
from kazoo.recipe.lock import Lock

import rumpus
from rumpus.harness.srvr import ask
from rumpus.simulation.real_sockets import WorldEnded
from rumpus.simulation.zookeeper.serving.client_connection import MOST_IDENTITIES
from tests.sampling import sampled

NO_SESSION = 0x1234


@pytest.fixture
def zk():
    with rumpus.zookeeper() as zk:
        yield zk


class Application:
    """A kazoo client that notes the states of its session."""

    def __init__(self, hosts):
        self.states = []
        self.kazoo = KazooClient(hosts)
        self.kazoo.add_listener(self.states.append)
        self.kazoo.start(20)

    @property
    def session(self):
        return self.kazoo.client_id[0]

    def close(self):
        self.kazoo.stop()
        self.kazoo.close()


@contextmanager
def application(hosts):
    client = Application(hosts)
    try:
        yield client
    finally:
        client.close()


@pytest.fixture
def app(zk):
    with application(zk.hosts) as client:
        yield client


def eventually(condition, within=20.0):
    deadline = time.monotonic() + within
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return found


def descriptors():
    return set(Path("/proc/self/fd").iterdir())


# -- sessions and requests -------------------------------------------------------------------


def test_lost_replies_make_kazoos_lock_leave_a_node_that_all_wait_for(zk, app):
    """Finding 10 about kazoo: the clean-up of a timed acquire swallows its own failure."""
    app.kazoo.ensure_path("/lock")
    session = app.session
    lost = [zk.drop_reply(each, client=app.kazoo) for each in ("create", "get-children")]
    assert not Lock(app.kazoo, "/lock").acquire(timeout=0.01)
    assert all(reply.happened for reply in lost)
    (orphan,) = (path for path in zk.dump().znodes if path != "/lock")
    assert zk.dump().znodes[orphan].ephemeral_owner == session
    assert zk.dump().sessions[session].ephemerals == (orphan,)
    with application(zk.hosts) as other, pytest.raises(LockTimeout):
        Lock(other.kazoo, "/lock").acquire(timeout=0.2)
    zk.expire(session)
    assert list(zk.dump().znodes) == ["/lock"]


def test_only_the_named_request_of_the_named_client_is_lost(zk, app):
    with application(zk.hosts) as other:
        dropped = zk.drop_reply("create", number=2, client=other.kazoo)
        for path in ("/a", "/b", "/c"):
            app.kazoo.create(path)
        other.kazoo.create("/d")
        other.kazoo.get("/d")
        assert not dropped.happened
        with pytest.raises(ConnectionLoss):
            other.kazoo.create("/e")
        assert dropped.happened
        assert "/e" in zk.dump().znodes
        other.kazoo.retry(other.kazoo.create, "/f")


def test_any_clients_request_counts_if_none_is_named(zk, app):
    with application(zk.hosts) as other:
        dropped = zk.drop_reply("set-data", number=2)
        app.kazoo.create("/a")
        app.kazoo.set("/a", b"1")
        with pytest.raises(ConnectionLoss):
            other.kazoo.set("/a", b"2")
        assert dropped.happened
        assert zk.dump().znodes["/a"].data == b"2"


def test_a_withdrawn_fault_does_not_happen(zk, app):
    dropped = zk.drop_reply("create")
    dropped.withdraw()
    app.kazoo.create("/a")
    assert not dropped.happened


def test_an_expired_client_is_told_that_its_session_is_lost(zk, app):
    app.kazoo.create("/a", ephemeral=True)
    session = app.session
    zk.expire(app.kazoo)
    assert zk.dump().znodes == {}
    assert session not in zk.dump().sessions
    eventually(lambda: "LOST" in app.states)
    assert eventually(lambda: app.kazoo.client_id)[0] != session


def test_a_session_is_named_by_its_id_too(zk, app):
    zk.expire(app.session)
    eventually(lambda: "LOST" in app.states)


def test_a_client_whose_connection_is_cut_keeps_its_session(zk, app):
    session = app.session
    zk.cut(app.kazoo)
    eventually(lambda: app.states[-2:] == ["SUSPENDED", "CONNECTED"])
    assert app.session == session
    zk.cut(session)
    eventually(lambda: app.states.count("SUSPENDED") == 2)
    assert "LOST" not in app.states


def test_a_dump_shows_what_there_is(zk, app):
    app.kazoo.create("/a", b"1")
    app.kazoo.create("/a/b", b"2", ephemeral=True)
    dump = zk.dump()
    assert {path: (z.data, z.ephemeral_owner) for path, z in dump.znodes.items()} == {
        "/a": (b"1", None),
        "/a/b": (b"2", app.session),
    }
    assert list(dump.sessions) == [app.session]
    session = dump.sessions[app.session]
    assert (session.timeout, session.ephemerals) == (10, ("/a/b",))
    (identity,) = dump.sessions
    zk.kill(session.node)
    assert eventually(lambda: zk.dump().sessions[identity].node) != session.node


# -- servers ---------------------------------------------------------------------------------


def test_another_server_leads_when_the_leader_is_paused(zk, app):
    app.kazoo.create("/a")
    old = zk.leader
    zk.pause(old)
    assert zk.state(old) == "paused"
    assert zk.await_leader(timeout=10) != old
    zk.resume(old)
    zk.await_service()
    assert zk.leader != old
    assert app.kazoo.retry(app.kazoo.exists, "/a")
    assert "LOST" not in app.states


def test_another_server_leads_when_the_leader_is_killed(zk):
    old = zk.leader
    zk.kill(old)
    assert zk.state(old) == "dead"
    assert zk.await_leader(timeout=10) != old
    zk.restart(old)
    zk.await_service(old)
    assert zk.state(old) == "running"


def test_no_server_serves_without_a_majority(zk):
    follower, other = (node for node in zk.nodes if node != zk.leader)
    zk.kill(follower)
    zk.kill(other)
    eventually(lambda: zk.leader is None)
    with pytest.raises(TimeoutError, match=f"{follower} is dead"):
        zk.await_leader(timeout=0.05)
    with pytest.raises(TimeoutError, match="did not serve within"):
        zk.await_service(timeout=0.05)


def test_a_server_that_is_cut_off_does_not_serve_until_the_partition_is_healed(zk):
    old = zk.leader
    zk.partition(old)
    eventually(lambda: not zk.serves(old))
    assert zk.await_leader(timeout=10) != old
    zk.heal()
    zk.await_service()
    assert zk.leader != old


@sampled("nodes", [1, 2, 3, 5], of=4)
def test_any_server_can_be_made_the_leader(nodes):
    with rumpus.zookeeper(nodes=nodes) as zk, application(zk.hosts) as app:
        app.kazoo.create("/a", b"1")
        for node in zk.nodes[1:] if nodes == 2 else (*zk.nodes, zk.nodes[0]):
            zk.elect(node)
            assert zk.leader == node
            assert all(map(zk.serves, zk.nodes))
        assert app.kazoo.retry(app.kazoo.get, "/a")[0] == b"1"
        assert "LOST" not in app.states


def test_what_cannot_win_an_election_is_refused():
    with rumpus.zookeeper(nodes=2) as zk:
        with pytest.raises(rumpus.UsageError, match="n1 cannot be made the leader"):
            zk.elect("n1")
        assert all(map(zk.serves, zk.nodes))


def test_the_servers_clocks_show_the_time_of_day_also_after_a_restart(zk, app):
    for path in ("/a", "/b"):
        app.kazoo.retry(app.kazoo.create, path)
        _, stat = app.kazoo.retry(app.kazoo.get, path)
        assert abs(stat.ctime / 1000 - time.time()) < 60
        for node in zk.nodes:
            zk.kill(node)
            zk.restart(node)


# -- mistakes --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["kill", "restart", "pause", "resume", "elect", "partition"])
def test_an_unknown_server_is_named(zk, method):
    with pytest.raises(rumpus.UsageError, match="no server is called 'n9'; there are n1, n2, n3"):
        getattr(zk, method)("n9")


@pytest.mark.parametrize("method", ["pause", "resume", "elect"])
def test_a_dead_server_is_refused_with_the_remedy(zk, method):
    zk.kill("n1")
    with pytest.raises(rumpus.UsageError, match=r"n1 is dead.*`restart` it first"):
        getattr(zk, method)("n1")


def test_a_paused_server_is_neither_restarted_nor_elected(zk):
    zk.pause("n1")
    for method in (zk.restart, zk.elect):
        with pytest.raises(rumpus.UsageError, match=r"n1 is paused.*`resume` it first"):
            method("n1")


def test_a_client_that_is_not_connected_has_no_session(zk):
    client = KazooClient(zk.hosts)
    for method in (zk.expire, zk.cut, lambda who: zk.drop_reply(client=who)):
        with pytest.raises(rumpus.UsageError, match="not connected"):
            method(client)
    client.close()


def test_a_session_that_does_not_exist_is_refused(zk):
    with pytest.raises(rumpus.UsageError, match="no session 0x1234"):
        zk.expire(NO_SESSION)
    with pytest.raises(rumpus.UsageError, match="0x1234 has no connection"):
        zk.cut(NO_SESSION)


@pytest.mark.usefixtures("app")
def test_without_a_majority_no_session_is_ended(zk):
    for node in zk.nodes[1:]:
        zk.kill(node)
    eventually(lambda: zk.leader is None)
    with pytest.raises(TimeoutError, match="no server leads"):
        zk.expire(next(iter(zk.dump().sessions)), timeout=0.05)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda zk: zk.drop_reply("crate"), "no request is called 'crate'.*create"),
        (lambda zk: zk.drop_reply("create", number=0), "counted from 1"),
        (lambda zk: zk.partition(), "servers on both sides"),
        (lambda zk: zk.partition("n1", "n2", "n3"), "servers on both sides"),
    ],
)
def test_what_makes_no_sense_is_refused(zk, call, words):
    with pytest.raises(rumpus.UsageError, match=words):
        call(zk)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"nodes": 0}, "nodes: 0 is not from 1 to 9"),
        ({"nodes": 10}, "nodes: 10"),
        ({"tick": 0.001}, "tick: 0.001"),
        ({"ensemble": "mesos"}, "no ensemble is called 'mesos'"),
        ({"ensemble": "sim", "image": "zookeeper"}, "no image"),
        ({"version": "3.9"}, "behave as ZooKeeper 3.8.0.* leave version out"),
        ({"ensemble": "docker", "version": "3.7"}, "version 3.7: there is no ZooKeeper '3.7'"),
        ({"ensemble": "docker", "version": "3.9", "image": "zookeeper"}, "leave one out"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, words):
    with pytest.raises(rumpus.UsageError, match=words), rumpus.zookeeper(**arguments):
        pass


# -- the block -------------------------------------------------------------------------------


def test_two_clusters_at_once_know_nothing_of_each_other(zk, app):
    with rumpus.zookeeper(nodes=1) as other, application(other.hosts) as client:
        app.kazoo.create("/here")
        client.kazoo.create("/there")
        assert list(zk.dump().znodes) == ["/here"]
        assert list(other.dump().znodes) == ["/there"]
        zk.expire(app.kazoo)
        assert client.states == ["CONNECTED"]


def test_many_clusters_can_start_at_once():
    hosts = []

    def start():
        with rumpus.zookeeper() as zk, application(zk.hosts) as app:
            app.kazoo.create("/a")
            hosts.append(zk.hosts)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(hosts)) == 8


@pytest.mark.parametrize("ending", [None, RuntimeError, KeyboardInterrupt])
def test_nothing_is_left_after_the_block(ending):
    before = descriptors(), threading.active_count()
    block = rumpus.zookeeper()
    host, _, port = block.__enter__().address("n1").partition(":")
    assert ask((host, int(port)))
    error = ending and ending()
    assert not block.__exit__(ending, error, None) or ending is None
    assert (descriptors(), threading.active_count()) == before
    assert ask((host, int(port))) is None


def test_nothing_is_left_if_it_is_interrupted_while_starting(monkeypatch):
    before = descriptors(), threading.active_count()

    class Interrupted(KeyboardInterrupt):
        pass

    def attach(*_):
        raise Interrupted

    monkeypatch.setattr("rumpus.testing.simulated_servers.SimulatedServers.attach", attach)
    with pytest.raises(Interrupted), rumpus.zookeeper():
        pass
    assert (descriptors(), threading.active_count()) == before


def test_a_defect_of_the_servers_ends_all_calls_and_is_raised():
    def fail():
        raise ArithmeticError("a defect")

    block = rumpus.zookeeper()
    zk = block.__enter__()
    sockets = zk._servers._sockets
    sockets.call(fail)
    assert sockets.ended.wait(20)
    with pytest.raises(WorldEnded, match="have ended"):
        zk.dump()
    with pytest.raises(ArithmeticError, match="a defect"):
        block.__exit__(None, None, None)


def test_threads_may_share_the_handle(zk):
    errors = []

    def use(node):
        try:
            for _ in range(10):
                zk.pause(node)
                zk.dump()
                zk.resume(node)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=use, args=(node,)) for node in zk.nodes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    zk.await_service()


def test_a_connection_proves_a_bounded_number_of_identities(zk):
    host, _, port = zk.hosts.partition(",")[0].partition(":")

    def frame(content):
        return struct.pack(">i", len(content)) + content

    def answer(stream):
        (length,) = struct.unpack(">i", stream.read(4))
        return stream.read(length)

    with (
        socket.create_connection((host, int(port)), timeout=20) as client,
        client.makefile("rb") as stream,
    ):
        client.sendall(frame(bytes(Connect(0, 0, 10_000, 0, bytes(16), False).serialize())))
        answer(stream)
        for number in range(1, MOST_IDENTITIES + 1):
            proof = Auth(0, "digest", f"u{number}:p")
            client.sendall(frame(struct.pack(">ii", -4, proof.type) + bytes(proof.serialize())))
            if number < MOST_IDENTITIES:  # the address is one, too
                assert answer(stream)[12:] == bytes(4)
        assert stream.read() == b""
