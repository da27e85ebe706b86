"""A record of the wire that lacks what the history has, or denies it, contradicts the history."""

import msgspec
import pytest

from rumpus.checker.timeline.coherence import contradictions
from rumpus.checker.wire.records import Event, Handshake, Request, WireRecords
from tests.checker.recorded import MS, Recorded

SECOND = 1_000_000_000
SESSION = 0x10
COUNTED = 100 * SECOND
CREATED = Event(0, 1, 2 * SECOND, "created", "/a")


def shake(client, *, connection=1, sent=SECOND, session=0, wanted=2000):
    return Handshake(
        client, connection, "n1", sent, sent + 1, wanted=wanted, session=session, timeout=wanted
    )


def request(sent, *, connection=1, answered=True, xid=1, client=0, name="get-data"):
    return Request(
        name,
        client=client,
        connection=connection,
        xid=xid,
        sent=sent,
        answered=sent + 1 if answered else None,
    )


def counted(client, recorded, **more):
    return {"client": client, "recorded": recorded, "events": 0, "until": COUNTED, **more}


WHOLE = (counted(0, 2), counted(1, 1))
"""What ``shake(0), shake(0), shake(1)`` comes to."""


def found(
    *wire,
    counts=WHOLE,
    told=(),
    calls=(),
    session_timeout=None,
    truncated=False,
    kinds=None,
    kazoo=True,
    plain=False,
):
    """What contradicts a history of one client, with records of (time, process, f, value)."""
    if kinds is None:
        kinds = {"get-data": sum(type(each) is Request and each.client == 0 for each in wire)}
    recorded = Recorded(1)
    for time, process, f, value in told:
        kind = "invoke" if process == "nemesis" else "info"
        recorded.add(time / MS, process, kind, f, value)
    for time, kind in calls:
        recorded.add(time / MS, 0, kind, "set")
    for value in counts:
        recorded.add(COUNTED / MS, "link", "info", "wire", value)
    recorded.add(COUNTED / MS, "link", "info", "requests", {"client": 0, "requests": kinds})
    history = recorded.history()
    history.truncated = truncated
    content = b"".join(msgspec.json.encode(each) + b"\n" for each in wire)
    return contradictions(
        history,
        wire=WireRecords(content),
        session_timeout=session_timeout,
        kazoo=kazoo,
        plain=plain,
    )


def of_wire(*wire, **more):
    return found(*wire, **more).wire


def test_a_wire_with_all_is_whole_whatever_passed_later():
    assert of_wire(shake(0), shake(0), shake(1)) == []
    later = COUNTED + 1
    wire = shake(0), shake(0), shake(0, sent=later), shake(1), request(later)
    assert of_wire(*wire, kinds={}) == []


def test_what_passed_in_the_nanosecond_of_the_count_may_be_counted_or_not():
    same = shake(0, sent=COUNTED)
    assert of_wire(shake(0), shake(0), same, shake(1)) == []
    assert of_wire(shake(0), same, shake(1)) == []
    assert of_wire(same, shake(1)) != []


def test_what_is_missing_is_told():
    assert of_wire(shake(0)) == [
        "2 handshakes and requests of c0 had passed on its links, and 1 are recorded",
        "1 handshakes and requests of the auditor had passed on its links, and 0 are recorded",
    ]


def test_what_was_added_is_told():
    assert of_wire(shake(0), shake(0), shake(1), request(SECOND), kinds={"get-data": 1}) == [
        "2 handshakes and requests of c0 had passed on its links, and 3 are recorded"
    ]


def test_events_are_counted_too():
    wire = (shake(0), shake(0), shake(1))
    counts = (counted(0, 2, events=1), counted(1, 1))
    assert of_wire(*wire, CREATED, counts=counts) == []
    assert of_wire(*wire, counts=counts) == [
        "1 watch events of c0 had passed on its links, and 0 are recorded"
    ]
    assert of_wire(*wire, CREATED) == [
        "0 watch events of c0 had passed on its links, and 1 are recorded"
    ]


@pytest.mark.parametrize("client", [0, 1])
def test_every_client_and_the_auditor_are_counted_once(client):
    counts = [counted(0, 0), counted(1, 0)]
    told = "c0" if client == 0 else "the auditor"
    words = [f"what passed on the links of {told} was not counted, or not once"]
    assert of_wire(counts=[counts[1 - client]]) == words
    assert of_wire(counts=[*counts, counts[client]]) == words
    assert of_wire(counts=[counts[1 - client]], truncated=True) == []


@pytest.mark.parametrize("field", ["events", "until"])
def test_a_count_without_all_its_fields_counts_nothing(field):
    count = counted(0, 0)
    del count[field]
    assert of_wire(counts=[count, counted(1, 0)]) == [
        "of what passed on the links of c0, not all was counted"
    ]


def seen(time, path="/a", connection=1):
    value = {"client": 0, "connection": connection, "path": path, "event": "created", "shown": 0}
    return (time, "link", "watch", value)


@pytest.mark.parametrize(
    ("events", "more"),
    [
        ([seen(2)], []),
        ([seen(2), seen(3)], ["2 watch events (created /a) reached c0 on its connection 1"]),
        ([seen(2, path="/b")], ["1 watch events (created /b) reached c0 on its connection 1"]),
        ([seen(2, connection=2)], ["1 watch events (created /a) reached c0 on its connection 2"]),
    ],
)
def test_no_more_events_reach_a_client_than_were_sent(events, more):
    counts = (counted(0, 1, events=1), counted(1, 0))
    words = found(shake(0), CREATED, counts=counts, told=events).history
    told = [each for each in words if "servers sent" in each]
    assert [each.partition(", but")[0] for each in told] == more


CONNECTED = (SECOND, "session", "connected", {"client": 0, "session": "0x10"})


@pytest.mark.parametrize(("wanted", "contrary"), [(2000, False), (1999, False), (600, True)])
def test_a_client_asked_for_the_session_timeout(wanted, contrary):
    words = found(
        shake(0, session=SESSION, wanted=wanted),
        counts=(counted(0, 1), counted(1, 0)),
        told=[CONNECTED],
        session_timeout=2.0,
    ).history
    told = "the run's session timeout was 2 s, but clients asked for 0.6 s"
    assert (told in words) is contrary


def test_sessions_that_a_program_makes_itself_may_have_any_timeout():
    words = found(
        shake(0, session=SESSION),
        shake(0, session=0x11, wanted=9000),
        told=[CONNECTED],
        counts=(counted(0, 2), counted(1, 0)),
        session_timeout=2.0,
    )
    assert not list(words)
    alone = found(
        shake(0, session=0x11, wanted=9000),
        told=[CONNECTED],
        counts=(counted(0, 1), counted(1, 0)),
        session_timeout=2.0,
    )
    assert not list(alone)


def lost(at, f="suspended"):
    return (at, "session", f, {"client": 0, "session": "0x10"})


@pytest.mark.parametrize("f", ["suspended", "lost", "closed"])
def test_a_lost_connection_does_not_go_on(f):
    wire = (shake(0, session=SESSION), request(20 * SECOND))
    told = [CONNECTED, lost(10 * SECOND, f)]
    (words,) = found(*wire, told=told, counts=[counted(0, 2), counted(1, 0)]).history
    assert words.startswith("record 1: c0 lost its connection, but 1, which it had, carried")
    assert words.endswith("its requests for 10.0 s more")


NEXT = shake(0, connection=2, session=SESSION, sent=11 * SECOND)


@pytest.mark.parametrize(
    ("wire", "at"),
    [
        ([request(14 * SECOND)], 10 * SECOND),  # in buffers, while the links were late
        ([request(20 * SECOND, answered=False)], 10 * SECOND),
        ([request(20 * SECOND)], SECOND + 1),  # told late: that was the connection before
        ([NEXT, request(30 * SECOND, connection=2)], 10 * SECOND),
    ],
)
def test_the_next_connection_and_what_was_sent_before_may(wire, at):
    counts = [counted(0, 1 + len(wire)), counted(1, 0)]
    words = found(shake(0, session=SESSION), *wire, told=[CONNECTED, lost(at)], counts=counts)
    assert not list(words)


NONE = counted(1, 0)
"""The auditor's, where it does nothing."""


def test_requests_without_a_handshake_lack_it():
    assert of_wire(request(2 * SECOND), counts=[counted(0, 1), NONE]) == [
        "connection 1 of c0 carried requests or events, and no handshake of it is recorded"
    ]


def numbered(*xids, kazoo=True, client=0, **more):
    """What is said of requests of these numbers after a handshake, which may have ``asked``."""
    greeting = shake(client, session=SESSION)
    for name, value in more.items():
        setattr(greeting, name, value)
    wire = [greeting, *(request(2 * SECOND + xid, xid=xid, client=client) for xid in xids)]
    counts = [counted(0, 0), counted(1, 0)]
    counts[client]["recorded"] = len(wire)
    return of_wire(*wire, counts=counts, kazoo=kazoo)


def test_a_client_numbers_its_requests_without_a_gap():
    assert numbered(1, 2, 3, -2) == []
    assert numbered(2, 1) == []
    told = "2 requests of c0 are missing on its connection 1: their numbers have gaps"
    for kazoo in True, False:
        assert numbered(1, 2, 5, kazoo=kazoo) == [told]
        assert numbered(3, 4, kazoo=kazoo) == [told]
    assert numbered(1, 2, 5, kazoo=None) == []
    assert numbered(3, 5, client=1, kazoo=None) == [
        told.replace("c0", "the auditor").replace("2", "3", 1)
    ]


def test_kazoo_begins_anew_on_each_connection():
    assert numbered(3, 4, asked=SESSION, kazoo=False) == []
    assert numbered(3, 4, asked=SESSION, client=1) == []
    assert len(numbered(3, 4, asked=SESSION)) == 1


def test_requests_are_counted_by_kind():
    wire = shake(0), request(2 * SECOND), request(3 * SECOND, xid=2, name="create2")
    counts = [counted(0, 3), NONE]
    assert of_wire(*wire, counts=counts, kinds={"get-data": 1, "create": 1}) == []
    assert of_wire(*wire, counts=counts, kinds={"get-data": 2, "create": 1}) == [
        "the links carried 2 requests get-data of c0, and 1 are recorded"
    ]
    ended = (50 * SECOND, "control", "phase-end", {"phase": "final"})
    told = of_wire(*wire, counts=counts, kinds={"get-data": 1}, told=[ended])
    assert told == ["the links carried 0 requests create of c0, and 1 are recorded"]


def walked(error=None):
    return (COUNTED, "control", "walk", {"node": "n1", "error": error})


def test_the_auditor_was_greeted_on_all_its_connections():
    wire = shake(1), shake(1, connection=3)
    counts = [counted(0, 0), counted(1, 2)]
    told = ["no handshake is recorded of connection 2 of the auditor"]
    assert of_wire(*wire, counts=counts, told=[walked()]) == told
    assert of_wire(*wire, counts=counts, told=[walked("timed out")]) == []


@pytest.mark.parametrize(
    ("kind", "since", "reached"),
    [
        (None, None, False),
        ("client-partition", SECOND, True),
        ("client-partition", 3 * SECOND, False),
        ("kill", SECOND, False),
    ],
)
def test_what_was_sent_while_nothing_was_in_the_way_has_reached_its_client(kind, since, reached):
    """The event is sent at 2 s."""
    told = [(90 * SECOND, "control", "phase-end", {"phase": "final"})]
    if kind is not None:
        told.insert(0, (since, "nemesis", "start", {"id": 1, "kind": kind}))
    wire, counts = (shake(0), CREATED), [counted(0, 1, events=1), NONE]
    words = found(*wire, counts=counts, told=told).history
    lost = [each for each in words if "while no fault was in the way" in each]
    assert bool(lost) is not reached
    words = found(*wire, counts=counts, told=[*told, seen(2.5 * SECOND)]).history
    assert not [each for each in words if "while no fault was in the way" in each]


REFUSED = request(2 * SECOND, name="set-data")
REFUSED.error = -101
DONE = request(3 * SECOND, name="set-data", xid=2)
DONE.error = 0
ASKED = request(3 * SECOND, xid=2)


@pytest.mark.parametrize(
    ("then", "outcome", "plain", "denied"),
    [
        ([], "ok", True, True),
        ([], "ok", False, False),
        ([], "fail", True, False),
        ([DONE], "ok", True, False),
        ([ASKED], "ok", True, False),
    ],
)
def test_what_a_server_refused_was_not_done(then, outcome, plain, denied):
    wire = shake(0), REFUSED, *then
    kinds = {"set-data": 1 + (then == [DONE]), "get-data": int(then == [ASKED])}
    words = found(
        *wire,
        counts=[counted(0, len(wire)), NONE],
        calls=[(SECOND, "invoke"), (4 * SECOND, outcome)],
        told=[CONNECTED],
        kinds=kinds,
        plain=plain,
    ).history
    assert ["by the wire a server refused" in each for each in words] == [True] * denied


def test_a_time_that_no_clock_shows_is_no_error():
    late = request((1 << 63) - 1, answered=False)
    assert of_wire(shake(0), late, counts=[counted(0, 1), NONE], kinds={}, plain=True) == []
