"""Which element the data of a node hold."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.families.queue_judgement import element_of


def framed(element):
    """What Curator's ``ItemSerializer`` writes of one element."""
    return struct.pack(">ibi", 0x00010001, 1, len(element)) + element + b"\x02"


@given(st.binary())
def test_an_element_in_curators_frame_is_taken_out(element):
    assert element_of(framed(element)) == element


@given(st.text())
def test_other_data_are_the_element(text):
    data = text.encode()
    assert data.startswith(b"\x00\x01\x00\x01\x01") or element_of(data) == data


def test_a_frame_that_was_cut_off_is_no_frame():
    assert element_of(framed(b"x")[:8]) == framed(b"x")[:8]
