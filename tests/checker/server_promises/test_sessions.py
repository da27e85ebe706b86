"""What servers do with sessions, against what the links saw of them: each finding and its twin."""

import msgspec
import pytest

from rumpus.checker.server_promises.sessions import check_server_sessions
from rumpus.simulation.zookeeper.wire import opcodes
from tests.checker.wire.recorded_engine import PASSWORD, RecordedEngine, asking, granting

EXPIRED = granting(0, bytes(16), 0)


def found(engine, **given):
    return [
        (each.kind, each.description)
        for each in check_server_sessions(engine.timeline(**given)).anomalies
    ]


def kinds(engine, **given):
    return [kind for kind, _ in found(engine, **given)]


def served():
    """A server that has served for a while, and a client that has just got a session."""
    engine = RecordedEngine()
    client = engine.connect()
    client.ask(opcodes.CLOSE_SESSION, b"")
    engine.tick(3_000)
    return engine, engine.connect()


def expire(client):
    """The server ends the session by itself."""
    tap, client.tap = client.tap, None
    client.xid = 0
    client.ask(opcodes.CLOSE_SESSION, b"")
    client.tap = tap


@pytest.mark.parametrize(
    ("silence", "expected"),
    [
        (2_000, ["early-expiry"]),
        (3_800, ["early-expiry"]),
        (4_001, []),
        (5_500, []),
        (6_400, []),
        (6_700, ["late-expiry"]),
        (9_000, ["late-expiry"]),
    ],
)
def test_a_session_lives_for_its_timeout_and_no_longer(silence, expected):
    """4 s, with a tick of 1 s."""
    engine, client = served()
    engine.tick(3_000)
    client.ask(opcodes.PING, b"")
    engine.tick(silence)
    expire(client)
    assert kinds(engine) == expected


def test_a_session_that_nobody_ends_is_late():
    engine, client = served()
    client.create("/a", flags=1)
    engine.tick(6_400)
    assert kinds(engine) == []
    engine, client = served()
    client.create("/a", flags=1)
    engine.tick(8_000)
    assert kinds(engine) == ["late-expiry"]
    session = next(iter(reversed(engine.timeline().logs.truth.sessions())))
    with_doubt = engine.timeline()
    closing = next(txn for txn in with_doubt.logs.truth.committed if txn.name == "closeSession")
    with_doubt.logs.truth.uncertain = (msgspec.structs.replace(closing, session=int(session, 16)),)
    judged = check_server_sessions(with_doubt)
    assert judged.anomalies == [], "no log tells whether its end was committed"


def test_a_close_that_the_logs_end_before_is_not_held_against_the_server():
    engine, client = served()
    client.ask(opcodes.CLOSE_SESSION, b"")
    timeline = engine.timeline()
    truth = timeline.logs.truth
    *before, closing = truth.committed
    for last, expected in (
        (closing, []),
        (msgspec.structs.replace(closing, session=1), ["late-expiry"]),
        (None, []),
    ):
        truth.committed = (*before, last) if last is not None else tuple(before)
        assert [each.kind for each in check_server_sessions(timeline).anomalies] == expected


def test_what_a_server_may_not_have_heard_keeps_no_session_alive():
    engine, client = served()
    engine.tick(2_500)
    client.answered = False
    client.ask(opcodes.PING, b"")
    engine.tick(1_700)
    expire(client)
    assert kinds(engine) == []


@pytest.mark.parametrize("silence", [1_500, 12_000])
def test_nothing_is_asked_where_something_was_in_the_servers_way(silence):
    engine, client = served()
    client.create("/a")
    engine.tick(silence)
    expire(client)
    assert kinds(engine) != []
    assert kinds(engine, leaderless=[(0, 1)]) != []
    assert kinds(engine, leaderless=[(0, engine.time - 1_000_000)]) == []


def test_what_a_follower_heard_may_reach_the_leader_as_long_after_a_fault_as_that_lasted():
    engine, client = served()
    client.create("/a")
    asked = engine.time
    engine.tick(1_700)
    expire(client)
    assert kinds(engine) == ["early-expiry"]
    second = 1_000_000_000
    assert kinds(engine, leaderless=[(asked - 2 * second, asked - second)]) == []
    assert kinds(engine, leaderless=[(asked - 2 * second, asked - 2 * second + 1)]) != []


def resumed(password=PASSWORD, *, after=0):
    engine, client = served()
    if after:
        expire(client)
        engine.tick(after)
    engine.attach(client, asking(client.session, password), granting(client.session, password))
    return engine, client


def test_a_session_is_resumed_with_its_password_only():
    assert kinds(resumed()[0]) == []
    assert kinds(resumed(bytes(16))[0]) == ["unproven-session"]
    engine, client = served()
    engine.attach(client, asking(client.session, bytes(16)), EXPIRED)
    assert kinds(engine) == []


def test_a_session_that_ended_is_not_resumed():
    assert "revived-session" in kinds(resumed(after=2_000)[0])


def moved(*, error=0, asked_late=True):
    """A session that is granted at n2, and goes on at n1 all the same."""
    engine, client = served()
    other = client
    if not asked_late:  # it may be that n1 was the second to get it
        other = engine.connect()
        engine.attach(other, asking(client.session, PASSWORD), granting(client.session), "n2")
        engine.attach(client, asking(client.session, PASSWORD), granting(client.session), "n1")
    first = client.tap
    if asked_late:
        engine.attach(client, asking(client.session, PASSWORD), granting(client.session), "n2")
    client.tap, client.xid = first, 5
    client.spoil = lambda _kind, _error, body: (error, b"" if error else body)
    client.create("/a")
    return engine


def test_an_answer_to_another_request_of_that_number_shows_no_write_of_a_session_that_has_moved():
    engine, client = served()
    client.create("/a")
    client.create("/a/b")
    former = client.tap
    engine.attach(client, asking(client.session, PASSWORD), granting(client.session), "n2")
    client.xid = 5
    client.set("/a/b", b"x")
    carried_out = engine.entries[-1]
    client.tap, client.xid = former, 5
    client.set("/a", b"x")
    engine.entries[-1:] = []  # n1 takes the other's transaction for its own
    assert engine.entries[-1] is carried_out
    assert kinds(engine) == []


def test_a_server_that_a_session_has_left_carries_nothing_out():
    ((kind, words),) = found(moved())
    assert kind == "moved-session"
    assert "at n1" in words
    assert "moved to n2" in words
    assert kinds(moved(error=-118)) == []
    assert kinds(moved(asked_late=False)) == []
