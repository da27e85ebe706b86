import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kazoo.protocol.serialization import (
    CheckVersion,
    Connect,
    Create,
    Create2,
    Delete,
    Exists,
    SetData,
    Transaction,
    Watch,
)
from kazoo.security import OPEN_ACL_UNSAFE

from rumpus.harness.links import zookeeper_frames
from rumpus.harness.links.zookeeper_frames import FrameReader
from tests.harness.links.packets import event, frame, request


def create(kind=Create):
    return kind("/lock/lock-", b"me", OPEN_ACL_UNSAFE, 3)


def split_at(data, cuts):
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


@given(
    st.lists(st.binary(max_size=40), max_size=8), st.lists(st.integers(min_value=0), max_size=12)
)
def test_frames_come_out_whole_however_the_stream_is_split(bodies, cuts):
    frames = [frame(body) for body in bodies]
    reader = FrameReader()
    out = []
    for piece in split_at(b"".join(frames), cuts):
        out += reader.feed(piece)
    assert out == frames
    assert reader.pending == 0
    assert reader.tracking


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=5), st.integers(min_value=1))
def test_pending_counts_what_an_incomplete_frame_has_so_far(bodies, missing):
    frames = [frame(body) for body in bodies]
    missing = 1 + missing % len(frames[-1])  # at least one byte, at most the whole last frame
    stream = b"".join(frames)
    reader = FrameReader()
    assert reader.feed(stream[:-missing]) == frames[:-1]
    assert reader.pending == len(frames[-1]) - missing
    assert reader.feed(stream[-missing:]) == frames[-1:]


def test_a_frame_of_a_megabyte_in_small_pieces():
    large = frame(bytes(1 << 20))
    reader = FrameReader()
    out = []
    for start in range(0, len(large), 1000):
        out += reader.feed(large[start : start + 1000])
    assert out == [large]


@pytest.mark.parametrize("word", [b"ruok", b"srvr", b"mntr", b"GET ", struct.pack(">i", -1)])
def test_what_is_no_frame_ends_the_tracking_for_good(word):
    reader = FrameReader()
    assert reader.feed(word[:3]) == []
    assert reader.feed(word[3:]) == []
    assert not reader.tracking
    assert reader.pending == 0
    assert reader.feed(frame(b"12345678")) == []


def test_frames_before_nonsense_are_still_found():
    reader = FrameReader()
    assert reader.feed(frame(b"12345678") + b"\xff\xff\xff\xff") == [frame(b"12345678")]
    assert not reader.tracking


@pytest.mark.parametrize(
    "body",
    [create(), create(Create2), *(create(type("C", (Create,), {"type": n})) for n in (19, 21))],
)
def test_every_kind_of_create_is_one(body):
    assert zookeeper_frames.creates(request(5, body))
    assert zookeeper_frames.xid(request(5, body)) == 5


@pytest.mark.parametrize("body", [Delete("/a", -1), Exists("/a", None), SetData("/a", b"x", -1)])
def test_other_requests_are_none(body):
    assert not zookeeper_frames.creates(request(5, body))


def test_requests_are_named_by_their_opcodes():
    named = zookeeper_frames.requests_by_name({1: 2, 15: 3, 9: 1, 12: 4, 8: 1, 77: 5, None: 1})
    assert named == {"create": 5, "get-children": 5, "malformed": 1, "opcode-77": 5, "sync": 1}
    assert zookeeper_frames.opcode(request(5, Exists("/a", None))) == 3
    assert zookeeper_frames.opcode(b"") is None


def test_kinds_that_faults_strike_at_are_named_alike():
    several = {"read", "write", "change"}  # each is more than one kind
    for kind, codes in zookeeper_frames.REQUESTS.items():
        if kind not in several:
            assert {zookeeper_frames.request_name(code) for code in codes} == {kind}


others = st.sampled_from(
    [
        Delete("/lock/a", -1),
        SetData("/lock/b", b"\0\0\0\1" * 5, 3),
        SetData("/lock/b", None, 3),
        CheckVersion("/lock", 2),
    ]
)


@given(st.lists(others, max_size=5), st.lists(others, max_size=5), st.booleans())
def test_a_multi_creates_if_any_part_of_it_does(before, after, creating):
    parts = [*before, create(), *after] if creating else before + after
    assert zookeeper_frames.creates(request(9, Transaction(parts))) is creating


@given(st.binary(max_size=60))
def test_a_malformed_request_is_no_reason_to_fail(body):
    for header in (b"", struct.pack(">ii", 1, 14)):
        zookeeper_frames.creates(frame(header + body))
        zookeeper_frames.watched(frame(header + body))
        zookeeper_frames.session_timeout(frame(header + body))


@given(st.lists(others, min_size=1, max_size=5))
def test_a_multi_is_a_change_unless_it_only_checks(parts):
    checks = all(isinstance(part, CheckVersion) for part in parts)
    assert zookeeper_frames.changes(request(9, Transaction(parts))) is not checks


def test_a_set_is_a_change_and_neither_a_delete_nor_a_read():
    assert zookeeper_frames.changes(request(5, SetData("/a", b"x", -1)))
    assert zookeeper_frames.changes(request(5, create()))
    assert not zookeeper_frames.changes(request(5, Delete("/a", -1)))
    assert not zookeeper_frames.changes(request(5, Exists("/a", None)))


def test_a_multi_cut_short_creates_nothing():
    whole = request(9, Transaction([SetData("/lock/b", b"x" * 50, 3), create()]))
    assert zookeeper_frames.creates(whole)
    assert not zookeeper_frames.creates(whole[:40])


@pytest.mark.parametrize(
    ("kind", "name"), [(1, "created"), (2, "deleted"), (3, "changed"), (4, "child")]
)
def test_watch_events(kind, name):
    seen = event(kind, "/lock/ä")
    assert zookeeper_frames.xid(seen) == zookeeper_frames.WATCH_XID
    assert zookeeper_frames.watched(seen) == (name, "/lock/ä")
    body, _ = Watch.deserialize(seen, 4 + 16)
    assert (body.type, body.path) == (kind, "/lock/ä")  # kazoo reads the same


def test_an_event_about_no_znode_is_not_one():
    assert zookeeper_frames.watched(event(-1, None)) is None


def test_session_timeout_of_a_handshake():
    assert zookeeper_frames.session_timeout(frame(struct.pack(">iiq", 0, 4000, 77))) == 4000
    refused = frame(struct.pack(">iiq", 0, 0, 0) + struct.pack(">i", 16) + bytes(16))
    assert zookeeper_frames.session_timeout(refused) == 0
    answered = frame(Connect(0, 0, 10_000, 1, b"p" * 16, read_only=False).serialize())
    assert zookeeper_frames.session_timeout(answered) == 0  # a request has its zxid there


def test_a_frame_without_a_header_has_no_xid():
    assert zookeeper_frames.xid(frame(b"1234")) is None
