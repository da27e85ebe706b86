from struct import pack
from zlib import adler32

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rumpus.checker.servers.txnlog import parse_log
from rumpus.simulation.zookeeper.storage.log_records import UnreadableRecord, parse, serialize
from rumpus.simulation.zookeeper.storage.txn_log import HEADER
from rumpus.simulation.zookeeper.tree.transactions import CreateTxn, ErrorTxn, Header, MultiTxn
from tests.simulation.zookeeper.entries import create, delete, entries, entry, open_session


def read_by_checker(*payloads):
    """What the project's other parser, written from the reference alone, makes of it."""
    records = [pack(">qi", adler32(found), len(found)) + found + b"B" for found in payloads]
    return parse_log(HEADER + b"".join(records))


@given(entries())
def test_what_is_written_is_read(written):
    assert parse(written.payload) == written


def compare(mine, theirs):
    fields = {name: getattr(mine, name) for name in mine._fields}
    for name in ("path", "data", "ephemeral", "parent_cversion", "version", "timeout", "paths"):
        if name in fields:
            assert getattr(theirs, name) == fields[name]
    if "ttl" in fields:
        assert theirs.ttl_ms == fields["ttl"]
    if "error" in fields:
        assert theirs.error == fields["error"]
    if isinstance(mine, MultiTxn):
        assert [op.type for op in theirs.ops] == [kind for kind, _ in mine.operations]
        for (_, operation), op in zip(mine.operations, theirs.ops, strict=True):
            compare(operation, op)


@given(entries())
def test_the_checker_reads_the_same(written):
    if written.header.type == -11:
        # Two empty paths look like the digest of an old record without paths.
        assume(written.transaction.paths != ("", ""))
    log = read_by_checker(written.payload)
    assert log.end == "end of file"
    (txn,) = log.txns
    assert (txn.session, txn.cxid, txn.zxid, txn.time_ms, txn.type) == written.header
    assert txn.digest == written.digest
    compare(written.transaction, txn)


def test_sizes_are_those_of_a_real_log():
    # A session's record is 48 bytes with its digest, an error's 36 without one.
    assert len(entry(1, ErrorTxn(-110), -1).payload) == 36
    session = open_session(1, 5, 4000)
    assert len(serialize(session.header, session.transaction, 77)) == 48


def test_a_failed_multi_keeps_the_types_before_its_failure():
    multi = MultiTxn(
        ((1, CreateTxn("/a", b"", (), False, 1)), (-1, ErrorTxn(-101)), (-1, ErrorTxn(-2)))
    )
    (txn,) = read_by_checker(entry(7, multi, 14, digest=5).payload).txns
    assert [op.name for op in txn.ops] == ["create", "error", "error"]
    assert [op.error for op in txn.ops] == [None, -101, -2]
    assert txn.effects == ()


@given(entries(), st.data())
def test_a_record_that_is_cut_short_is_no_record(written, data):
    length = data.draw(st.integers(0, len(written.payload) - 1))
    if written.digest is not None:
        assume(length != len(written.payload) - 12)
    with pytest.raises(UnreadableRecord):
        parse(written.payload[:length])


@pytest.mark.parametrize(
    "payload",
    [
        pack(">qiqqi", 1, 1, 1, 1, 99),
        delete(1, "/a").payload + b"\0",
        delete(1, "/a").payload + pack(">iQ", 1, 0),
        pack(">qiqqi", 1, 1, 1, 1, 2) + pack(">i", -1),
        pack(">qiqqi", 1, 1, 1, 1, -11) + pack(">i", -1),
        pack(">qiqqi", 1, 1, 1, 1, 7) + pack(">iii", 0, -1, 1),
        pack(">qiqqi", 1, 1, 1, 1, 14) + pack(">iiii", 1, -1, 5, -5) + b"\0",
    ],
    ids=["type", "rest", "digest version", "null path", "null paths", "null acl", "rest of part"],
)
def test_nonsense_is_no_record(payload):
    with pytest.raises(UnreadableRecord):
        parse(payload)


def test_there_is_no_writing_of_unknown_types():
    with pytest.raises(KeyError):
        serialize(Header(1, 1, 1, 1, 99), ErrorTxn(-1), None)


def test_the_bytes_of_a_create():
    assert create(3, "/a", b"x", digest=9).payload == (
        pack(">qiqqi", 1, 0, 3, 1, 1)
        + b"\0\0\0\x02/a"
        + b"\0\0\0\x01x"
        + b"\0\0\0\x01\0\0\0\x1f\0\0\0\x05world\0\0\0\x06anyone"
        + b"\0"
        + b"\0\0\0\x01"
        + pack(">iQ", 2, 9)
    )
