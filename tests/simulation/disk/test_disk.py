import errno
import itertools
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.simulation.disk.contents import Contents, Sync
from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.simulator import SECOND, Simulator


@pytest.fixture
def simulator():
    simulator = Simulator(3)
    yield simulator
    simulator.close()


@pytest.fixture
def disk(simulator):
    return Disk(simulator, "n1")


@pytest.fixture
def process(simulator):
    return simulator.process("p")


@pytest.fixture
def file(disk):
    return disk.create("f")


@pytest.fixture
def sync(simulator):
    """Syncs a file, and says how that ended and how long it took (ns)."""
    process = simulator.process("p")

    def sync(file):
        results = []
        before = simulator.now
        file.sync(process, lambda error: results.append((error, simulator.now - before)))
        assert results == []
        simulator.run(simulator.now + 10 * SECOND)
        [(error, time)] = results
        return error and error.errno, time

    return sync


def test_what_was_synced_survives_any_crash(disk, sync):
    file = disk.create("log/1")
    file.append(b"safe")
    error, time = sync(file)
    assert error is None
    assert 100_000 <= time <= 900_000
    file.append(b" and not")
    assert file.safe_size == 4
    disk.crash()
    assert disk.read("log/1").startswith(b"safe")
    assert b"safe and not".startswith(disk.read("log/1"))


def test_a_crash_leaves_any_prefix_of_what_was_not_synced(simulator):
    sizes = {}
    for seed in range(200):
        disk = Disk(simulator, "n1", commit_interval=0)
        file = disk.create("f")
        file.append(b"abc")
        file.append(b"defg")
        disk.crash(Random(seed))
        data = disk.read("f")
        assert b"abcdefg".startswith(data)
        sizes[len(data)] = None
    assert sorted(sizes) == list(range(8))  # torn writes, none, and all


def test_a_file_written_in_one_go_is_safe_when_its_name_is(simulator):
    kept = set()
    for seed in range(50):
        disk = Disk(simulator, f"n{seed}")
        disk.write_whole("whole", b"old")
        simulator.run(simulator.now + 6 * SECOND)
        disk.create("other")
        disk.write_whole("whole", b"new")
        disk.crash(Random(seed))
        kept.add(disk.read("whole"))
    assert kept == {b"old", b"new"}


def test_a_killed_process_loses_nothing(simulator, disk, process, file):
    file.append(b"abc")
    done = []
    file.sync(process, done.append)
    process.kill()
    simulator.run(SECOND)
    assert done == []
    assert disk.syncs == 1
    assert disk.read("f") == b"abc"


def test_a_frozen_process_learns_of_its_sync_when_it_thaws(simulator, process, file):
    done = []
    file.sync(process, done.append)
    process.freeze()
    simulator.run(SECOND)
    assert done == []
    process.thaw()
    assert done == [None]


def test_a_sync_saves_what_was_written_before_it(simulator, process, file):
    file.append(b"before")
    file.sync(process, lambda _: None)
    file.append(b"after")
    simulator.run(SECOND)
    assert file.safe_size == len(b"before")


def test_a_sync_under_way_in_a_crash_never_ends(simulator, disk, process, file):
    done = []
    file.sync(process, done.append)
    disk.crash()
    simulator.run(SECOND)
    assert done == []


def test_syncs_wait_for_each_other(simulator, disk):
    process = simulator.process("p")
    ended = []
    for number in range(10):
        disk.create(str(number)).sync(process, lambda _: ended.append(simulator.now))
    simulator.run(SECOND)
    assert all(later - earlier >= 100_000 for earlier, later in itertools.pairwise(ended))
    assert len(ended) == 10


def test_files_have_names(disk):
    disk.write_whole("a/1", b"one")
    disk.write_whole("a/2", b"two")
    disk.write_whole("b", b"b")
    assert disk.list("a/") == ["a/1", "a/2"]
    disk.rename("a/1", "a/2")
    assert disk.list() == ["a/2", "b"]
    assert disk.open("a/2").read() == b"one"
    assert disk.open("a/2").read(1, 1) == b"n"
    disk.rename("a/2", "a/2")
    disk.delete("b")
    assert not disk.exists("b")
    assert disk.used() == 3
    for missing in (disk.open, disk.read, disk.delete, lambda path: disk.rename(path, "c")):
        with pytest.raises(FileNotFoundError):
            missing("b")


def left_by_crashes(prepare, commit_interval=None, after=0):
    """What a crash leaves, for many seeds: the distinct outcomes."""
    outcomes = {}
    for seed in range(100):
        simulator = Simulator(seed)
        disk = Disk(simulator, "n1", commit_interval)
        process = simulator.process("p")

        def sync(file, simulator=simulator, process=process):
            file.sync(process, lambda _: None)
            simulator.run(simulator.now + SECOND)

        prepare(disk, sync)
        simulator.run(simulator.now + after)
        disk.crash(Random(seed))
        outcomes[tuple((path, disk.read(path)) for path in disk.list())] = None
        simulator.close()
    return sorted(outcomes)


def test_names_that_were_not_synced_may_be_lost_the_later_first():
    def prepare(disk, _):
        disk.create("a")
        disk.create("b")
        disk.rename("a", "c")

    a, b, c = ("a", b""), ("b", b""), ("c", b"")
    assert left_by_crashes(prepare) == [(), (a,), (a, b), (b, c)]
    assert left_by_crashes(prepare, 5 * SECOND, after=6 * SECOND) == [(b, c)]
    assert left_by_crashes(prepare, 0) == [(b, c)]


def test_a_sync_of_any_file_makes_names_safe():
    def prepare(disk, sync):
        disk.create("a")
        disk.write_whole("tmp", b"new")
        sync(disk.open("tmp"))
        disk.rename("tmp", "a")
        sync(disk.create("other"))
        disk.delete("other")

    kept = ("a", b"new")
    assert left_by_crashes(prepare) == [(kept,), (kept, ("other", b""))]


def test_a_file_is_replaced_as_a_whole():
    def prepare(disk, sync):
        sync(disk.write_whole("a", b"old"))
        sync(disk.write_whole("tmp", b"new"))
        disk.rename("tmp", "a")

    assert left_by_crashes(prepare) == [
        (("a", b"new"),),
        (("a", b"old"), ("tmp", b"new")),
    ]


def test_a_truncation_that_was_not_synced_may_be_undone():
    def prepare(disk, sync):
        file = disk.write_whole("a", b"0123456789")
        sync(file)
        file.truncate(6)
        file.truncate(4)
        file.append(b"x")

    assert left_by_crashes(prepare) == [
        (("a", b"0123"),),
        (("a", b"0123456789"),),
        (("a", b"0123x"),),
    ]


def test_a_file_that_was_written_in_one_go_is_safe_with_its_name():
    def prepare(disk, _):
        disk.write_whole("a", b"0123456789")

    assert left_by_crashes(prepare, 0) == [(("a", b"0123456789"),)]

    def prepare_and_truncate(disk, _):
        disk.write_whole("a", b"0123").truncate(2)

    assert left_by_crashes(prepare_and_truncate, 0) == [(("a", b"01"),)]


def test_a_truncation_that_was_synced_is_final():
    def prepare(disk, sync):
        file = disk.write_whole("a", b"0123456789")
        sync(file)
        file.truncate(4)
        sync(file)

    assert left_by_crashes(prepare) == [(("a", b"0123"),)]


def test_a_truncation_behind_one_that_is_being_synced_is_undone_alone(simulator):
    contents = Contents(b"0123456789")
    contents.truncate(6)
    sync = Sync(contents, simulator.process("p"), print)
    contents.syncs[sync] = None
    contents.truncate(4)
    contents.save(sync)
    left = {bytes(contents.after_crash(Random(seed)).data): None for seed in range(20)}
    assert sorted(left) == [b"0123", b"012345"]


def test_a_slow_disk_takes_longer(disk, sync):
    file = disk.create("f")
    disk.slow(factor=10, extra=SECOND)
    _, time = sync(file)
    assert SECOND + 1_000_000 <= time <= SECOND + 9_000_000
    disk.heal()
    assert sync(file)[1] < 1_000_000


def test_big_writes_take_longer_to_sync(disk, sync):
    _, time = sync(disk.write_whole("f", bytes(20_000_000)))
    assert time >= 100_000_000


def test_syncs_fail(disk, sync):
    file = disk.write_whole("f", b"abc")
    disk.fail_sync(times=1)
    assert sync(file)[0] == errno.EIO
    assert file.safe_size == 0
    assert sync(file)[0] is None
    assert file.safe_size == 3
    disk.fail_sync()
    assert [sync(file)[0] for _ in range(3)] == [errno.EIO] * 3
    disk.heal()
    assert sync(file)[0] is None


def test_writes_fail(disk):
    file = disk.create("f")
    disk.fail_writes(times=5)
    for write in (
        lambda: file.append(b"x"),
        lambda: file.truncate(0),
        lambda: disk.create("g"),
        lambda: disk.delete("f"),
        lambda: disk.rename("f", "g"),
    ):
        with pytest.raises(OSError, match="n1") as caught:
            write()
        assert caught.value.errno == errno.EIO
    assert disk.list() == ["f"]
    file.append(b"x")
    assert disk.read("f") == b"x"


def test_a_lying_disk_keeps_nothing_safe():
    def prepare(disk, sync):
        sync(disk.create("f"))
        disk.lie()
        file = disk.open("f")
        file.append(b"ab")
        sync(file)
        disk.create("g")
        sync(file)

    lost = left_by_crashes(prepare, 0)
    assert (("f", b""),) in lost
    assert (("f", b"ab"), ("g", b"")) in lost
    assert len(lost) == 6


def test_after_the_lies_a_sync_keeps_all(disk, sync):
    disk.lie()
    file = disk.write_whole("f", b"ab")
    assert sync(file)[0] is None
    assert file.safe_size == 0
    disk.heal()
    sync(file)
    disk.crash()
    assert disk.read("f") == b"ab"


def test_a_full_disk_takes_what_there_is_room_for(disk):
    file = disk.write_whole("f", b"0123456789")
    disk.full(bytes_left=3)
    file.append(b"a")
    with pytest.raises(OSError, match="n1") as caught:
        file.append(b"bcde")
    assert caught.value.errno == errno.ENOSPC
    assert file.read() == b"0123456789abc"
    file.truncate(8)
    file.append(b"vwxyz")
    disk.heal()
    file.append(b"more")
    assert file.read() == b"01234567vwxyzmore"


def test_tails_are_corrupted(disk):
    disk.write_whole("f", b"0123456789")
    disk.corrupt_tail("f", 3, keep=2)
    data = disk.read("f")
    assert (data[:5], data[8:]) == (b"01234", b"89")
    assert all(data[place] != b"0123456789"[place] for place in (5, 6, 7))
    disk.corrupt_tail("f", 100)
    assert all(new != old for new, old in zip(disk.read("f"), data, strict=True))


steps = st.one_of(
    st.tuples(st.just("append"), st.sampled_from("ab"), st.binary(min_size=1, max_size=4)),
    st.tuples(st.just("truncate"), st.sampled_from("ab"), st.integers(0, 6)),
    st.tuples(st.just("sync"), st.sampled_from("ab"), st.none()),
    st.tuples(st.just("crash"), st.just("a"), st.integers(0, 99)),
)


@given(st.lists(steps, max_size=30))
def test_a_crash_leaves_a_state_that_was_there_since_the_last_sync(script):
    """Or one of them with its end missing, where that was appended."""
    simulator = Simulator(1)
    disk = Disk(simulator, "n1")
    process = simulator.process("p")
    possible = {}
    for name in "ab":
        disk.create(name)
        possible[name] = [b""]
    disk.create("c").sync(process, lambda _: None)
    simulator.run(SECOND)
    for kind, name, value in script:
        if kind == "append":
            file = disk.open(name)
            before = file.read()
            file.append(value)
            possible[name] += [before + value[:size] for size in range(1, len(value) + 1)]
        elif kind == "truncate":
            file = disk.open(name)
            file.truncate(value)
            # Prefixes of what was appended may still be on their way when it is cut off.
            possible[name].append(file.read())
        elif kind == "sync":
            disk.open(name).sync(process, lambda _: None)
            simulator.run(simulator.now + SECOND)
            possible[name] = [disk.read(name)]
        else:
            disk.crash(Random(value))
            for path in "ab":
                assert disk.read(path) in possible[path]
                possible[path] = [disk.read(path)]
    simulator.close()
