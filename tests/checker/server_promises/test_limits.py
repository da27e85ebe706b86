"""What servers grant, read and carry out, against their settings: each finding and its twin."""

import pytest

from rumpus.checker.server_promises.limits import LONGEST_REQUEST, check_server_limits, length_of
from rumpus.checker.wire.records import Request
from rumpus.checker.wire.settings import ServerSettings
from rumpus.harness import probes
from rumpus.simulation.zookeeper.settings import Settings
from tests.checker.recorded import Recorded
from tests.checker.wire.recorded_engine import PASSWORD, RecordedEngine, asking, granting

RECONFIG = probes.of_members()[0]


def found(engine, **given):
    return [
        (each.kind, each.description)
        for each in check_server_limits(engine.timeline(**given)).anomalies
    ]


def kinds(engine, **given):
    return [kind for kind, _ in found(engine, **given)]


def granted(wanted, timeout, session=0):
    engine = RecordedEngine()
    client = engine.connect()
    answer = granting(client.session, PASSWORD, timeout)
    engine.attach(client, asking(session and client.session, PASSWORD, wanted), answer)
    return engine


@pytest.mark.parametrize("session", [0, 1])
@pytest.mark.parametrize(
    ("wanted", "due"),
    [
        *((1, 2_000), (1_999, 2_000), (2_000, 2_000), (7_001, 7_001), (20_000, 20_000)),
        *((20_001, 20_000), (0x7FFFFFFF, 20_000), (0, 2_000), (-5, 2_000)),
    ],
)
def test_a_timeout_is_the_one_asked_for_within_two_and_twenty_ticks(wanted, due, session):
    """A tick is a second here, whether the session is new or is resumed."""
    assert kinds(granted(wanted, due, session)) == []
    for other in (due - 1, due + 1):
        ((kind, words),) = found(granted(wanted, other, session))
        assert kind == "wrong-answer"
        assert f"granted c0 a session timeout of {other} ms, and must grant {due} ms" in words


def test_a_refusal_grants_no_timeout():
    engine = RecordedEngine()
    client = engine.connect()
    engine.attach(client, asking(client.session, bytes(16), 1), granting(0, bytes(16), 0))
    assert kinds(engine) == []


def test_nothing_is_judged_by_settings_that_are_not_known():
    assert check_server_limits(granted(1, 1).timeline(settings=None)) is None
    assert kinds(granted(1, 1)) == ["wrong-answer"]


def test_the_simulated_servers_have_the_settings_that_runs_say():
    engine = RecordedEngine()
    said, simulated = engine.timeline().settings, Settings(tick_time=1000)
    assert (said.shortest_session, said.longest_session, said.longest_request) == (
        *(simulated.shortest_session, simulated.longest_session),
        simulated.max_buffer,
    )
    assert said.reconfigurable == simulated.reconfig


def lengthy(length, error=0):
    """A server that answers a request of a length."""
    engine = RecordedEngine()
    client = engine.connect()
    client.spoil = lambda _kind, right, body: (error or right, b"" if error else body)
    client.set("/", b"x" * (length - 8 - 5 - 4 - 4))
    return engine


def test_the_length_of_a_request_is_known():
    for kind, body in (probes.of_length("/a")[1], probes.too_long("/a")[0]):
        engine = RecordedEngine()
        engine.connect().ask(kind, body)
        (request,) = (each for each in engine.timeline().wire if isinstance(each, Request))
        assert length_of(request) == 8 + len(body)


def test_a_request_that_is_too_long_is_not_carried_out():
    assert kinds(lengthy(LONGEST_REQUEST)) == []
    ((kind, words),) = found(lengthy(LONGEST_REQUEST + 1))
    assert kind == "illegal-change"
    assert "carried out set-data / of c0, a request of 1,048,576 bytes" in words
    assert kinds(lengthy(LONGEST_REQUEST + 1, error=-5)) == ["wrong-answer"]


def test_a_request_that_is_too_long_and_not_answered_is_none_that_was_carried_out():
    engine = RecordedEngine()
    client = engine.connect()
    client.answered = False
    client.ask(*probes.too_long("/nowhere")[0])
    assert kinds(engine) == []


def walked(unanswered, session="0x1"):
    """A walk of two seconds, which ends at 4 s."""
    value = {"node": "n1", "znodes": 9, "zxid": 1, "seconds": 2.0, "session": session}
    recorded = Recorded(1).add(
        4_000, "control", "info", "walk", {**value, "error": None, "unanswered": unanswered}
    )
    return recorded.end(4_001).history()


def test_a_server_that_reads_less_than_it_must_is_found():
    engine = RecordedEngine()
    engine.connect()
    ((kind, words),) = found(engine, history=walked(2))
    assert kind == "wrong-answer"
    assert "n1 did not answer requests of 1,048,575 bytes" in words
    assert kinds(engine, history=walked(1)) == []
    assert kinds(engine, history=walked(2, session=None)) == []
    second = 1_000_000_000
    assert kinds(engine, history=walked(2), leaderless=[(0, 3 * second)]) == []
    assert kinds(engine, history=walked(2), leaderless=[(0, second)]) == ["wrong-answer"]


@pytest.mark.parametrize("reconfigurable", [False, True])
def test_a_reconfig_is_refused_where_that_is_disabled(reconfigurable):
    engine = RecordedEngine()
    client = engine.connect()
    client.ask(*RECONFIG)
    assert client.error == -123
    assert kinds(engine) == []
    client.spoil = lambda *_: (0, b"")
    client.ask(*RECONFIG)
    settings = ServerSettings(2_000, 20_000, reconfigurable=reconfigurable)
    result = check_server_limits(engine.timeline(settings=settings))
    assert [each.kind for each in result.anomalies] == ["illegal-change"] * (not reconfigurable)
    assert result.stats["reconfigs"] == 2
