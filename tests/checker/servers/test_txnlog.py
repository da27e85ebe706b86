"""Transaction logs: every kind of record, every kind of end, and what a server refuses."""

import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.history import session_hex
from rumpus.checker.servers.txnlog import CorruptLog, Txn, parse_log
from tests.checker.txnlog_encoder import (
    HEADER,
    TYPES,
    as_read,
    buffer,
    create,
    frame,
    log,
    payload,
    record,
    txn,
)

FIRST = txn("createSession", 1, timeout=4000)
SECOND = create(2, "/a", data=b"x")
THIRD = txn("delete", 3, path="/a")

# Written by ZooKeeper 3.8.0 for a kazoo client that made a znode, an ephemeral sequential one
# below it, the first again, a multi that succeeded, one that failed, set data and ACLs, left.
REAL_LOG = bytes.fromhex(
    "5a4b4c4700000002000000000000000000000000c1c50a7a000000300100001f2ba900000000000000000000"
    "00000001000001a1fc4955cffffffff600002710000000020000000051c6d6604200000000f4b50bda000000"
    "590100001f2ba90000000000010000000000000002000001a1fc4955de00000001000000052f6c6f636b0000"
    "0000000000010000001f00000005776f726c6400000006616e796f6e65000000000100000002000000013a12"
    "ab124200000000179710f4000000680100001f2ba90000000000020000000000000003000001a1fc4955e900"
    "000001000000122f6c6f636b2f6e2d30303030303030303030000000026d65000000010000001f0000000577"
    "6f726c6400000006616e796f6e6501000000010000000200000001b941bdd34200000000651e0bb500000024"
    "0100001f2ba90000000000030000000000000004000001a1fc4955f2ffffffffffffff9242000000007c390e"
    "450000009a0100001f2ba90000000000040000000000000005000001a1fc4955f80000000e00000004000000"
    "010000002b000000022f6d0000000131000000010000001f00000005776f726c6400000006616e796f6e6500"
    "000000020000000d0000000a000000022f6d00000001000000050000000f000000022f6d0000000132000000"
    "010000000200000006000000022f6d00000002000000024119c2c4420000000086161bcf0000007c0100001f"
    "2ba90000000000050000000000000006000001a1fc4955fd0000000e00000003000000010000002c00000003"
    "2f6d320000000131000000010000001f00000005776f726c6400000006616e796f6e650000000003ffffffff"
    "00000004ffffff99ffffffff00000004fffffffe00000002000000024119c2c44200000000c7b407c5000000"
    "3e0100001f2ba90000000000060000000000000007000001a1fc49560000000005000000052f6c6f636b0000"
    "000171000000010000000200000001994f58ee4200000000a8830bd5000000540100001f2ba9000000000008"
    "0000000000000008000001a1fc49560500000007000000052f6c6f636b000000010000001f00000005776f72"
    "6c6400000006616e796f6e65000000010000000200000001a8046cb14200000000bab70e3000000046010000"
    "1f2ba90000000000090000000000000009000001a1fc495608fffffff500000001000000122f6c6f636b2f6e"
    "2d303030303030303030300000000200000000f5d11c7942"
)


def test_a_log_of_a_real_server():
    found = parse_log(REAL_LOG + bytes(4096), "log.1")
    assert (found.end, found.offset) == ("padding", len(REAL_LOG))
    assert {txn.session for txn in found.txns} == {0x100001F2BA90000}
    assert [(txn.zxid, txn.cxid, txn.name) for txn in found.txns] == [
        (1, 0, "createSession"),
        (2, 1, "create"),
        (3, 2, "create"),
        (4, 3, "error"),
        (5, 4, "multi"),
        (6, 5, "multi"),
        (7, 6, "setData"),
        (8, 8, "setACL"),
        (9, 9, "closeSession"),
    ]
    session, lock, node, refused, moved, failed, changed, acl, close = found.txns
    assert session.timeout == 10_000
    assert session.time_ms == 1_795_234_026_959
    assert (lock.path, lock.data, lock.ephemeral, lock.parent_cversion) == ("/lock", b"", False, 1)
    assert (node.path, node.data, node.ephemeral) == ("/lock/n-0000000000", b"me", True)
    assert refused.error == -110
    assert [(op.name, op.path, op.data, op.version) for op in moved.effects] == [
        ("create", "/m", b"1", None),
        ("check", "/m", None, 1),
        ("setData", "/m", b"2", 1),
        ("delete", "/m", None, None),
    ]
    assert [(op.name, op.error) for op in failed.ops] == [
        ("create", None),
        ("error", -103),
        ("error", -2),
    ]
    assert failed.effects == refused.effects == ()
    assert (changed.path, changed.data, changed.version) == ("/lock", b"q", 1)
    assert (acl.path, acl.version) == ("/lock", 1)
    assert close.paths == ("/lock/n-0000000000",)


def test_the_encoder_of_these_tests_writes_what_the_server_wrote():
    txns = parse_log(REAL_LOG).txns
    assert log(*txns) == REAL_LOG
    assert {txn.name for txn in txns if txn.digest is None} == {"error"}


@pytest.mark.parametrize(
    ("txn", "acl"),
    [
        (create(9, "/c", data=None, ephemeral=True, parent_cversion=4), [(31, "world", "anyone")]),
        (create(9, "/d", data=b""), [(1, "world", "anyone"), (31, "digest", "u:x=")]),
        (create(9, "/e"), []),
        (txn("create2", 9, path="/\u00e9", data=b"\0", parent_cversion=1), [(31, "ip", "::1")]),
        (txn("createContainer", 9, path="/c", data=b"d", parent_cversion=2), [(0, "ip", "")]),
        (txn("createTTL", 9, path="/t", data=None, parent_cversion=3, ttl_ms=2**40 - 1), []),
        (txn("delete", 9, path="/a"), []),
        (txn("deleteContainer", 9, session=0, cxid=0, path="/a"), []),
        (txn("setData", 9, path="/a", data=b"new", version=12), []),
        (txn("reconfig", 9, path="/zookeeper/config", data=b"s", version=-1), []),
        (txn("setACL", 9, path="/a", version=2), [(31, "digest", "u:y=")]),
        (txn("createSession", 9, session=-(2**63), timeout=40_000), []),
        (txn("closeSession", 9, paths=()), []),
        (txn("closeSession", 9, paths=("/a", "/b/c")), []),
        (txn("closeSession", 9, paths=("/abc",)), []),
        (txn("closeSession", 9, paths=None), []),
        (txn("error", 9, error=-101), []),
        (txn("multi", 9, ops=()), []),
        (txn("multi", 9, ops=(txn("check", 9, path="/a", version=1), create(9, "/b"))), []),
        (txn("multi", 9, ops=(create(9, "/b"), txn("error", 9, error=-110))), []),
    ],
    ids=lambda value: value.name if isinstance(value, Txn) else "",
)
@pytest.mark.parametrize("digest", [None, 0, 2**64 - 1])
def test_every_type_of_transaction(txn, acl, digest):
    txn = msgspec.structs.replace(txn, digest=digest)
    found = parse_log(HEADER + record(txn, acl))
    assert found.txns == (as_read(txn, acl),)
    assert found.end == "end of file"


def test_a_create_from_before_parents_versions_were_logged():
    new = create(4, "/old", ephemeral=True)
    found = parse_log(HEADER + frame(payload(new)[:-4])).txns[0]
    assert (found.path, found.ephemeral, found.parent_cversion) == ("/old", True, -1)


def test_a_refused_multi_may_be_logged_as_proposed_or_as_applied():
    proposed = txn("multi", 9, ops=(create(9, "/b"), txn("error", 9, error=-110)))
    applied = txn("multi", 9, ops=(txn("error", 9, error=2), txn("error", 9, error=-110)))
    assert proposed.is_same_record(applied)
    assert proposed.is_same_record(proposed)
    assert not proposed.is_same_record(msgspec.structs.replace(applied, digest=7))
    assert not proposed.is_same_record(msgspec.structs.replace(applied, ops=applied.ops[1:]))
    done = txn("multi", 9, ops=(create(9, "/b"), create(9, "/c")))
    assert not done.is_same_record(applied)
    assert not done.is_same_record(txn("multi", 9, ops=(create(9, "/b"), create(9, "/d"))))


def test_parts_of_a_multi_carry_the_header_of_the_whole():
    ops = (txn("setData", 5, session=3, cxid=2, time_ms=77, path="/a", data=b"", version=1),)
    whole = txn("multi", 5, session=3, cxid=2, time_ms=77, ops=ops)
    part = parse_log(log(whole)).txns[0].ops[0]
    assert (part.zxid, part.session, part.cxid, part.time_ms) == (5, 3, 2, 77)


# How a file may end.

WHOLE = log(FIRST, SECOND)
LAST = record(THIRD)


@pytest.mark.parametrize(
    ("tail", "end"),
    [
        (b"", "end of file"),
        (bytes(100), "padding"),
        (bytes(12), "padding"),
        (struct.pack(">qi", 99, 0) + b"rest", "padding"),  # length 0 ends it, whatever the sum
        (LAST[:5], "torn record"),
        (LAST[:10], "torn record"),
        (LAST[:20], "torn record"),
        (LAST[:-1], "torn record"),
        (LAST[:-1] + bytes(50), "bad end-of-record mark"),
        (LAST[:-1] + b"C" + record(THIRD), "bad end-of-record mark"),
        (LAST[:12] + bytes(500), "bad end-of-record mark"),
        (LAST[:30] + bytes(500), "bad end-of-record mark"),
        (struct.pack(">qi", 1, 2 * 1048575) + b"short", "torn record"),
    ],
)
def test_what_follows_the_last_whole_record_is_dropped(tail, end):
    found = parse_log(WHOLE + tail)
    assert found.txns == (as_read(FIRST), as_read(SECOND))
    assert found.end == end
    assert found.offset == len(WHOLE)


def test_a_header_alone_is_an_empty_log():
    assert parse_log(HEADER).txns == ()
    assert parse_log(HEADER).end == "end of file"


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("data", "offset", "problem"),
    [
        (b"", 0, "0 bytes, too short"),
        (HEADER[:15], 0, "15 bytes, too short"),
        (flipped(WHOLE, 0), 0, "not a transaction log"),
        (HEADER[:4] + struct.pack(">iq", 3, 0), 0, "format version 3"),
        (flipped(WHOLE + LAST, len(WHOLE) + 14), len(WHOLE), "checksum mismatch"),
        (flipped(WHOLE + LAST, len(WHOLE) + 7), len(WHOLE), "checksum mismatch"),
        (flipped(WHOLE + LAST, len(HEADER) + 14), len(HEADER), "checksum mismatch"),
        (WHOLE + struct.pack(">qi", 1, 2 * 1048575 + 1), len(WHOLE), "unreasonable record length"),
        (WHOLE + struct.pack(">qi", 1, -1), len(WHOLE), "unreasonable record length -1"),
        (WHOLE + frame(payload(THIRD)[:-1]), len(WHOLE), "unreadable record"),
        (WHOLE + frame(b"short"), len(WHOLE), "unreadable record"),
        (
            WHOLE + frame(struct.pack(">qiqqi", 1, 1, 3, 1, 77)),
            len(WHOLE),
            "unsupported transaction type 77",
        ),
        (
            WHOLE + record(txn("check", 3, path="/a", version=1)),
            len(WHOLE),
            "unsupported transaction type 13",
        ),
        (
            WHOLE + frame(struct.pack(">qiqqiiii", 1, 1, 3, 1, 14, 1, 4, 0)),
            len(WHOLE),
            "part of unsupported type 4",
        ),
        (
            WHOLE + frame(struct.pack(">qiqqiiii", 1, 1, 3, 1, 14, 1, 2, 999)),
            len(WHOLE),
            "part of 999 bytes",
        ),
        (
            WHOLE + frame(struct.pack(">qiqqi", 1, 1, 3, 1, 2) + buffer(None)),
            len(WHOLE),
            "null path",
        ),
        (
            WHOLE + frame(struct.pack(">qiqqi", 1, 1, 3, 1, 2) + buffer(b"\xff")),
            len(WHOLE),
            "unreadable record",
        ),
    ],
)
def test_what_the_server_refuses_is_named_with_its_place(data, offset, problem):
    with pytest.raises(CorruptLog, match=problem) as refused:
        parse_log(data, "log.1")
    assert refused.value.offset == offset
    assert f"log.1, byte {offset}" in str(refused.value)
    before = (as_read(FIRST), as_read(SECOND)) if offset == len(WHOLE) else ()
    assert refused.value.txns == before


def test_session_ids_print_unsigned():
    assert session_hex(0x100001F2BA90000) == "0x100001f2ba90000"
    assert session_hex(-1) == "0xffffffffffffffff"
    assert session_hex(0) == "0x0"


# Whatever is written is read again.

LONG = st.integers(-(2**63), 2**63 - 1)
INT = st.integers(-(2**31), 2**31 - 1)
PATH = st.text(st.characters(exclude_categories=["Cs"]), max_size=12).map("/{}".format)
DATA = st.none() | st.binary(max_size=40)
ACL = st.lists(st.tuples(INT, st.sampled_from(["world", "ip"]), st.text("ab:", max_size=5)))


def bodies(names):
    fields = {
        "path": PATH,
        "data": DATA,
        "parent_cversion": INT,
        "version": INT,
        "ttl_ms": LONG,
        "timeout": INT,
        "error": INT,
        "ephemeral": st.booleans(),
        "paths": st.none() | st.lists(PATH, max_size=3).map(tuple),
    }
    wanted = {
        "create": "path data parent_cversion ephemeral",
        "create2": "path data parent_cversion ephemeral",
        "createContainer": "path data parent_cversion",
        "createTTL": "path data parent_cversion ttl_ms",
        "delete": "path",
        "deleteContainer": "path",
        "setData": "path data version",
        "reconfig": "path data version",
        "setACL": "path version",
        "check": "path version",
        "createSession": "timeout",
        "closeSession": "paths",
        "error": "error",
    }
    return st.sampled_from(names).flatmap(
        lambda name: st.fixed_dictionaries(
            {"name": st.just(name), **{field: fields[field] for field in wanted[name].split()}}
        )
    )


PARTS = "create create2 createContainer createTTL delete deleteContainer setData check error"
SIMPLE = PARTS.replace("check ", "") + " createSession closeSession reconfig setACL"


@st.composite
def transactions(draw):
    head = (draw(LONG), draw(LONG), draw(INT), draw(LONG))
    if draw(st.integers(0, 4)) == 0:
        parts = draw(st.lists(bodies(PARTS.split()), max_size=4))
        ops = tuple(Txn(*head, TYPES[part["name"]], **part) for part in parts)
        return Txn(*head, TYPES["multi"], "multi", ops=ops)
    fields = draw(bodies(SIMPLE.split()))
    return Txn(*head, TYPES[fields["name"]], **fields)


DIGESTED = st.builds(
    lambda txn, digest: msgspec.structs.replace(txn, digest=digest),
    transactions(),
    st.none() | st.integers(0, 2**64 - 1),
)
RECORDS = st.lists(st.tuples(DIGESTED, ACL), max_size=5)


@given(RECORDS, st.integers(0, 30))
def test_round_trip(records, padding):
    data = HEADER + b"".join(record(*each) for each in records)
    found = parse_log(data + bytes(padding))
    assert found.txns == tuple(as_read(txn, entries) for txn, entries in records)
    assert found.offset == len(data)


def test_a_log_cut_at_any_byte_is_read_up_to_its_last_whole_record():
    ends = [len(HEADER)]
    while ends[-1] < len(REAL_LOG):
        ends.append(ends[-1] + 13 + struct.unpack_from(">qi", REAL_LOG, ends[-1])[1])
    whole = parse_log(REAL_LOG).txns
    for cut in range(len(HEADER), len(REAL_LOG)):
        records = sum(end <= cut for end in ends) - 1
        for padding in (b"", bytes(200)):
            found = parse_log(REAL_LOG[:cut] + padding)
            assert found.txns == whole[:records]
            assert found.offset == ends[records]


def test_a_flipped_byte_is_noticed_or_ends_the_log_but_never_changes_a_record():
    whole = parse_log(REAL_LOG).txns
    for at in range(len(HEADER), len(REAL_LOG)):
        try:
            found = parse_log(flipped(REAL_LOG, at)).txns
        except CorruptLog as refused:
            found = refused.txns
        assert found == whole[: len(found)]


def test_a_record_that_several_servers_have_is_read_once():
    known = {}
    first = parse_log(REAL_LOG, known=known)
    second = parse_log(REAL_LOG + bytes(100), known=known)
    assert len(known) == len(first.txns)
    assert all(mine is theirs for mine, theirs in zip(first.txns, second.txns, strict=True))
    assert first.txns == parse_log(REAL_LOG).txns
