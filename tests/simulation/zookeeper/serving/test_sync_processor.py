from itertools import pairwise
from random import Random

import pytest

from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.zookeeper.serving.sync_processor import SyncProcessor
from rumpus.simulation.zookeeper.storage.database import Database
from tests.simulation.zookeeper.entries import open_session


class World:
    def __init__(self, snap_count=100_000):
        self.simulator = Simulator(3)
        self.disk = Disk(self.simulator, "n1")
        self.process = self.simulator.process("n1")
        self.database = Database(self.disk)
        self.database.load()
        self.database.log.sync(self.process, lambda _: None)
        self.simulator.run(SECOND)
        self.syncs_before = self.disk.syncs
        self.forwarded = []
        self.failures = []
        self.sync = SyncProcessor(
            self.process,
            self.database,
            self.forwarded.append,
            self.failures.append,
            snap_count=snap_count,
            random=Random(5),
        )

    def write(self, *zxids):
        for zxid in zxids:
            self.sync.append(open_session(zxid, zxid), zxid)

    def run(self):
        self.simulator.run(self.simulator.now + SECOND)

    def logged(self):
        return [entry.header.zxid for entry in self.database.log.read(0)]


@pytest.fixture
def world():
    world = World()
    yield world
    world.simulator.close()


def test_nothing_is_forwarded_before_it_is_safe(world):
    world.write(1)
    assert world.forwarded == []
    world.run()
    assert world.forwarded == [1]
    world.disk.crash()
    assert world.logged() == [1]


def test_what_comes_during_a_sync_is_one_batch(world):
    world.write(*range(1, 101))
    assert world.logged() == [1]  # the others are not even written
    world.run()
    assert world.forwarded == list(range(1, 101))
    assert world.disk.syncs - world.syncs_before == 2


def test_a_batch_has_a_limit(world):
    world.write(*range(1, 1502))
    world.run()
    assert world.forwarded == list(range(1, 1502))
    assert world.disk.syncs - world.syncs_before == 3  # of 1, 1000 and 500


def test_reads_pass_when_nothing_is_before_them(world):
    world.sync.append(None, "first")
    assert world.forwarded == ["first"]
    world.write(1)
    world.sync.append(None, "read")
    world.write(2)
    world.sync.append(None, "second read")
    assert world.forwarded == ["first"]
    world.run()
    assert world.forwarded == ["first", 1, "read", 2, "second read"]
    world.sync.append(None, "last")
    assert world.forwarded[-1] == "last"


def test_a_read_behind_a_sync_waits_only_for_that(world):
    world.write(1)
    world.sync.append(None, "read")
    world.run()
    assert world.forwarded == [1, "read"]
    assert world.disk.syncs - world.syncs_before == 1


def test_what_is_appended_while_forwarding_comes_last(world):
    def forward(item):
        world.forwarded.append(item)
        if item == 1:
            world.sync.append(None, "from within")
            world.write(3)

    world.sync._forward = forward
    world.write(1, 2)
    world.run()
    assert world.forwarded == [1, 2, "from within", 3]


def test_flushed_is_called_behind_each_batch(world):
    world.sync.flushed = lambda: world.forwarded.append("flushed")
    world.write(1, 2, 3)
    world.run()
    assert world.forwarded == [1, "flushed", 2, 3, "flushed"]


def test_a_failing_sync_ends_it(world):
    world.disk.fail_sync(1)
    world.write(1, 2)
    world.run()
    world.write(3)
    world.sync.append(None, "read")
    world.run()
    assert world.forwarded == []
    assert len(world.failures) == 1
    assert isinstance(world.failures[0], OSError)


def test_a_failing_write_ends_it(world):
    world.disk.full()
    world.write(1)
    world.write(2)
    world.run()
    assert world.forwarded == []
    assert len(world.failures) == 1


def test_a_failing_write_in_a_batch_ends_it(world):
    world.write(1, 2, 3)
    world.disk.full(70)  # a record has 61 bytes
    world.run()
    assert world.forwarded == [1]
    assert len(world.failures) == 1


def test_after_a_stop_nothing_is_forwarded_and_all_is_logged(world):
    world.write(1, 2, 3)
    world.sync.stop()
    world.write(4)
    world.sync.append(None, "read")
    world.run()
    assert world.forwarded == []
    assert world.failures == []
    assert world.logged() == [1, 2, 3]


def test_a_stop_while_forwarding_takes_effect_at_once(world):
    def forward(item):
        world.forwarded.append(item)
        if item == 2:
            world.sync.stop()

    world.sync._forward = forward
    world.write(1, 2, 3)
    world.run()
    assert world.forwarded == [1, 2]


def test_a_dead_process_forwards_nothing(world):
    world.write(1)
    world.process.kill()
    world.run()
    assert world.forwarded == []
    assert world.logged() == [1]


def test_a_frozen_process_forwards_when_it_is_thawed(world):
    world.write(1)
    world.process.freeze()
    world.run()
    assert world.forwarded == []
    world.process.thaw()
    assert world.forwarded == [1]


def test_snapshots_are_taken_and_the_log_is_rolled():
    world = World(snap_count=10)
    for zxid in range(1, 41):
        world.write(zxid)
        world.run()
        world.database.apply(open_session(zxid, zxid))
    names = world.disk.list("version-2/")
    logs = sorted(int(name[14:], 16) for name in names if name.startswith("version-2/log."))
    snapshots = sorted(int(name[19:], 16) for name in names if "/snapshot." in name)
    assert logs[0] == 1
    assert 4 <= len(logs) <= 7
    # The record that triggers it was not applied yet, but it is the last of its file.
    assert snapshots == [0, *(first - 2 for first in logs[1:])]
    assert all(6 <= after - first <= 10 for first, after in pairwise(logs))
    loaded = Database(world.disk)
    loaded.load()
    assert loaded.sessions == dict.fromkeys(range(1, 41), 4000)
    world.simulator.close()


def test_a_snapshot_that_cannot_be_written_ends_it():
    world = World(snap_count=2)
    world.database.tree.nodes["/zookeeper"].data = bytes(100_000)
    world.disk.full(20_000)
    for zxid in range(1, 4):
        world.write(zxid)
        world.run()
    assert len(world.failures) == 1
    assert world.forwarded == [1]
    world.simulator.close()


def test_a_snapshot_within_a_batch_rolls_the_log_behind_it():
    world = World(snap_count=10)
    world.write(*range(1, 41))
    world.run()
    world.write(41)
    world.run()
    logs = world.disk.list("version-2/log.")
    assert logs == ["version-2/log.1", "version-2/log.29"]
    assert world.logged() == list(range(1, 42))
    world.simulator.close()


def test_what_a_killed_program_left_is_synced_before_anything_is_logged(world):
    world.write(1)
    world.process.kill()
    process = world.simulator.process("n1")
    database = Database(world.disk)
    database.load()
    forwarded = []
    sync = SyncProcessor(
        process, database, forwarded.append, pytest.fail, snap_count=100, random=Random(1)
    )
    sync.append(open_session(2, 2), 2)
    assert world.disk.list("version-2/log.") == ["version-2/log.1"]
    syncs = world.disk.syncs
    world.run()
    assert forwarded == [2]
    assert world.disk.syncs - syncs == 3  # that of the dead one, then these two
    assert world.disk.list("version-2/log.") == ["version-2/log.1", "version-2/log.2"]
