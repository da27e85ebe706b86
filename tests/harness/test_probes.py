"""The probes: a sound server refuses what it must, and nothing of them stays."""

import pytest

from rumpus.checker.server_promises.answers import check_server_answers
from rumpus.checker.server_promises.events import check_server_events
from rumpus.checker.server_promises.limits import check_server_limits
from rumpus.checker.server_promises.rules import check_server_rules
from rumpus.harness import probes
from tests.checker.wire.recorded_engine import RecordedEngine

ROOT = "/audit-1"
OF_A_SERVER = (check_server_rules, check_server_answers, check_server_events)
REFUSED = {
    probes.of_versions: {-103, -108, -110, -111, -101},
    probes.of_transactions: {-101},
    probes.of_rights: {-102},
    probes.of_watches: {-101, -103},
    probes.of_lists: set(),
    probes.of_containers: set(),
    probes.of_quotas: set(),
}


def test_every_group_is_asked():
    asked = probes.all_of(ROOT)
    assert asked == [each for group in REFUSED for each in group(ROOT)]


def test_a_sound_server_refuses_what_it_must_and_is_not_blamed():
    engine = RecordedEngine(extended_types=True)
    client, sleeper = engine.connect(), engine.connect()
    for group, refused in REFUSED.items():
        errors = set()
        for kind, body in group(ROOT):
            client.ask(kind, body)
            errors.add(client.error)
        assert errors - {0} == refused, group.__name__
    for kind, body in probes.of_a_session_that_sleeps(ROOT):
        sleeper.ask(kind, body)
    for kind, body in probes.of_a_connection_that_follows(ROOT, client.zxid):
        client.ask(kind, body)
        assert client.error == 0
    client.ask(probes.CLOSE, b"")
    sleeper.ask(probes.CLOSE, b"")
    last = engine.connect()
    for kind, body in probes.of_the_end(ROOT):
        last.ask(kind, body)
    for kind, body in probes.of_members():
        last.ask(kind, body)
        assert last.error == -123
    assert last.children("/") == ["zookeeper"]
    timeline = engine.timeline()
    for check in (*OF_A_SERVER, check_server_limits):
        result = check(timeline)
        assert result.anomalies == []
        assert result.unjudged == []


def test_a_request_is_as_long_as_a_server_reads_or_a_byte_longer():
    lengths = [8 + len(body) for _, body in (*probes.of_length(ROOT), *probes.too_long(ROOT))]
    assert (max(lengths[:-1]), lengths[-1]) == (0xFFFFF, 0xFFFFF + 1)


@pytest.mark.parametrize("group", REFUSED)
def test_every_probe_is_one_that_the_record_of_the_wire_can_read(group):
    engine = RecordedEngine(extended_types=True)
    client = engine.connect()
    for kind, body in group(ROOT):
        client.ask(kind, body)
    assert b"malformed" not in engine.log.finish()
