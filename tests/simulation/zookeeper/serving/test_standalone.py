import struct

import pytest

from rumpus.conformance import operations as op
from rumpus.conformance.raw_client import Closed
from rumpus.simulation.zookeeper.serving.session_ids import password
from tests.simulation.zookeeper.raw_client import CLIENT_HOST, World


def done(reply):
    assert reply.error == 0
    return reply.value


def test_ids_count_up_and_carry_the_password_that_any_server_knows(world):
    first, second = world.session(), world.session()
    assert second.session == first.session + 1
    assert first.session >> 56 == 1
    assert first.password == password(first.session)


@pytest.mark.parametrize(
    ("connected", "timeout", "closed"),
    [(0, 4000, 6000), (1500, 4000, 6000), (2500, 4000, 8000), (0, 5000, 6000), (100, 7000, 8000)],
)
def test_an_idle_session_ends_at_its_bucket(world, connected, timeout, closed):
    world.run_for(connected)
    client = world.session(timeout_ms=timeout)
    other = world.session(timeout_ms=40_000)
    done(client.call(op.create("/e", flags=1)))
    assert client.closed_silently(within=20)
    # Buckets end at multiples of the tick, which the world's beginning is; the end takes a while.
    assert closed / 1000 < world.clock.now() < closed / 1000 + 0.003
    assert other.call(op.exists("/e")).error == -101
    refused = world.connect()
    assert not refused.handshake(session=client.session, password=client.password).valid


def test_any_request_keeps_a_session_alive(world):
    client = world.session(timeout_ms=4000)
    for _ in range(20):
        world.run_for(3900)
        done(client.call(op.ping()))
    assert client.quiet(3.5)
    assert client.closed_silently(within=3)


def test_a_dropped_connection_leaves_the_session_until_it_expires(world):
    client = world.session(timeout_ms=4000)
    done(client.call(op.create("/e", flags=1)))
    client.hang_up()
    world.run_for(3000)
    again = world.reattach(client, timeout_ms=4000)
    done(again.call(op.exists("/e")))
    again.hang_up()
    world.run_for(8000)
    assert world.session().call(op.exists("/e")).error == -101


def test_a_reattached_session_is_gone_from_its_old_connection(world):
    old = world.session()
    done(old.call(op.create("/watched")))
    done(old.call(op.get_data("/watched", watch=True)))
    new = world.reattach(old, timeout_ms=30_000)
    assert (new.session, new.password, new.timeout_ms) == (old.session, old.password, 30_000)
    assert old.closed_silently()
    done(new.call(op.set_data("/watched", b"x")))
    assert new.quiet()


def test_pipelined_requests_are_answered_in_order(world):
    client = world.session()
    done(client.call(op.create("/p")))
    for number in range(300):
        if number % 3:
            client.send(op.get_data("/p"))
        else:
            client.send(op.set_data("/p", str(number).encode()))
    for number in range(300):
        value = done(client.receive())
        if number % 3:
            data, stat = value
            assert data == str(number - number % 3).encode()
            assert stat.version == number // 3 + 1


def test_frames_may_come_in_any_pieces(world):
    client = world.connect()
    world.network.fragment(CLIENT_HOST, "n1", 0.9)
    client.handshake()
    for number in range(50):
        client.send(op.create(f"/f{number}", b"x" * (number * 40)))
    for number in range(50):
        assert done(client.receive()) == f"/f{number}"
    assert world.network.path(CLIENT_HOST, "n1").fragmentation == 0.9


def test_requests_behind_the_handshake_wait_for_its_answer(world):
    client = world.connect()
    client.ask_for_session()
    client.send(op.create("/early"))
    client.send(op.exists("/early"))
    assert client.receive_handshake().valid
    assert done(client.receive()) == "/early"
    done(client.receive())


def test_a_connection_over_the_limit_is_not_read_until_others_are_answered():
    world = World(global_outstanding_limit=5)
    world.start()
    client = world.session()
    most = 0
    for number in range(100):
        client.send(op.create(f"/t{number}"))
    server = world.cluster.programs["n1"].server
    while not most or server.in_process:
        world.run_for(0.01)
        most = max(most, server.in_process)
    assert 5 < most < 10
    for number in range(100):
        assert done(client.receive()) == f"/t{number}"


def test_everything_acknowledged_is_there_after_a_kill(world):
    client = world.session()
    done(client.call(op.create("/s")))
    for _ in range(3):
        done(client.call(op.create("/s/n-", flags=2)))
    done(client.call(op.create("/e", flags=1)))
    zxid = client.last_zxid
    world.cluster.kill("n1")
    assert client.closed_silently()
    with pytest.raises(ConnectionRefusedError):
        world.connect()
    world.run_for(60_000)
    world.start()
    again = world.reattach(client)
    assert done(again.call(op.exists("/e"))).ephemeral_owner == client.session
    reply = again.call(op.create("/s/n-", flags=2))
    assert (reply.value, reply.zxid) == ("/s/n-0000000003", zxid + 1)


def test_an_acknowledged_write_survives_a_power_failure(world):
    for attempt in range(20):
        client = world.session()
        done(client.call(op.create(f"/p{attempt}")))
        for number in range(10):
            client.send(op.create(f"/p{attempt}/{number}"))
        acknowledged = [done(client.receive()) for _ in range(attempt % 10)]
        world.cluster.power_off("n1")
        assert not world.cluster.running("n1")
        world.start()
        assert world.cluster.running("n1"), world.cluster.exit_reason("n1")
        survivor = world.session()
        for path in acknowledged:
            done(survivor.call(op.exists(path)))


def test_downtime_expires_no_session_and_each_gets_its_first_timeout_afresh(world):
    client = world.session(timeout_ms=4000)
    again = world.reattach(client, timeout_ms=10_000)
    done(again.call(op.create("/e", flags=1)))
    world.cluster.kill("n1")
    world.run_for(30_500)
    world.start()
    started = world.clock.now()
    observer = world.session(timeout_ms=40_000)
    world.run_for(4000)
    done(observer.call(op.exists("/e")))
    world.run_for(2000)
    assert observer.call(op.exists("/e")).error == -101
    assert world.clock.now() - started < 6.1


def test_a_server_whose_log_cannot_be_synced_ends(world):
    client = world.session()
    world.cluster.disks["n1"].fail_sync()
    client.send(op.create("/lost"))
    assert client.closed_silently()
    assert not world.cluster.running("n1")
    assert "log" in (world.cluster.exit_reason("n1") or "")


def test_a_frozen_server_goes_on_with_what_has_come_meanwhile(world):
    client = world.session(timeout_ms=30_000)
    world.cluster.pause("n1")
    assert not world.cluster.serves("n1")
    client.send(op.create("/x"))
    assert client.quiet(5)
    world.cluster.resume("n1")
    assert done(client.receive()) == "/x"


def test_used_up_containers_go_at_the_next_minute(world):
    client = world.session(timeout_ms=40_000)
    done(client.call(op.create_container("/used")))
    done(client.call(op.create_container("/fresh")))
    done(client.call(op.create("/used/child")))
    done(client.call(op.delete("/used/child")))
    done(client.call(op.exists("/used", watch=True)))
    client.channel.send(b"")
    while world.clock.now() < 59.5:
        world.run_for(5000 if world.clock.now() < 54 else 500)
        done(client.call(op.exists("/used")))
    zxid = client.last_zxid
    assert client.await_events(1) == [(2, "/used")]
    assert world.clock.now() == pytest.approx(60, abs=0.01)
    reply = client.call(op.exists("/used"))
    assert (reply.error, reply.zxid) == (-101, zxid + 1)
    done(client.call(op.exists("/fresh")))


def test_ttl_nodes_go_once_their_time_is_over():
    world = World(extended_types=True)
    world.start()
    client = world.session(timeout_ms=40_000)
    done(client.call(op.create_ttl("/short", ttl_ms=70_000)))
    done(client.call(op.create_ttl("/renewed", ttl_ms=70_000)))
    for gone, at in ((False, 70), (True, 130)):
        while world.clock.now() < at:
            world.run_for(10_000)
            done(client.call(op.set_data("/renewed", b"x")))
        assert (client.call(op.exists("/short")).error == -101) is gone
    done(client.call(op.exists("/renewed")))


def test_connections_without_a_handshake_are_closed_after_10_to_20_seconds(world):
    world.run_for(3000)
    silent = world.connect()
    assert silent.quiet(10)
    assert silent.closed_silently(within=7.1)
    assert world.clock.now() == pytest.approx(20, abs=0.01)


def test_a_host_may_have_60_connections(world):
    clients = [world.session() for _ in range(60)]
    assert world.connect().closed_silently()
    clients[0].hang_up()
    world.run_for(10)
    done(world.session().call(op.ping()))


def test_a_session_that_its_client_closes_takes_its_nodes_along(world):
    client, other = world.session(), world.session()
    done(client.call(op.create("/e", flags=1)))
    done(client.call(op.exists("/e", watch=True)))
    done(other.call(op.exists("/e", watch=True)))
    client.send(op.close_session())
    client.send(op.exists("/"))
    reply = client.receive()
    assert (reply.error, reply.events) == (0, [(2, "/e")])
    assert client.closed_silently()
    assert other.await_events(1) == [(2, "/e")]
    assert other.call(op.exists("/e")).zxid == reply.zxid


def test_a_client_that_does_not_read_holds_no_one_up(world):
    deaf, other = world.session(), world.session()
    done(other.call(op.create("/big", b"x" * 1_000_000)))
    deaf.channel.transport.pause_reading()
    for _ in range(20):
        deaf.send(op.get_data("/big"))
    for _ in range(5):
        done(other.call(op.set_data("/big", b"y")))
    deaf.channel.transport.resume_reading()
    for _ in range(20):
        assert len(done(deaf.receive())[0]) in {1, 1_000_000}


def test_a_negative_length_closes_the_connection(world):
    client = world.session()
    client.send_bytes(struct.pack(">i", -5))
    with pytest.raises(Closed):
        client.receive()


def run(seed):
    world = World(seed=seed)
    world.start()
    clients = [world.session(timeout_ms=4000) for _ in range(3)]
    for number in range(30):
        for client in clients:
            client.send(op.create("/d-", str(number).encode(), flags=3))
    for client in clients:
        for _ in range(30):
            done(client.receive())
    world.cluster.restart("n1")
    world.run_for(20_000)
    assert world.session().call(op.get_children("/")).value == ["zookeeper"]
    digest = world.simulator.digest()
    world.tear_down()
    return digest


def test_the_same_seed_gives_the_same_world():
    assert run(1) == run(1)
    assert run(1) != run(2)


def test_an_idle_server_costs_next_to_nothing(world):
    client = world.session(timeout_ms=4000)
    client.hang_up()
    world.run_for(30_000)
    before = world.simulator.events
    world.run_for(3_600_000)
    assert world.simulator.events - before == 60  # looks for used-up containers


@pytest.mark.parametrize("real", [False, True])
def test_events_of_one_moment_reach_a_real_client_together_and_before_what_comes_behind(real):
    world = World(**({"most_owed": 4 << 20, "most_owed_in_all": 96 << 20} if real else {}))
    world.start()
    client, other = world.session(), world.session()
    chunks = []
    receiver = client.channel.transport.receiver
    receive = receiver.data_received
    receiver.data_received = lambda data: (chunks.append(data), receive(data))
    for path in ("/b", "/a"):
        client.call(op.exists(path, watch=True))
    chunks.clear()
    reply = client.call(op.set_watches(0, data=[f"/{name}" for name in range(100)]))
    assert reply.error == 0
    assert reply.events == [(2, f"/{name}") for name in range(100)]
    assert len(chunks) == (2 if real else 101)
    done(other.call(op.multi([op.create("/a"), op.create("/b")])))
    assert client.await_events(2) == [(1, "/a"), (1, "/b")]
    world.tear_down()
