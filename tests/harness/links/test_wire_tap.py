"""What is recorded of a connection, and that nothing that passes can break the recording."""

import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.wire.records import (
    Event,
    Handshake,
    MalformedWire,
    Request,
    WireRecords,
    sum_of,
    sum_of_names,
)
from rumpus.harness.links.wire_tap import WireLog
from tests.checker.wire.recorded_engine import PASSWORD, RecordedEngine, asking, granting, packet
from tests.simulation.zookeeper.engine import check_op, create_op, delete_op, set_op


def recorded(log):
    return list(WireRecords(log.finish()))


def test_a_session_that_is_granted_refused_resumed_and_stolen():
    log = WireLog(1_000)
    for number, (ask, answer) in enumerate(
        [
            (asking(timeout=6000, seen=5), granting(7)),
            (asking(7, PASSWORD), granting(0, bytes(16), 0)),
            (asking(7, PASSWORD), granting(7)),
            (asking(7, bytes(16)), granting(7)),
            (asking(8, PASSWORD), granting(8)),
        ]
    ):
        tap = log.tap(3, number, "n2")
        tap.to_server(ask, 2_000)
        tap.from_server(answer, 3_000)
    first, *rest = recorded(log)
    assert first == Handshake(3, 0, "n2", 1_000, 2_000, 0, 6_000, 5, 7, 4_000, None)
    assert [(each.session, each.proved) for each in rest] == [
        (0, True),
        (7, True),
        (7, False),
        (8, None),
    ]


def test_no_password_and_no_data_are_kept():
    engine = RecordedEngine()
    client = engine.connect()
    client.ask(100, struct.pack(">i", 0) + b"\0\0\0\x06digest\0\0\0\x0duser:passw0rd")
    client.create("/a", b"confidential")
    client.get("/a")
    kept = engine.log.finish()
    assert b"passw0rd" not in kept
    assert b"confidential" not in kept
    assert PASSWORD not in kept


def test_a_request_and_its_answer():
    engine = RecordedEngine()
    client = engine.connect()
    client.create("/a", b"xy", flags=2)
    client.ask(12, b"\0\0\0\x01/\0")
    client.delete("/nowhere", 4)
    made, listed, refused = recorded(engine.log)[1:]
    assert (made.name, made.path, made.flags, made.data) == ("create", "/a", 2, sum_of(b"xy"))
    assert (made.error, made.made) == (0, "/a0000000000")
    assert made.sent < made.answered
    assert listed.children == sum_of_names([b"zookeeper", b"a0000000000"])
    assert listed.stat[9] == 2
    assert (refused.path, refused.version, refused.error) == ("/nowhere", 4, -101)


def test_the_parts_of_a_multi():
    engine = RecordedEngine()
    client = engine.connect()
    parts = (create_op("/a"), set_op("/a", b"xyz", 0), check_op("/a", 1), delete_op("/a", 1))
    client.multi(*parts)
    client.multi(create_op("/b"), check_op("/b", 9), delete_op("/b"))
    done, refused = recorded(engine.log)[1:]
    assert [(each.name, each.error) for each in done.parts] == [
        ("create", 0),
        ("set-data", 0),
        ("check", 0),
        ("delete", 0),
    ]
    assert done.parts[0].made == "/a"
    assert done.parts[1].stat[4] == 1
    assert [each.error for each in refused.parts] == [0, -103, -2]


def test_what_is_never_answered_is_written_at_the_end():
    log = WireLog(0)
    tap = log.tap(0, 1, "n1")
    tap.to_server(asking(), 1)
    tap.from_server(granting(7), 2)
    tap.to_server(packet(struct.pack(">ii", 1, 11)), 3)
    other = log.tap(1, 1, "n1")
    other.to_server(asking(), 4)
    assert [type(each) for each in recorded(log)] == [Handshake, Request, Handshake]
    assert [each.answered for each in recorded(log)] == [2, None, None]


def test_lines_are_handed_over_when_many_have_come():
    written = []
    log = WireLog(0, written.append)
    tap = log.tap(0, 1, "n1")
    tap.to_server(asking(), 1)
    tap.from_server(granting(7), 2)
    for xid in range(2_000):
        tap.to_server(packet(struct.pack(">ii", xid, 11)), 3)
        tap.from_server(packet(struct.pack(">iqi", xid, 1, 0)), 4)
    assert len(written) > 1
    assert log.finish() == b""
    assert len(list(WireRecords(b"".join(written)))) == 2_001


@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 15, 19, 21, 22, 103, 104, 999, -11]),
            st.binary(max_size=60),
        ),
        max_size=12,
    )
)
def test_nothing_that_passes_breaks_the_recording(frames):
    log = WireLog(0)
    tap = log.tap(0, 1, "n1")
    tap.to_server(asking(), 1)
    tap.from_server(granting(7), 1)
    for xid, (raw, kind, body) in enumerate(frames):
        tap.to_server(packet(body if raw else struct.pack(">ii", xid, kind) + body), 2)
        tap.from_server(packet(body if raw else struct.pack(">iqi", xid, 1, 0) + body), 3)
    counted = log.passed(0, 9)
    records = recorded(log)
    assert len(records) <= len(frames) + 1
    events = sum(isinstance(each, Event) for each in records)
    assert (counted.requests, counted.events) == (len(records) - events, events)


def test_what_passes_as_its_connection_is_reset_is_written_too():
    log = WireLog(0)
    tap = log.tap(0, 1, "n1")
    tap.to_server(asking(), 1)
    tap.from_server(granting(7), 2)
    tap.end()
    tap.to_server(packet(struct.pack(">ii", 1, 11)), 3)
    assert [type(each) for each in recorded(log)] == [Handshake, Request]
    assert log.begun == {0: 2}


def test_a_line_that_was_cut_off_is_ignored():
    good = msgspec.json.encode(Handshake(0, 1, "n1", 1))
    assert len(list(WireRecords(good + b"\n" + good[:-3]))) == 1
    assert list(WireRecords(good[:9])) == []


HUGE = b'{"type":"handshake","client":0,"connection":1,"node":"n1","sent":1,"%s":1%s}'


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b'{"type":"request"}',
        b"[" * 10_000,
        b"\xff",
        HUGE % (b"timeout", b"0" * 10),
        HUGE % (b"session", b"0" * 19),
    ],
)
def test_a_line_that_is_no_record_is_named(line):
    good = msgspec.json.encode(Handshake(0, 1, "n1", 1))
    with pytest.raises(MalformedWire, match="line 2 is no record of the wire"):
        WireRecords(good + b"\n" + line + b"\n")
