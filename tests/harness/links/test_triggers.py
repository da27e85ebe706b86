"""What is done at single requests and frames of a client, in both worlds."""

import contextlib

import pytest
from kazoo.protocol.serialization import Delete, Ping

from rumpus.harness.links.triggers import RequestTrigger
from rumpus.simulation.kernel.simulator import MILLISECOND
from tests.harness.links.test_link_proxy import (
    ASK,
    CREATE,
    WORLDS,
    passes,
    processes_only,
    reply,
    request,
    session,
)

DELETE = Delete("/lock/lock-", -1)


@pytest.fixture(params=WORLDS)
def wires(request):
    playing = WORLDS[request.param]()
    yield playing
    playing.close()


def until_reset(sock):
    """What comes before a reset."""
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while more := sock.recv(1 << 16):
            data += more
        raise AssertionError("it ended in order")
    return data


def answered(wires, ends, xid, operation=CREATE):
    client, server = ends
    passes(wires, client, server, request(xid, operation))
    passes(wires, server, client, reply(xid, b"path"))


def test_the_reply_to_the_third_create_is_dropped(wires):
    ends = client, server = session(wires)
    armed = wires.links.arm(0, RequestTrigger("drop-reply", "create", 3))
    answered(wires, ends, 1)
    answered(wires, ends, 2, ASK)
    answered(wires, ends, 3)
    assert armed.acted is None
    passes(wires, client, server, request(4, CREATE))
    server.sendall(reply(4, b"path"))
    assert wires.was_reset(client)
    wires.eventually(lambda: armed.acted is not None)
    answered(wires, session(wires), 5)


def test_requests_are_counted_over_all_links_of_a_client_and_of_no_other(wires):
    here, there, other = session(wires), session(wires, node="n2"), session(wires, 1)
    armed = wires.links.arm(0, RequestTrigger("cut-before", "create", 2))
    answered(wires, other, 1)
    answered(wires, here, 1)
    answered(wires, other, 2)
    there[0].sendall(request(2, CREATE))
    assert wires.was_reset(there[0])
    wires.eventually(lambda: armed.acted is not None)
    answered(wires, here, 3)


def test_cut_before_lets_nothing_of_the_request_pass_but_what_came_before_it(wires):
    client, server = session(wires)
    wires.links.arm(0, RequestTrigger("cut-before", "delete"))
    client.sendall(request(1, ASK) + request(2, DELETE) + request(3, ASK))
    assert until_reset(server) == request(1, ASK)
    assert wires.was_reset(client)


def test_cut_after_lets_the_request_pass_and_nothing_behind_it(wires):
    client, server = session(wires)
    wires.links.arm(0, RequestTrigger("cut-after", "delete"))
    client.sendall(request(1, ASK) + request(2, DELETE) + request(3, ASK))
    assert until_reset(server) == request(1, ASK) + request(2, DELETE)
    assert wires.was_reset(client)


def test_a_reply_is_held_with_all_behind_it_for_its_time(wires):
    client, server = session(wires)
    armed = wires.links.arm(0, RequestTrigger("hold-reply", "delete", 1, 500))
    passes(wires, client, server, request(1, DELETE))
    passes(wires, server, client, reply(7))
    began = wires.monotonic_ns()
    server.sendall(reply(1, b"held"))
    server.sendall(reply(2, b"behind"))
    wires.eventually(lambda: armed.acted is not None)
    assert wires.silent(client)
    both = reply(1, b"held") + reply(2, b"behind")
    assert wires.read(client, len(both)) == both
    assert wires.monotonic_ns() - began >= 500 * MILLISECOND
    passes(wires, server, client, reply(3))


def test_healing_lets_go_what_is_held_and_takes_aims_away(wires):
    ends = client, server = session(wires)
    wires.links.arm(0, RequestTrigger("hold-reply", "delete", 1, 3_600_000))
    wires.links.arm(0, RequestTrigger("cut-before", "create"))
    passes(wires, client, server, request(1, DELETE))
    server.sendall(reply(1, b"held"))
    assert wires.silent(client)
    wires.links.heal(0)
    assert wires.read(client, len(reply(1, b"held"))) == reply(1, b"held")
    answered(wires, ends, 2)


def test_what_is_held_on_a_connection_that_has_gone_is_forgotten(wires):
    client, server = session(wires)
    armed = wires.links.arm(0, RequestTrigger("hold-reply", "delete", 1, 300))
    passes(wires, client, server, request(1, DELETE))
    server.sendall(reply(1, b"held"))
    wires.eventually(lambda: armed.acted is not None)
    client.close()
    server.close()
    began = wires.monotonic_ns()
    wires.eventually(lambda: wires.monotonic_ns() - began >= 500 * MILLISECOND)
    answered(wires, session(wires), 1)


def test_a_trigger_that_is_withdrawn_lets_go_what_it_holds(wires):
    client, server = session(wires)
    armed = wires.links.arm(0, RequestTrigger("hold-reply", "delete", 1, 3_600_000))
    passes(wires, client, server, request(1, DELETE))
    server.sendall(reply(1, b"held"))
    assert wires.silent(client)
    armed.withdraw()
    assert wires.read(client, len(reply(1, b"held"))) == reply(1, b"held")


def test_an_aim_waits_on_when_its_connection_dies_before_the_reply(wires):
    client, server = session(wires)
    armed = wires.links.arm(0, RequestTrigger("drop-reply", "create", 2))
    answered(wires, (client, server), 1)
    passes(wires, client, server, request(2, CREATE))
    client.close()
    server.close()
    assert armed.acted is None
    client, server = session(wires)
    passes(wires, client, server, request(1, CREATE))
    server.sendall(reply(1, b"path"))
    assert wires.was_reset(client)
    wires.eventually(lambda: armed.acted is not None)


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (RequestTrigger("cut-before", "dance"), "no request is called 'dance'"),
        (RequestTrigger("cut-after", number=0), "counted from 1"),
    ],
)
def test_a_trigger_that_makes_no_sense_is_refused(wires, trigger, words):
    with pytest.raises(ValueError, match=words):
        wires.links.arm(0, trigger)


def test_a_delay_holds_back_each_way_and_ends(wires):
    client, server = session(wires)
    wires.links.delay(0, 60, ["n1"])
    began = wires.monotonic_ns()
    passes(wires, client, server, b"there")
    passes(wires, server, client, b"back")
    assert wires.monotonic_ns() - began >= 120 * MILLISECOND
    wires.links.heal()
    began = wires.monotonic_ns()
    passes(wires, client, server, b"there")
    assert wires.monotonic_ns() - began < 20 * MILLISECOND


def test_a_trigger_at_a_frame_counts_both_directions_but_no_heartbeats(wires):
    ends = client, server = session(wires)
    seen = []
    armed = wires.links.arm_frame(0, 3, lambda: seen.append(True))
    passes(wires, client, server, request(-2, Ping()))
    answered(wires, ends, 1)
    assert armed.acted is None
    passes(wires, client, server, request(2, ASK))
    wires.eventually(lambda: armed.acted is not None)
    answered(wires, ends, 3)
    assert seen == [True]


def test_a_request_is_lost_at_its_frame(wires):
    client, server = session(wires)
    wires.links.arm_frame(0, 2, lambda: None, passes=False, resets=True)
    client.sendall(request(1, ASK) + request(2, DELETE) + request(3, ASK))
    assert wires.read(server, len(request(1, ASK))) == request(1, ASK)
    assert wires.was_reset(client)
    assert wires.was_reset(server)
    answered(wires, session(wires), 4)


def test_a_connection_is_reset_after_a_reply_has_passed(wires):
    client, server = session(wires)
    wires.links.arm_frame(0, 2, lambda: None, resets=True)
    passes(wires, client, server, request(1, CREATE))
    server.sendall(reply(1, b"path") + reply(2, b"path"))
    assert wires.read(client, len(reply(1, b"path"))) == reply(1, b"path")
    assert wires.was_reset(client)


def test_what_is_cut_at_a_frame_lets_nothing_behind_it_pass(wires):
    client, server = session(wires)
    wires.links.arm_frame(0, 1, lambda: wires.links.cut(0, "black-hole"))
    client.sendall(request(1, ASK) + request(2, DELETE))
    assert wires.read(server, len(request(1, ASK))) == request(1, ASK)
    assert wires.silent(server)
    assert wires.links.afflicted() == {0}


def test_healing_takes_triggers_at_frames_away(wires):
    ends = session(wires)
    armed = wires.links.arm_frame(0, 1, lambda: None, resets=True)
    wires.links.heal(0)
    answered(wires, ends, 1)
    assert armed.acted is None
    with pytest.raises(ValueError, match="frames are counted from 1"):
        wires.links.arm_frame(0, 0, lambda: None)


def test_frames_are_noted_from_the_first_question_on(wires):
    ends = session(wires)
    answered(wires, ends, 1)
    assert wires.links.frames() == []
    answered(wires, ends, 2, DELETE)
    assert [(each.client, each.what) for each in wires.links.frames()] == [
        (0, "delete"),
        (0, "reply"),
    ]


def test_what_waits_at_a_frame_passes_once_that_is_done(wires):
    """A client is frozen before the frame reaches it, whatever comes behind the frame."""
    client, server = session(wires)
    order = []
    wires.links.arm_frame(0, 2, lambda: order.append(wires.links.swallowed(0)))
    both = request(1, ASK) + request(2, DELETE) + request(3, ASK)
    client.sendall(both)
    assert wires.read(server, len(both)) == both
    assert order == [0]
    passes(wires, server, client, reply(1) + reply(2))


def test_frames_that_come_from_both_sides_at_once_are_each_waited_for(wires):
    client, server = session(wires)
    seen = []
    for number in (1, 2, 3):
        wires.links.arm_frame(0, number, lambda: seen.append(True))
    server.sendall(reply(1) + reply(2))
    client.sendall(request(1, ASK) + request(2, DELETE))
    both = request(1, ASK) + request(2, DELETE)
    assert wires.read(server, len(both)) == both
    assert wires.read(client, len(reply(1)) * 2) == reply(1) + reply(2)
    assert seen == [True] * 3


def test_a_frame_that_comes_in_pieces_waits_as_one(wires):
    client, server = session(wires)
    seen = []
    wires.links.arm_frame(0, 1, lambda: seen.append(True))
    whole = request(1, CREATE)
    for part in (whole[:9], whole[9:20]):
        passes(wires, client, server, part)
    assert seen == []
    passes(wires, client, server, whole[20:] + request(2, ASK))
    assert seen == [True]


def test_triggers_at_the_same_frame_all_act_and_one_of_them_loses_it(wires):
    client, server = session(wires)
    seen = []
    wires.links.arm_frame(0, 1, lambda: seen.append("first"))
    wires.links.arm_frame(0, 1, lambda: seen.append("second"), passes=False, resets=True)
    client.sendall(request(1, ASK))
    assert until_reset(server) == b""
    assert wires.was_reset(client)
    assert seen == ["first", "second"]


def test_requests_and_frames_are_counted_side_by_side(wires):
    client, server = session(wires)
    at_request = wires.links.arm(0, RequestTrigger("cut-after", "delete"))
    at_frame = wires.links.arm_frame(0, 2, lambda: None)
    client.sendall(request(1, ASK) + request(2, DELETE) + request(3, ASK))
    assert until_reset(server) == request(1, ASK) + request(2, DELETE)
    wires.eventually(lambda: at_request.acted is not None and at_frame.acted is not None)


def test_a_connection_that_is_closed_while_it_waits_leaves_the_others_alone(wires):
    client, server = session(wires)
    other = session(wires, 1)
    wires.links.arm_frame(0, 1, lambda: wires.links.cut(0, "reset"))
    client.sendall(request(1, ASK))
    assert wires.was_reset(client)
    assert wires.was_reset(server)
    answered(wires, other, 1)
    wires.links.heal()
    answered(wires, session(wires), 1)


@processes_only
def test_what_cannot_be_done_at_a_frame_is_told_to_who_withdraws_it(wires):
    ends = session(wires)

    def fail():
        raise RuntimeError("it has no process")

    armed = wires.links.arm_frame(0, 1, fail)
    answered(wires, ends, 1)
    wires.eventually(lambda: armed.acted is not None)
    with pytest.raises(RuntimeError, match="no process"):
        armed.withdraw()


@processes_only
def test_frames_of_thousands_are_told_in_parts(wires):
    client, server = session(wires)
    assert wires.links.frames() == []
    many = b"".join(request(number, ASK) for number in range(1, 2501))
    client.sendall(many)
    assert wires.read(server, len(many)) == many
    assert [each.what for each in wires.links.frames()] == ["exists"] * 2500
