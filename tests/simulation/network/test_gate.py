import errno

import pytest

from rumpus.simulation.kernel.simulator import SECOND
from tests.simulation.network.test_network import World


class Gated(World):
    """A client and a server behind a gate that keeps a record."""

    def __init__(self):
        super().__init__()
        self.gate = self.network.gate("c", ("s", 2181))
        self.seen = []
        self.gate.opened = lambda link: self.seen.append(("opened", link))
        self.gate.to_server = lambda _, chunk: self.see("to server", chunk)
        self.gate.to_client = lambda _, chunk: self.see("to client", chunk)
        self.gate.hung_up = self.hang_up

    def see(self, way, chunk):
        self.seen.append((way, chunk))
        return chunk

    def hang_up(self, _, *, by_client):
        self.seen.append(("hung up", by_client))
        return True

    def through(self):
        client, server = self.connected()
        (link,) = self.gate.links
        assert self.seen.pop(0) == ("opened", link)
        return client, server, link


@pytest.fixture
def world():
    world = Gated()
    yield world
    world.simulator.close()


def test_a_gate_sees_what_passes(world):
    client, server, _ = world.through()
    client.transport.write(b"question")
    world.run(SECOND)
    server.transport.write(b"answer")
    world.run(SECOND)
    client.transport.close()
    world.run(SECOND)
    server.transport.close()
    world.run(SECOND)
    assert world.seen == [
        ("to server", b"question"),
        ("to client", b"answer"),
        ("hung up", True),
        ("hung up", False),
    ]
    assert (server.data, server.eof, client.data) == (b"question", True, b"answer")
    assert not world.gate.links


def test_other_connections_do_not_pass_it(world):
    other = world.simulator.process("d")
    world.network.connect(other, ("s", 2181), world.opened, world.failed)
    world.run(SECOND)
    world.clients[0].transport.write(b"x")
    world.run(SECOND)
    assert world.accepted[0].data == b"x"
    assert not world.seen
    world.network.remove_gate("c", ("s", 2181))
    world.connected()
    assert not world.seen


def test_what_a_gate_keeps_it_can_pass_later(world):
    client, server, link = world.through()
    kept = []
    world.gate.to_client = lambda _, chunk: (kept.append(chunk), b"")[1]
    world.gate.to_server = lambda _, chunk: chunk[:1]
    client.transport.write(b"ab")
    server.transport.write(b"cd")
    world.run(SECOND)
    assert (server.data, client.data, kept) == (b"a", b"", [b"cd"])
    link.pass_to_client(kept[0])
    link.pass_to_server(b"b")
    world.run(SECOND)
    assert (server.data, client.data) == (b"ab", b"cd")


def test_a_frozen_client_gets_what_passed_when_it_thaws(world):
    client, server, _ = world.through()
    world.client_process.freeze()
    server.transport.write(b"a")
    world.run(SECOND)
    server.transport.write(b"b")
    world.run(SECOND)
    assert world.seen == [("to client", b"a"), ("to client", b"b")]
    assert client.data == b""
    world.client_process.thaw()
    world.run(SECOND)
    assert client.data == b"ab"


def test_a_link_can_be_reset(world):
    client, server, link = world.through()
    link.reset()
    world.run(SECOND)
    assert client.lost == server.lost == [errno.ECONNRESET]
    assert not world.gate.links


def test_a_link_reset_from_a_callback_lets_nothing_more_pass(world):
    client, server, link = world.through()

    def stop(_, __):
        link.reset()
        return b""

    world.gate.to_server = stop
    client.transport.write(b"request")
    client.transport.write(b"another")
    world.run(SECOND)
    assert server.data == b""
    assert client.lost == server.lost == [errno.ECONNRESET]


def test_the_servers_side_alone_can_be_closed(world):
    client, server, link = world.through()
    link.close_server_side()
    world.run(SECOND)
    assert server.eof
    client.transport.write(b"into nothing")
    server.transport.write(b"too late")
    world.run(SECOND)
    assert server.data == client.data == b""
    assert server.lost == [errno.ECONNRESET]
    assert client.lost == []
    assert not client.eof


def test_hang_ups_can_be_kept_from_the_other_side(world):
    client, server, _ = world.through()
    world.gate.hung_up = lambda _, by_client: not by_client
    client.transport.abort()
    world.run(SECOND)
    assert server.lost == []
    client, server = world.connected()
    client.transport.close()
    world.run(SECOND)
    assert not server.eof
    client, server = world.connected()
    server.transport.abort()
    world.run(SECOND)
    assert client.lost == [errno.ECONNRESET]


def test_a_connection_that_is_not_admitted_is_open_and_silent(world):
    world.gate.admit = lambda _: False
    world.listener.close()  # it does not matter whether anybody listens
    world.connect()
    world.run(SECOND)
    (client,) = world.clients
    client.transport.write(b"anybody?")
    world.run(1000 * SECOND)
    assert world.seen[1:] == [("to server", b"anybody?")]
    assert not world.accepted
    assert client.lost == []
    (link,) = world.gate.links
    link.reset()
    world.run(SECOND)
    assert client.lost == [errno.ECONNRESET]
    assert not world.gate.links


def test_an_admitted_connection_is_refused_if_nobody_listens(world):
    world.listener.close()
    world.connect()
    world.run(SECOND)
    assert [error for _, error in world.failures] == [errno.ECONNREFUSED]
    assert not world.gate.links
    assert not world.network.path("c", "s").senders
    assert not world.seen


def test_what_a_gate_keeps_counts_for_its_sender(world):
    _, server, link = world.through()
    world.gate.kept = lambda _, *, to_server: 7 if to_server else 30
    client = link.client
    assert (server.transport.kept(), client.kept()) == (30, 7)
    client.pause_reading()
    server.transport.write(b"answer")
    world.run(SECOND)
    assert (server.transport.untaken(), server.transport.kept()) == (6, 36)
    server.transport.discard()
    assert {what for what in world.seen if what[0] == "hung up"} == {
        ("hung up", False),
        ("hung up", True),
    }
