"""Links that carry another protocol than ZooKeeper's, and nodes with several ports."""

import socket
import time
from contextlib import ExitStack

import pytest

from rumpus.harness.links.link_process import ProcessLinks
from rumpus.recipes.servers import Servers

PLACES = ("n1", "n1:sentinel", "n2", "n2:sentinel")


@pytest.fixture
def listeners():
    open_ones = {place: socket.create_server(("127.0.0.1", 0)) for place in PLACES}
    for each in open_ones.values():
        each.settimeout(10)
    yield open_ones
    for each in open_ones.values():
        each.close()


@pytest.fixture
def links(listeners):
    places = {place: each.getsockname() for place, each in listeners.items()}
    with ProcessLinks(places, clients=1, sessions=False) as running:
        yield running


@pytest.fixture
def connected(links, listeners):
    """Makes both ends of a new connection to a place, which has had its greeting."""
    with ExitStack() as stack:

        def connect(place):
            client = stack.enter_context(socket.create_connection(links.address(0, place)))
            client.settimeout(10)
            client.sendall(b"HELLO\r\n")
            server = stack.enter_context(listeners[place].accept()[0])
            server.settimeout(10)
            assert server.recv(100) == b"HELLO\r\n"
            server.sendall(b"+OK\r\n")
            assert client.recv(100) == b"+OK\r\n"
            return client, server

        yield connect


def test_every_port_of_every_node_has_a_link(links, connected):
    servers = Servers.parse(links.places(0))
    assert list(servers.places) == list(PLACES)
    assert servers.nodes == ["n1", "n2"]
    assert servers.of("sentinel") == {
        node: links.address(0, f"{node}:sentinel") for node in ("n1", "n2")
    }
    for place in PLACES:
        connected(place)


def test_a_node_is_cut_with_all_its_ports(links, connected):
    ends = {place: connected(place)[0] for place in PLACES}
    links.cut(0, "reset", ["n1"])
    assert links.in_force(0) == {"n1": "reset"}
    for place in ("n1", "n1:sentinel"):
        with pytest.raises(ConnectionResetError):
            ends[place].recv(1)
    ends["n2:sentinel"].sendall(b"PING\r\n")
    links.heal(0)
    assert links.in_force(0) == {}


def test_pieces_are_counted_and_no_frame_is_waited_for(links, connected):
    client, server = connected("n1")
    # As the length of a frame the first four bytes are 707 million.
    client.sendall(b"*1\r\n$4\r\nPING\r\n")
    assert server.recv(100) == b"*1\r\n$4\r\nPING\r\n"
    assert links.requests(0) == {"piece": 2}
    assert links.last_answer(0) <= time.monotonic_ns()


def test_a_lost_reply_is_one_to_a_request_and_not_to_the_greeting(links, connected):
    links.cut(0, "lost-reply")
    client, server = connected("n1")
    client.sendall(b"SET\r\n")
    assert server.recv(100) == b"SET\r\n"
    server.sendall(b"+OK\r\n")
    with pytest.raises(ConnectionResetError):
        client.recv(100)
    assert links.in_force(0) == {}
    assert links.swallowed(0) > 0


def test_a_text_that_is_no_list_of_places_is_refused():
    with pytest.raises(ValueError, match="int"):
        Servers.parse("n1=127.0.0.1")
