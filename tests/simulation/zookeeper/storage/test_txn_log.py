from struct import pack
from zlib import adler32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumpus.checker.servers.txnlog import CorruptLog, parse_log
from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.zookeeper.startup_errors import StartupRefused
from rumpus.simulation.zookeeper.storage.txn_log import HEADER, TxnLog, records
from tests.simulation.zookeeper.entries import create, set_data


class World:
    def __init__(self, seed=1):
        self.simulator = Simulator(seed)
        self.disk = Disk(self.simulator, "n1")
        self.process = self.simulator.process("n1")

    def sync(self, log):
        answers = []
        log.sync(self.process, answers.append)
        self.simulator.run(self.simulator.now + SECOND)
        assert len(answers) == 1
        return answers[0]


@pytest.fixture
def world():
    world = World()
    yield world
    world.simulator.close()


def some(first, last, data=b"x"):
    return [set_data(zxid, "/a", data, zxid) for zxid in range(first, last + 1)]


def fill(log, found):
    for entry in found:
        log.append(entry)


def zxids(log, zxid=0):
    return [entry.header.zxid for entry in log.read(zxid)]


def test_a_file_is_as_described(world):
    first, second = create(0x1A, "/a", digest=7), set_data(0x1B, "/a", b"x", 1)
    fill(TxnLog(world.disk), [first, second])
    assert world.disk.list() == ["version-2/log.1a"]
    data = world.disk.read("version-2/log.1a")
    assert data[:16] == bytes.fromhex("5A4B4C47 00000002 00000000 00000000")
    at = 16
    for entry in (first, second):
        payload = entry.payload
        record = pack(">qi", adler32(payload), len(payload)) + payload + b"\x42"
        assert data[at : at + len(record)] == record
        at += len(record)
    assert at == len(data)


def test_what_is_appended_is_read(world):
    log = TxnLog(world.disk)
    fill(log, some(1, 5))
    assert list(log.read(0)) == some(1, 5)
    assert zxids(log, 3) == [3, 4, 5]
    assert zxids(log, 6) == []
    assert log.last_zxid() == 5


def test_a_new_log_has_no_files(world):
    log = TxnLog(world.disk)
    assert not log.exists
    assert log.last_zxid() == -1
    assert zxids(log) == []


def test_each_start_and_each_roll_begins_a_file(world):
    log = TxnLog(world.disk)
    fill(log, some(1, 2))
    log.roll()
    log.roll()
    fill(log, some(3, 4))
    fill(TxnLog(world.disk), some(16, 17))
    assert world.disk.list() == [f"version-2/log.{first}" for first in ("1", "10", "3")]
    assert zxids(log) == [1, 2, 3, 4, 16, 17]
    assert zxids(log, 3) == [3, 4, 16, 17]
    assert zxids(log, 5) == [16, 17]


def test_reading_begins_with_the_newest_file_below(world):
    log = TxnLog(world.disk)
    for found in (some(1, 2), some(3, 4), some(5, 6)):
        fill(log, found)
        log.roll()
    assert [entry.header.zxid for entry in log.read_files(4)] == [3, 4, 5, 6]
    assert log.allocated_after_first_file(4) == 67108880
    # What is broken in a file that is not read does no harm.
    world.disk.write_whole("version-2/log.1", b"")
    assert zxids(log, 4) == [4, 5, 6]
    with pytest.raises(StartupRefused):
        zxids(log, 1)


def test_a_file_of_the_same_name_is_emptied(world):
    world.disk.write_whole("version-2/log.1", HEADER + b"partial")
    log = TxnLog(world.disk)
    fill(log, some(1, 2))
    assert zxids(log) == [1, 2]


def test_what_is_synced_survives_a_crash(world):
    log = TxnLog(world.disk)
    fill(log, some(1, 3))
    assert world.sync(log) is None
    world.disk.crash()
    assert zxids(TxnLog(world.disk)) == [1, 2, 3]


def test_a_sync_covers_the_file_before_the_roll(world):
    log = TxnLog(world.disk)
    fill(log, some(1, 3))
    log.roll()
    fill(log, some(4, 5))
    assert world.sync(log) is None
    fill(log, some(6, 6))
    assert world.sync(log) is None
    syncs = world.disk.syncs
    assert syncs == 3  # the first two together, and then only the current file
    world.disk.crash()
    assert zxids(TxnLog(world.disk)) == [1, 2, 3, 4, 5, 6]


def test_a_roll_while_a_sync_is_under_way_loses_nothing(world):
    log = TxnLog(world.disk)
    answers = []
    fill(log, some(1, 1))
    log.roll()
    fill(log, some(2, 2))
    log.sync(world.process, answers.append)
    fill(log, some(3, 3))
    log.roll()
    fill(log, some(4, 4))
    world.simulator.run(SECOND)
    assert answers == [None]
    assert world.sync(log) is None
    world.disk.crash()
    assert zxids(TxnLog(world.disk)) == [1, 2, 3, 4]


def test_a_sync_covers_what_a_killed_program_left_in_the_cache(world):
    log = TxnLog(world.disk)
    fill(log, some(1, 2))
    assert world.sync(TxnLog(world.disk)) is None
    world.disk.crash()
    assert zxids(TxnLog(world.disk)) == [1, 2]


def test_nothing_to_sync_is_synced_at_once(world):
    assert world.sync(TxnLog(world.disk)) is None


def test_errors_of_the_disk_come_back(world):
    log = TxnLog(world.disk)
    fill(log, some(1, 1))
    world.disk.fail_sync()
    assert isinstance(world.sync(log), OSError)
    log.roll()
    fill(log, some(2, 2))
    assert isinstance(world.sync(log), OSError)
    world.disk.full(10)
    with pytest.raises(OSError, match="No space"):
        log.append(set_data(3, "/a", b"x", 3))
    world.disk.heal()
    assert zxids(TxnLog(world.disk)) == [1, 2]  # the third is there in part


def test_a_disk_that_lies_loses_what_it_said_was_safe():
    losses = 0
    for seed in range(10):
        world = World(seed)
        world.disk.lie()
        log = TxnLog(world.disk)
        fill(log, some(1, 3))
        assert world.sync(log) is None
        world.disk.crash()
        losses += zxids(TxnLog(world.disk)) != [1, 2, 3]
        world.simulator.close()
    assert losses


# -- torn tails: the table of section 8.4 -------------------------------------------------------


def written(count=3):
    world = World()
    fill(TxnLog(world.disk), some(1, count))
    return world.disk.read("version-2/log.1")


WHOLE = written()
LAST = len(WHOLE) - len(written(2))


def read(data):
    """Zxids of a log of these bytes; the other parser must say the same."""
    world = World()
    world.disk.write_whole("version-2/log.1", data)
    try:
        found = zxids(TxnLog(world.disk))
    except StartupRefused as refusal:
        with pytest.raises(CorruptLog):
            parse_log(data)
        return str(refusal)
    assert found == [txn.zxid for txn in parse_log(data).txns]
    return found


@pytest.mark.parametrize("length", range(LAST))
def test_a_last_record_that_is_cut_anywhere_is_dropped(length):
    assert read(WHOLE[: len(WHOLE) - LAST + length]) == [1, 2]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (WHOLE + bytes(100), [1, 2, 3]),
        (WHOLE, [1, 2, 3]),
        (WHOLE[:-1] + b"C", [1, 2]),
        (WHOLE[:-1] + b"\0" + bytes(50), [1, 2]),
        (WHOLE[:-9] + bytes(200), [1, 2]),
        (HEADER, []),
        (HEADER + bytes(1000), []),
        # The end of a file is its end, whatever stands behind.
        (WHOLE[:-1] + b"C" + WHOLE[16:], [1, 2]),
    ],
    ids=["padding", "end", "end mark", "zeroed", "payload", "header", "empty", "behind"],
)
def test_these_ends_are_quiet(data, found):
    assert read(data) == found


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (WHOLE[:-2] + bytes([WHOLE[-2] ^ 1]) + WHOLE[-1:], "CRC check failed"),
        (WHOLE + pack(">qi", 0, 2 * 1048575 + 1), "unreasonable length"),
        (WHOLE + pack(">qi", 0, -1), "unreasonable length"),
        (b"", "too short"),
        (HEADER[:-1], "too short"),
        (b"ZKSN" + WHOLE[4:], "magic"),
    ],
    ids=["checksum", "long", "null", "no bytes", "part of header", "magic"],
)
def test_these_ends_are_fatal(data, why):
    assert why in read(data)


def test_a_length_that_is_just_reasonable_is_a_torn_record():
    assert read(WHOLE + pack(">qi", 0, 2 * 1048575)) == [1, 2, 3]


def test_a_whole_record_of_an_unknown_type_is_fatal():
    payload = pack(">qiqqi", 1, 1, 4, 1, 99)
    record = pack(">qi", adler32(payload), len(payload)) + payload + b"B"
    assert "unsupported transaction type 99" in read(WHOLE + record)


def test_a_whole_record_without_a_header_is_fatal():
    record = pack(">qi", adler32(b"short"), 5) + b"shortB"
    assert "has no header" in read(WHOLE + record)


def test_the_zxid_of_a_torn_record_can_be_used_again(world):
    log = TxnLog(world.disk)
    fill(log, some(1, 3))
    file = world.disk.open("version-2/log.1")
    file.truncate(file.size - 5)
    fill(TxnLog(world.disk), some(3, 4, b"new"))
    assert world.disk.list() == ["version-2/log.1", "version-2/log.3"]
    assert list(log.read(0)) == some(1, 2) + some(3, 4, b"new")


def test_a_bad_end_mark_in_an_old_file_skips_to_the_next(world):
    log = TxnLog(world.disk)
    fill(log, some(1, 3))
    log.roll()
    fill(log, some(4, 5))
    world.disk.corrupt_tail("version-2/log.1", 1)
    assert zxids(log) == [1, 2, 4, 5]


# -- truncation --------------------------------------------------------------------------------


def three_files(world):
    log = TxnLog(world.disk)
    for found in (some(1, 3), some(4, 6), some(7, 9)):
        fill(log, found)
        log.roll()
    return log


@pytest.mark.parametrize("zxid", range(1, 10))
def test_a_truncated_log_ends_with_the_zxid(world, zxid):
    log = three_files(world)
    log.truncate(zxid)
    assert zxids(log) == list(range(1, zxid + 1))
    kept = [first for first in (1, 4, 7) if first <= zxid]
    assert world.disk.list() == [f"version-2/log.{first}" for first in kept]
    path = f"version-2/log.{kept[-1]}"
    ends = [end for _, end in records(world.disk.read(path), path)]
    assert ends[-1] == len(world.disk.read(path))


def test_what_comes_after_a_truncation_begins_a_file(world):
    log = three_files(world)
    log.truncate(5)
    fill(log, some(6, 7, b"new"))
    assert world.disk.list() == ["version-2/log.1", "version-2/log.4", "version-2/log.6"]
    assert list(log.read(0)) == some(1, 5) + some(6, 7, b"new")


def test_entries_above_go_also_where_the_zxid_was_never_logged(world):
    log = TxnLog(world.disk)
    fill(log, [set_data(zxid, "/a", b"x", 1) for zxid in (2, 3, 7, 8)])
    assert [log.has(zxid) for zxid in (1, 3, 5, 8, 9)] == [False, True, False, True, False]
    log.truncate(5)
    assert zxids(log) == [2, 3]
    log.truncate(1)
    assert zxids(log) == []
    assert not log.exists
    log.truncate(1)
    assert not log.exists


def test_the_next_sync_makes_a_truncation_safe():
    for seed in range(20):
        world = World(seed)
        log = TxnLog(world.disk)
        fill(log, some(1, 3))
        world.sync(log)
        log.truncate(2)
        fill(log, some(9, 9))
        assert world.sync(log) is None
        world.disk.crash()
        assert zxids(TxnLog(world.disk)) == [1, 2, 9]
        world.simulator.close()


# -- crashes -----------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 40)),
        st.tuples(st.just("sync"), st.just(0)),
        st.tuples(st.just("roll"), st.just(0)),
        st.tuples(st.just("crash"), st.just(0)),
        st.tuples(st.just("restart"), st.just(0)),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=150)
@given(STEPS, st.integers(0, 1000))
def test_crashes_take_only_the_end_of_what_was_not_synced(steps, seed):
    world = World(seed)
    log = TxnLog(world.disk)
    appended, safe, zxid = [], 0, 0
    for step, size in [*steps, ("crash", 0)]:
        if step == "append":
            zxid += 1
            appended.append(set_data(zxid, "/a", bytes(size), zxid))
            log.append(appended[-1])
        elif step == "sync":
            assert world.sync(log) is None
            safe = len(appended)
        elif step == "roll":
            if safe == len(appended):
                log.roll()
        else:
            if step == "crash":
                world.disk.crash()
                world.simulator.run(world.simulator.now + SECOND)
            log = TxnLog(world.disk)
            left = list(log.read(0))
            assert left == appended[: len(left)]
            if step == "crash":
                assert safe <= len(left)
            else:
                assert len(left) == len(appended)
            # A standalone server uses the zxids that were lost again.
            appended, zxid = left, len(left)
            if log.unsynced:
                assert step == "restart"
                assert world.sync(log) is None  # as a server does when it starts
            safe = len(left)
    world.simulator.close()
