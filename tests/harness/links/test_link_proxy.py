"""What links do, by a proxy on real sockets and by gates in a simulated network alike."""

import struct
import time

import pytest
from kazoo.protocol.serialization import (
    CheckVersion,
    Connect,
    Create,
    Delete,
    Exists,
    Transaction,
)
from kazoo.security import OPEN_ACL_UNSAFE

from tests.harness.conftest import ProcessWires
from tests.harness.links.packets import event, frame, reply, request
from tests.harness.sim_wires import SimWires

CREATE = Create("/lock/lock-", b"me", OPEN_ACL_UNSAFE, 3)
ASK = Exists("/lock", None)

SILENT_TO_NEW = ["black-hole", "to-server", "half-open"]
WORLDS = {"processes": ProcessWires, "simulated": SimWires}
processes_only = pytest.mark.parametrize("wires", ["processes"], indirect=True)


@pytest.fixture(params=WORLDS)
def wires(request):
    playing = WORLDS[request.param]()
    yield playing
    playing.close()


def connect(timeout, seen=0):
    return frame(Connect(0, seen, timeout, 0, bytes(16), read_only=False).serialize())


def connected(timeout):
    return frame(struct.pack(">iiq", 0, timeout, 99) + struct.pack(">i", 16) + bytes(16) + b"\0")


def session(wires, client=0, node="n1"):
    """A connection on which the handshake of a session is done."""
    ends = dialled, server = wires.pair(client, node)
    passes(wires, dialled, server, connect(4000))
    passes(wires, server, dialled, connected(4000))
    return ends


def passes(wires, source, target, data):
    source.sendall(data)
    assert wires.read(target, len(data)) == data


def vanishes(wires, source, target, data, client=0):
    before = wires.links.swallowed(client)
    source.sendall(data)
    wires.eventually(lambda: wires.links.swallowed(client) == before + len(data))
    assert wires.silent(target)


# Cuts of connections that are there


def test_a_black_hole_takes_bytes_both_ways_and_ends_in_resets(wires):
    client, server = wires.pair()
    passes(wires, client, server, b"before")
    wires.links.cut(0, "black-hole")
    assert wires.links.in_force(0) == dict.fromkeys(wires.nodes, "black-hole")
    vanishes(wires, client, server, b"lost")
    vanishes(wires, server, client, b"lost as well")
    wires.links.heal(0)
    assert wires.links.in_force(0) == {}
    assert wires.was_reset(client)
    assert wires.was_reset(server)
    passes(wires, *wires.pair(), b"after")


def test_a_connection_that_lost_nothing_lives_on_after_the_cut(wires):
    client, server = wires.pair()
    wires.links.cut(0, "black-hole")
    wires.links.heal()
    passes(wires, client, server, b"as if nothing had been")


@pytest.mark.parametrize("how", ["black-hole", "to-server"])
def test_hanging_up_is_not_seen_on_the_other_side_of_a_cut(wires, how):
    client, server = wires.pair()
    wires.links.cut(0, how)
    before = wires.links.swallowed(0)
    client.sendall(b"x")
    client.close()
    wires.eventually(lambda: wires.links.swallowed(0) > before)
    vanishes_after_the_end(wires)
    assert wires.silent(server)
    wires.links.heal(0)
    assert wires.was_reset(server)


def vanishes_after_the_end(wires):
    """Let the proxy take whatever came before this: a second connection's bytes come later."""
    before = wires.links.swallowed(0)
    wires.dial(0, "n2").sendall(b"later")
    wires.eventually(lambda: wires.links.swallowed(0) >= before + len(b"later"))


def test_a_connection_that_lost_only_its_end_is_reset_too(wires):
    client, server = session(wires)
    wires.links.cut(0, "to-server")
    client.close()
    wires.eventually(lambda: wires.links.connected_to(0) is None)
    assert wires.silent(server)
    wires.links.heal(0)
    assert wires.was_reset(server)


def test_the_servers_hanging_up_is_not_seen_through_a_black_hole(wires):
    client, server = wires.pair()
    wires.links.cut(0, "black-hole")
    server.close()
    vanishes_after_the_end(wires)
    assert wires.silent(client)


def test_a_server_may_hang_up_while_nothing_reaches_it(wires):
    client, server = wires.pair()
    wires.links.cut(0, "to-server")
    server.close()
    assert client.recv(1) == b""


def test_one_way_to_the_server(wires):
    client, server = wires.pair()
    wires.links.cut(0, "to-server")
    vanishes(wires, client, server, b"lost")
    passes(wires, server, client, b"comes")
    wires.links.heal(0)
    assert wires.was_reset(client)


def test_one_way_to_the_client(wires):
    client, server = wires.pair()
    wires.links.cut(0, "to-client")
    vanishes(wires, server, client, b"lost")
    passes(wires, client, server, b"comes")
    fresh, accepted = wires.pair()  # a new one reaches the server, and hears nothing
    passes(wires, fresh, accepted, b"comes")
    vanishes(wires, accepted, fresh, b"lost")
    wires.links.heal(0)
    assert wires.was_reset(server)
    assert wires.was_reset(fresh)


def test_reset_breaks_what_is_there_and_refuses_what_comes(wires):
    client, server = wires.pair()
    wires.links.cut(0, "reset")
    assert wires.was_reset(client)
    assert wires.was_reset(server)
    before = wires.links.swallowed(0)
    assert wires.is_refused()
    assert wires.links.swallowed(0) == before + 1
    assert wires.nobody_called()
    wires.links.heal(0)
    passes(wires, *wires.pair(), b"after")


def test_half_open_closes_the_servers_side_only(wires):
    client, server = wires.pair()
    wires.links.cut(0, "half-open")
    assert server.recv(1) == b""
    assert wires.silent(client)
    before = wires.links.swallowed(0)
    client.sendall(b"anyone?")
    wires.eventually(lambda: wires.links.swallowed(0) == before + 7)
    assert wires.silent(client)
    wires.links.heal(0)
    assert wires.was_reset(client)


@pytest.mark.parametrize("how", SILENT_TO_NEW)
def test_new_connections_into_the_cut_are_silent_until_healed(wires, how):
    wires.links.cut(0, how)
    client = wires.dial()
    wires.eventually(lambda: wires.links.swallowed(0) == 1)
    client.sendall(b"hello")
    wires.eventually(lambda: wires.links.swallowed(0) == 6)
    assert wires.silent(client)
    assert wires.nobody_called()
    wires.links.heal(0)
    assert wires.was_reset(client)


def test_a_cut_concerns_only_its_client_and_its_nodes(wires):
    cut, cut_server = wires.pair(0, "n1")
    other_node = wires.pair(0, "n2")
    other_client = wires.pair(1, "n1")
    wires.links.cut(0, "black-hole", ["n1"])
    assert wires.links.in_force(0) == {"n1": "black-hole"}
    assert wires.links.in_force(1) == {}
    vanishes(wires, cut, cut_server, b"lost")
    passes(wires, *other_node, b"comes")
    passes(wires, *other_client, b"comes")
    assert wires.links.swallowed(1) == 0


def test_a_cut_replaces_the_one_before_on_the_same_links(wires):
    spoilt, _ = wires.pair(0, "n1")
    wires.links.cut(0, "black-hole")
    spoilt.sendall(b"lost")
    wires.eventually(lambda: wires.links.swallowed(0) == 4)
    wires.links.cut(0, "to-client", ["n1"])
    assert wires.links.in_force(0) == {"n1": "to-client", "n2": "black-hole", "n3": "black-hole"}
    assert wires.was_reset(spoilt)


def test_the_same_cut_again_changes_nothing(wires):
    client, server = wires.pair()
    wires.links.cut(0, "black-hole")
    vanishes(wires, client, server, b"lost")
    wires.links.cut(0, "black-hole")
    vanishes(wires, client, server, b"lost")


def test_healing_one_client_leaves_the_other_cut(wires):
    wires.links.cut(0, "reset")
    wires.links.cut(1, "reset")
    wires.links.heal(0)
    assert wires.links.in_force(0) == {}
    assert len(wires.links.in_force(1)) == 3
    wires.links.heal()
    assert wires.links.in_force(1) == {}


# Delay


@processes_only
def test_delay_holds_every_byte_back_and_keeps_the_order(wires):
    client, server = wires.pair()
    wires.links.delay(0, 60)
    assert wires.links.delays(0) == dict.fromkeys(wires.nodes, 60)
    assert wires.links.delays(1) == {}
    for source, target in ((client, server), (server, client)):
        began = time.monotonic()
        for piece in (b"one ", b"two ", b"three"):
            source.sendall(piece)
        assert wires.read(target, 13) == b"one two three"
        assert time.monotonic() - began >= 0.06


@processes_only
def test_ending_a_delay_lets_go_at_once_what_was_held_back(wires):
    client, server = wires.pair()
    wires.links.delay(0, 3_600_000, ["n1"])
    assert wires.links.delays(0) == {"n1": 3_600_000}
    client.sendall(b"held")
    other = wires.pair(0, "n2")
    passes(wires, *other, b"not delayed, and later")  # so the proxy has what came before
    assert wires.silent(server)
    wires.links.delay(0, 0)
    assert wires.read(server, 4) == b"held"
    passes(wires, client, server, b"and more")


@processes_only
def test_another_delay_lets_nothing_go_before_its_time(wires):
    client, server = wires.pair()
    passes(wires, client, server, b"not delayed")
    wires.links.delay(0, 3_600_000, ["n1"])
    client.sendall(b"held")
    passes(wires, *wires.pair(0, "n2"), b"later")
    wires.links.delay(0, 1_800_000, ["n1"])
    assert wires.silent(server)
    wires.links.delay(0, 1, ["n1"])
    assert wires.read(server, 4) == b"held"


def delayed(wires, data):
    """Both ends of a connection whose client has sent bytes that come an hour later."""
    client, server = wires.pair()
    wires.links.delay(0, 3_600_000, ["n1"])
    client.sendall(data)
    return client, server


@processes_only
def test_healing_ends_a_delay_and_an_end_is_delayed_like_bytes(wires):
    client, server = delayed(wires, b"last")
    client.close()
    passes(wires, *wires.pair(0, "n2"), b"later")
    assert wires.silent(server)
    wires.links.heal()
    assert wires.read(server, 5) == b"last"


@processes_only
def test_a_cut_takes_what_is_under_way(wires):
    _client, server = delayed(wires, b"under way")
    passes(wires, *wires.pair(0, "n2"), b"later")
    wires.links.cut(0, "black-hole", ["n1"])
    wires.eventually(lambda: wires.links.swallowed(0) == 9)
    wires.links.heal()
    assert wires.was_reset(server)


# Lost reply


def answered(wires, client, server, *, swallow=False):
    """A create's request passes; returns whether its answer did."""
    before = wires.links.swallowed(0)
    passes(wires, client, server, request(3, CREATE))
    server.sendall(reply(3, b"path"))
    if swallow:
        wires.eventually(lambda: wires.links.swallowed(0) == before + len(reply(3, b"path")))
        return False
    return wires.read(client, len(reply(3, b"path"))) == reply(3, b"path")


def test_the_reply_to_the_next_create_is_lost_once(wires):
    client, server = session(wires)
    wires.links.cut(0, "lost-reply")
    passes(wires, client, server, request(1, ASK))
    passes(wires, server, client, reply(1))
    passes(wires, client, server, request(2, Delete("/x", -1)))
    passes(wires, server, client, reply(2))
    assert wires.links.in_force(0) == dict.fromkeys(wires.nodes, "lost-reply")
    assert not answered(wires, client, server, swallow=True)
    assert wires.was_reset(client)
    assert wires.was_reset(server)
    assert wires.links.in_force(0) == {}
    for node in wires.nodes:
        assert answered(wires, *session(wires, node=node))
    assert wires.links.swallowed(0) == len(reply(3, b"path"))


def test_a_create_before_the_cut_is_not_meant(wires):
    client, server = session(wires)
    passes(wires, client, server, request(3, CREATE))
    wires.links.cut(0, "lost-reply")
    passes(wires, server, client, reply(3, b"path"))
    assert wires.links.swallowed(0) == 0
    assert not answered(wires, client, server, swallow=True)


def test_a_handshake_is_no_create_though_its_zxid_looks_like_one(wires):
    wires.links.cut(0, "lost-reply")
    client, server = wires.pair()
    handshake = connect(4000, seen=(1 << 32) + 5)  # the epoch stands where opcodes do
    passes(wires, client, server, handshake)
    passes(wires, server, client, connected(4000))
    assert not answered(wires, client, server, swallow=True)


def test_a_multi_that_changes_something_is_meant(wires):
    client, server = session(wires)
    wires.links.cut(0, "lost-reply")
    passes(wires, client, server, request(4, Transaction([CheckVersion("/x", 1)])))
    passes(wires, server, client, reply(4))
    passes(wires, client, server, request(5, Transaction([CheckVersion("/x", 1), CREATE])))
    server.sendall(reply(5))
    assert wires.was_reset(client)


def test_what_came_before_the_lost_reply_passes_though_split_anywhere(wires):
    first, second, lost = reply(2, b"first"), event(2, "/lock/a"), reply(3, b"the lost one")
    stream = first + second + lost
    for split in range(1, len(stream)):
        client, server = session(wires)
        wires.links.cut(0, "lost-reply")
        before = wires.links.swallowed(0)
        passes(wires, client, server, request(2, ASK) + request(3, CREATE))
        server.sendall(stream[:split])
        whole = sum(len(f) for f in (first, second) if stream.index(f) + len(f) <= split)
        assert wires.read(client, whole) == stream[:whole]
        server.sendall(stream[split:])
        wires.eventually(lambda b=before: wires.links.swallowed(0) == b + len(lost))
        assert wires.was_reset(server)
        assert (first + second).startswith(stream[:whole] + until_reset(client))


def until_reset(sock):
    """What was there to read before the reset, which must come."""
    data = b""
    try:
        while more := sock.recv(1 << 16):
            data += more
    except ConnectionResetError:
        return data
    return pytest.fail("it ended in order")


def test_a_request_in_pieces_is_recognised(wires):
    client, server = session(wires)
    wires.links.cut(0, "lost-reply")
    for byte in request(3, CREATE):
        passes(wires, client, server, bytes([byte]))
    server.sendall(reply(3, b"path"))
    assert wires.was_reset(client)


def test_the_shot_stays_armed_when_the_connection_dies_before_the_reply(wires):
    client, server = session(wires)
    wires.links.cut(0, "lost-reply")
    passes(wires, client, server, request(3, CREATE))
    server.close()
    assert client.recv(1) == b""
    client.close()
    wires.eventually(lambda: wires.links.connected_to(0) is None)
    assert len(wires.links.in_force(0)) == 3
    assert wires.links.swallowed(0) == 0
    assert not answered(wires, *session(wires, node="n2"), swallow=True)
    assert wires.links.in_force(0) == {}


def test_only_one_of_two_connections_loses_a_reply(wires):
    first, second = session(wires, node="n1"), session(wires, node="n2")
    wires.links.cut(0, "lost-reply")
    passes(wires, *first, request(3, CREATE))
    assert answered(wires, *second)
    first[1].sendall(reply(3))
    assert wires.was_reset(first[0])
    assert answered(wires, *second)


def test_healing_before_the_reply_lets_it_pass(wires):
    client, server = session(wires)
    wires.links.cut(0, "lost-reply")
    passes(wires, client, server, request(2, ASK) + request(3, CREATE))
    server.sendall(reply(2) + reply(3, b"path")[:9])
    assert wires.read(client, len(reply(2))) == reply(2)
    assert wires.silent(client)  # not even the beginning of the reply has passed
    wires.links.heal(0)
    server.sendall(reply(3, b"path")[9:])
    assert wires.read(client, len(reply(3, b"path"))) == reply(3, b"path")
    assert wires.links.swallowed(0) == 0


def test_four_letter_words_pass_while_a_reply_is_to_be_lost(wires):
    wires.links.cut(0, "lost-reply")
    client, server = wires.pair()
    passes(wires, client, server, b"srvr")
    passes(wires, server, client, b"Zookeeper version: 3.8.0")


# What is seen in passing


def test_watch_events_are_seen_in_order_with_their_times(wires):
    began = wires.monotonic_ns()
    one, two = session(wires, 0), session(wires, 1, "n2")
    passes(wires, one[1], one[0], event(2, "/lock/a") + reply(1) + event(4, "/lock"))
    passes(wires, two[1], two[0], event(1, "/lock/b"))
    seen = wires.links.watch_events()
    assert [(s.client, s.event, s.path) for s in seen] == [
        (0, "deleted", "/lock/a"),
        (0, "child", "/lock"),
        (1, "created", "/lock/b"),
    ]
    times = [began, *(s.time for s in seen), wires.monotonic_ns()]
    assert times == sorted(times)
    assert wires.links.watch_events() == []


def test_many_watch_events_come_in_one_call(wires):
    client, server = session(wires)
    paths = [f"/lock/{'long' * 20}-{number:010}" for number in range(5000)]
    events = b"".join(event(2, path) for path in paths)
    server.sendall(events)
    assert wires.read(client, len(events)) == events
    assert [s.path for s in wires.links.watch_events()] == paths


def test_requests_are_counted_by_kind_and_client_over_all_links(wires):
    client, server = session(wires)
    passes(wires, client, server, request(1, CREATE) + request(2, ASK) + request(3, CREATE))
    whole = request(4, ASK)
    passes(wires, client, server, whole[:7])
    passes(wires, client, server, whole[7:])
    again, behind = session(wires, node="n2")
    passes(wires, again, behind, request(5, CREATE))
    assert wires.links.requests(0) == {"create": 3, "exists": 2}
    assert wires.links.requests(1) == {}


def test_a_request_that_was_swallowed_was_not_carried(wires):
    client, server = session(wires)
    wires.links.cut(0, "black-hole")
    vanishes(wires, client, server, request(1, CREATE))
    assert wires.links.requests(0) == {}


def test_a_watch_event_that_was_swallowed_was_not_seen(wires):
    client, server = session(wires)
    wires.links.cut(0, "to-client")
    vanishes(wires, server, client, event(2, "/lock/a"))
    assert wires.links.watch_events() == []


def test_connected_means_a_session_was_granted(wires):
    assert wires.links.connected_to(0) is None
    client, server = wires.pair(0, "n2")
    passes(wires, client, server, connect(4000))
    assert wires.links.connected_to(0) is None
    passes(wires, server, client, connected(4000))
    assert wires.links.connected_to(0) == "n2"
    assert wires.links.connected_to(1) is None
    newer, _ = session(wires, 0, "n3")
    assert wires.links.connected_to(0) == "n3"
    newer.close()
    wires.eventually(lambda: wires.links.connected_to(0) == "n2")
    server.close()
    wires.eventually(lambda: wires.links.connected_to(0) is None)


def test_an_expired_session_is_no_connection_and_no_answer(wires):
    client, server = wires.pair()
    passes(wires, client, server, connect(4000))
    passes(wires, server, client, connected(0))
    assert wires.links.connected_to(0) is None
    assert wires.links.last_answer(0) is None


def test_the_last_answer_is_the_last_reply_that_passed(wires):
    assert wires.links.last_answer(0) is None
    client, server = session(wires)
    handshake = wires.links.last_answer(0)
    assert handshake is not None
    passes(wires, server, client, event(2, "/lock/a"))
    assert wires.links.last_answer(0) == handshake
    began = wires.monotonic_ns()
    passes(wires, server, client, reply(-2))  # a ping's
    assert began <= wires.links.last_answer(0) <= wires.monotonic_ns()
    pinged = wires.links.last_answer(0)
    wires.links.cut(0, "to-client")
    vanishes(wires, server, client, reply(1))
    assert wires.links.last_answer(0) == pinged
    assert wires.links.last_answer(1) is None


@processes_only
def test_a_delayed_answer_counts_when_it_passes(wires):
    client, server = session(wires)
    handshake = wires.links.last_answer(0)
    wires.links.delay(0, 3_600_000, ["n1"])
    server.sendall(reply(1))
    passes(wires, *wires.pair(0, "n2"), b"later")
    assert wires.links.last_answer(0) == handshake
    wires.links.heal()
    assert wires.read(client, len(reply(1))) == reply(1)
    assert wires.links.last_answer(0) > handshake
