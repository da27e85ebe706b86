import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.harness.clients.messages import (
    Act,
    Acted,
    Frames,
    Open,
    Perform,
    Ready,
    Record,
    Report,
    frame,
)

messages = st.one_of(
    st.builds(Ready, st.integers(0, 99), st.booleans()),
    st.builds(Act, st.integers(0, 99), st.none() | st.integers(0, 2**62)),
    st.builds(
        Record,
        st.integers(0, 2**62),
        st.integers(0, 99) | st.just("session"),
        st.sampled_from(["invoke", "ok", "fail", "info"]),
        st.text(max_size=5),
        st.none() | st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=2),
        st.none() | st.text(max_size=5),
    ),
)


@given(st.lists(messages, max_size=6), st.data())
def test_messages_come_out_whole_however_the_bytes_are_cut(sent, data):
    stream = b"".join(frame(message) for message in sent)
    frames = Frames(Report)
    received = []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        received += frames.feed(stream[:cut])
        stream = stream[cut:]
    assert received == sent


def test_commands_are_told_apart():
    commands = [Open(3), Perform(3, "acquire", {"timeout": 1.5}), Acted(accepted=True, order=9)]
    frames = Frames(Open | Perform | Acted)
    assert frames.feed(b"".join(map(frame, commands))) == commands


def test_what_is_no_message_is_refused():
    with pytest.raises(msgspec.DecodeError):
        Frames(Report).feed(b"\x00\x00\x00\x01\xff")
