from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.simulation.zookeeper.wire import jute
from rumpus.simulation.zookeeper.wire.jute import MalformedRecord, Reader

INTS = st.integers(-(1 << 31), (1 << 31) - 1)
# Without surrogates and what is written as two of them.
TEXTS = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=8)


@given(
    INTS,
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.booleans(),
    st.none() | st.binary(max_size=9),
    st.none() | TEXTS,
    st.none() | st.lists(TEXTS, max_size=3),
    st.none() | st.lists(st.tuples(INTS, TEXTS, TEXTS), max_size=3),
)
def test_what_is_written_is_read(number, long, boolean, data, text, texts, acl):
    acl = None if acl is None else tuple(acl)
    record = (
        jute.write_int(number)
        + jute.write_long(long)
        + jute.write_boolean(boolean)
        + jute.write_buffer(data)
        + jute.write_string(text)
        + jute.write_strings(texts)
        + jute.write_acl(acl)
    )
    reader = Reader(record + b"more")
    assert reader.read_int() == number
    assert reader.read_long() == long
    assert reader.read_boolean() is boolean
    assert reader.read_buffer() == data
    assert reader.read_string() == text
    assert reader.read_strings() == texts
    assert reader.read_acl() == acl
    assert reader.rest() == b"more"


@given(st.binary(max_size=30))
def test_nothing_but_malformed_record_is_raised(data):
    for read in (
        Reader.read_int,
        Reader.read_long,
        Reader.read_boolean,
        Reader.read_buffer,
        Reader.read_string,
        Reader.read_text,
        Reader.read_strings,
        Reader.read_acl,
    ):
        with suppress(MalformedRecord):
            read(Reader(data))


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"\0\0\0",
        b"\0\0\0\5abcd",
        jute.write_int(-2) + b"abcd",
        jute.write_int(jute.LONGEST + 1) + bytes(jute.LONGEST + 1),
    ],
)
def test_buffers_that_make_no_sense_are_refused(record):
    with pytest.raises(MalformedRecord):
        Reader(record).read_buffer()


def test_the_longest_buffer_is_read():
    assert len(Reader(jute.write_buffer(bytes(jute.LONGEST))).read_buffer() or b"") == jute.LONGEST


def test_null_and_empty_differ():
    assert Reader(jute.write_int(-1)).read_string() is None
    assert Reader(jute.write_int(0)).read_string() == ""
    assert Reader(jute.write_int(-1)).read_strings() is None
    with pytest.raises(MalformedRecord):
        Reader(jute.write_int(-1)).read_text()


def test_pairs_of_surrogates_are_written_one_by_one_as_java_does():
    assert (
        jute.write_string("é\U0001f600") == jute.write_int(8) + b"\xc3\xa9\xed\xa0\xbd\xed\xb8\x80"
    )


def test_bytes_that_are_no_text_are_replaced():
    assert Reader(jute.write_buffer(b"a\xff")).read_string() == "a\ufffd"
