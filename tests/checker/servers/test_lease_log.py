"""Leases in the logs of servers that are not ZooKeeper's."""

import json
from base64 import b64encode

import pytest

from rumpus.checker.servers.lease_log import FOR_EVER, Lease, leases_of_etcd, leases_of_redis
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.lease_view import lease_view
from rumpus.checker.untrusted_file import UnfitFile

CLOCK = WallClock([(0, 0)])


@pytest.fixture
def read(tmp_path):
    def written(reader, *lines):
        path = tmp_path / "log"
        path.write_bytes(b"".join(line.encode() + b"\n" for line in lines))
        return reader(path)

    return written


def test_a_lease_lasts_until_its_time_is_over(read):
    assert read(
        leases_of_redis,
        "started 99.000000",
        "OK",
        '100.500000 [0 172.21.0.1:1] "EVAL" "if \\"x\\"" "1" "/lock" "12" "2000"',
        '100.500100 [0 lua] "set" "/lock" "12" "NX" "PX" "2000"',
    ) == [Lease(12, 100_500, 102_500, expired=True)]


@pytest.mark.parametrize("part", ['\\" ', '"', '" ', "\\"])
def test_a_string_without_an_end_costs_one_look_at_it(read, part):
    assert read(leases_of_redis, '1.000000 [0 c:1] "set' + part * 200_000) == []


def test_a_replica_is_told_the_end(read):
    assert read(leases_of_redis, '1.000000 [0 172.21.0.2:6379] "SET" "/l" "7" "PXAT" "3000"') == [
        Lease(7, 1000, 3000, expired=True)
    ]
    assert read(leases_of_redis, '1.000000 [0 172.21.0.2:6379] "SET" "/l" "7" "EX" "3"') == [
        Lease(7, 1000, 4000, expired=True)
    ]


def test_a_holder_that_removes_its_key_ends_its_lease(read):
    asked = '1.000000 [0 c:1] "set" "/l" "7" "NX" "PX" "2000"'
    assert read(
        leases_of_redis,
        asked,
        '1.500000 [0 c:1] "EVAL" "script" "1" "/l" "7"',
        '1.500010 [0 lua] "get" "/l"',
        '1.500020 [0 lua] "del" "/l"',
    ) == [Lease(7, 1000, 3000, expired=False)]
    # Not if another removes it: by right it lasts.
    assert read(
        leases_of_redis,
        asked,
        '1.500000 [0 c:2] "EVAL" "script" "1" "/l" "8"',
        '1.500020 [0 lua] "del" "/l"',
    ) == [Lease(7, 1000, 3000, expired=True)]


def test_times_of_a_clock_that_is_set_are_converted_back(read):
    assert read(
        leases_of_redis,
        '100.000000 [0 c:1] "set" "/l" "1" "NX" "PX" "2000"',
        "clock 3",
        '100.200000 [0 c:1] "set" "/l" "2" "NX" "PX" "2000"',  # not yet
        '103.300000 [0 c:1] "set" "/l" "3" "NX" "PX" "2000"',
        '103.400000 [0 c:1] "set" "/l" "4" "PXAT" "105000"',
        "clock 0",
        '100.500000 [0 c:1] "set" "/l" "5" "NX" "PX" "2000"',
    ) == [
        Lease(1, 100_000, 102_000, expired=True),
        Lease(2, 100_200, 102_200, expired=True),
        Lease(3, 100_300, 102_300, expired=True),
        Lease(4, 100_400, 102_000, expired=True),
        Lease(5, 100_500, 102_500, expired=True),
    ]


def test_what_is_no_lease_is_passed_over(read):
    assert (
        read(
            leases_of_redis,
            '1.000000 [0 c:1] "set" "/l" "7"',
            '1.000000 [0 c:1] "set" "/l" "name" "PX" "2000"',
            '1.000000 [0 c:1] "set" "/l" "7" "PX" "soon"',
            '1.000000 [0 c:1] "set"',
            "broken \x00 line",
            "",
        )
        == []
    )


def test_a_log_that_is_no_file_is_refused(tmp_path):
    with pytest.raises(UnfitFile, match="directory"):
        leases_of_redis(tmp_path)


def event(seconds, key, value=None, *, lease=7587848392943, created=2, revision=3):
    kind = {} if value is not None else {"type": 1}
    pair = {"key": b64encode(key.encode()).decode(), "mod_revision": revision}
    if value is not None:
        text = b64encode(value.encode()).decode()
        pair |= {"value": text, "lease": lease, "create_revision": created}
    return f"{seconds:.6f} " + json.dumps({"Header": {}, "Events": [{**kind, "kv": pair}]})


def test_events_of_etcd(read):
    assert read(
        leases_of_etcd,
        event(1, "/l", "7"),
        event(3, "/l"),
        event(4, "/l", "8"),
        event(4.5, "/l"),
        event(5, "/l", "9"),
        event(5, "/other", "text"),
        event(5, "/other"),
        '5.000000 {"Header":{',
    ) == [
        Lease(7, 1000, 3000, expired=True),
        Lease(8, 4000, 6000, expired=False),
        Lease(9, 5000, FOR_EVER, expired=True),
    ]


def test_a_watch_that_began_again_changes_no_beginning(read):
    lines = [event(1, "/l", "7"), event(3, "/l", "8"), event(9, "/l", "7")]
    assert [lease.start for lease in read(leases_of_etcd, *lines)] == [1000, 3000]


def test_an_end_that_is_told_again_stays_where_it_was(read):
    lines = [event(1, "/l", "7"), event(1.5, "/l"), event(9, "/l", "7"), event(9, "/l")]
    assert read(leases_of_etcd, *lines) == [Lease(7, 1000, 3000, expired=False)]


def test_a_session_lasts_as_long_as_its_key(read):
    key = f"/l-sessions/{12:016x}"
    assert read(
        leases_of_etcd,
        event(1, key, "c0"),
        event(2, "/l/000000000000000c", "{}"),
        event(2.5, "/l/000000000000000c"),
        event(7, key),
        event(9, key, "c0"),
        event(9, key),
        event(10, f"/l-sessions/{(1 << 64) - 5:016x}", "c1"),
    ) == [
        Lease(12, 1000, 7000, expired=True, keys=()),
        Lease(-5, 10_000, FOR_EVER, expired=True, keys=()),
    ]


def test_keys_that_go_with_their_session_were_not_removed_by_their_holder(read):
    key = f"/l-sessions/{12:016x}"
    lines = [
        event(1, key, "c0", lease=12),
        event(2, "/l/000000000000000c", "{}", lease=12, created=5),
        event(3, "/l/000000000000000c", revision=6),
        event(4, "/l/000000000000000c", "{}", lease=12, created=7),
        event(5, "/l/000000000000000d", "{}", lease=13, created=8),
        event(6, "/l/000000000000000c", revision=9),
        event(6, "/l/000000000000000d", revision=9),
        event(6, key, revision=9),
    ]
    (session,) = read(leases_of_etcd, *lines)
    assert session == Lease(12, 1000, 6000, expired=True, keys=(7,))
    assert read(leases_of_etcd, *lines, *lines) == [session], "a watch that began again"
    assert lease_view([[session], [session]], CLOCK, quorum=1).lapsed == {("0xc", 7)}


def test_what_ends_everywhere_ended_where_it_was_seen_first():
    assert view([(0, 2000, True)], [(0, 9000, True)], quorum=2).ends["0x7"].time == 2_000_000_000


def view(*servers, quorum=1):
    return lease_view(
        [
            [Lease(7, start, end, expired=expired) for start, end, expired in each]
            for each in servers
        ],
        CLOCK,
        quorum=quorum,
    )


def test_a_grant_of_one_server_lasts_as_long_as_any_has_it():
    seen = view([(0, 2000, True)], [(5, 2005, True)])
    assert seen.known == {"0x7"}
    assert seen.ends["0x7"].time == 2_005_000_000
    assert seen.ends["0x7"].expired


def test_a_grant_of_a_majority_lasts_as_long_as_a_majority_has_it():
    servers = [(0, 1990, True)], [(0, 2000, True)], [(0, 2010, True)]
    assert view(*servers, quorum=2).ends["0x7"].time == 2_000_000_000
    assert view(*servers, quorum=3).ends["0x7"].time == 1_990_000_000


def test_a_lease_that_its_holder_removed_has_not_expired():
    seen = view([(0, 2000, False)])
    assert not seen.ends["0x7"].expired
    assert seen.lapsed == frozenset()
    assert view([(0, 2000, True)]).lapsed == {("0x7", None)}


def test_a_lease_whose_end_was_not_seen_has_none():
    seen = view([(0, FOR_EVER, True)])
    assert seen.tells("0x7", 10**12)
    assert seen.ended("0x7") is None
