"""A record of the wire from which something is missing contradicts the history."""

import msgspec

from rumpus.checker.timeline.coherence import contradictions
from rumpus.checker.wire.records import Event, Handshake, WireRecords
from tests.checker.recorded import Recorded


def found(*wire):
    history = (
        Recorded(1)
        .add(5, "link", "info", "wire", {"client": 0, "recorded": 2})
        .add(6, "link", "info", "wire", {"client": 1, "recorded": 1})
        .history()
    )
    content = b"".join(msgspec.json.encode(each) + b"\n" for each in wire)
    return contradictions(history, sessions=False, wire=WireRecords(content)).wire


def shake(client):
    return Handshake(client, 1, "n1", 1)


def test_a_wire_with_all_or_more_is_whole():
    assert found(shake(0), shake(0), shake(1)) == []
    assert found(shake(0), shake(0), shake(0), shake(1)) == []


def test_what_is_missing_is_told():
    event = Event(0, 1, 2, "created", "/a")
    assert found(shake(0), event) == [
        "2 handshakes and requests of c0 had passed on its links, and 1 are recorded",
        "1 handshakes and requests of the auditor had passed on its links, and 0 are recorded",
    ]
