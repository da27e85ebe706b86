import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumpus.simulation.zookeeper.startup_errors import StartupRefused
from rumpus.simulation.zookeeper.storage import snapshot
from rumpus.simulation.zookeeper.storage.database import COMMITTED_LOG, Database, TruncationFailed
from rumpus.simulation.zookeeper.storage.snapshot import InvalidSnapshot
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import ErrorTxn
from rumpus.simulation.zookeeper.tree.watches import WatchManager
from tests.simulation.zookeeper.entries import (
    close_session,
    create,
    delete,
    entry,
    open_session,
    set_data,
)
from tests.simulation.zookeeper.storage.one_disk import OneDisk


class World(OneDisk):
    def loaded(self, **options):
        database = Database(self.disk, **options)
        database.load()
        return database

    def refused(self, match):
        with pytest.raises(StartupRefused, match=match):
            Database(self.disk).load()

    def files(self):
        return [path.removeprefix("version-2/") for path in self.disk.list()]


@pytest.fixture
def world():
    world = World()
    yield world
    world.simulator.close()


def write(database, *entries):
    for found in entries:
        database.log.append(found)
        database.apply(found)


def contents(database):
    tree = database.tree
    return {path: node.data for path, node in tree.nodes.items()}


# -- starting ----------------------------------------------------------------------------------


def test_an_empty_disk_becomes_a_new_servers(world):
    database = world.loaded()
    assert world.files() == ["snapshot.0"]
    assert database.last_processed == 0
    assert contents(database) == contents_of_new()
    write(database, create(1, "/a"))
    assert world.files() == ["log.1", "snapshot.0"]


def contents_of_new():
    return {path: node.data for path, node in DataTree().nodes.items()}


def test_all_that_was_logged_is_there_after_a_restart(world):
    database = world.loaded()
    write(database, open_session(1, 7), create(2, "/a", b"x"), set_data(3, "/a", b"y", 1))
    write(database, create(4, "/e", ephemeral=True, session=7, cversion=2))
    again = world.loaded()
    assert again.last_processed == 4
    assert again.sessions == {7: 4000}
    assert again.tree.digest() == database.tree.digest()
    assert again.tree.nodes["/a"].data == b"y"
    assert again.tree.ephemerals == {7: {"/e": None}}
    assert list(again.committed_log) == list(database.committed_log)


def test_a_log_without_a_snapshot_is_refused(world):
    write(world.loaded(), create(1, "/a"))
    world.disk.delete("version-2/snapshot.0")
    world.refused("no snapshot")
    world.disk.delete("version-2/log.1")
    assert world.loaded().last_processed == 0


def test_a_log_of_nothing_but_its_header_is_a_log(world):
    world.loaded()
    world.disk.write_whole("version-2/log.1", b"ZKLG\0\0\0\x02" + bytes(8))
    assert world.loaded().last_processed == 0
    world.disk.delete("version-2/snapshot.0")
    world.refused("no snapshot")


def test_a_log_of_no_bytes_is_refused(world):
    world.loaded()
    world.disk.write_whole("version-2/log.1", b"")
    world.refused("too short")


def test_a_restarted_standalone_server_writes_a_snapshot_and_then_a_log(world):
    write(world.loaded(), create(1, "/a"), create(2, "/b", cversion=2))
    database = world.loaded()
    database.begin_serving()
    write(database, create(3, "/c", cversion=3))
    assert world.files() == ["log.1", "log.3", "snapshot.0", "snapshot.2"]
    again = world.loaded()
    assert again.last_processed == 3
    assert [found.header.zxid for found in again.committed_log] == [3]
    assert {"/a", "/b", "/c"} <= set(again.tree.nodes)


def test_a_torn_record_is_dropped_and_its_zxid_used_again(world):
    write(world.loaded(), create(1, "/a"), create(2, "/b", cversion=2))
    file = world.disk.open("version-2/log.1")
    file.truncate(file.size - 1)
    database = world.loaded()
    assert database.last_processed == 1
    database.begin_serving()
    write(database, create(2, "/c", cversion=2))
    again = world.loaded()
    assert "/c" in again.tree.nodes
    assert "/b" not in again.tree.nodes


def test_an_unfit_snapshot_gives_way_to_an_older_one(world):
    database = world.loaded()
    write(database, create(1, "/a"))
    database.take_snapshot()
    write(database, create(2, "/b", cversion=2))
    database.take_snapshot()
    newest = world.disk.read("version-2/snapshot.2")
    for bad in (b"", newest[:-1], newest[:40] + b"\xff" + newest[41:]):
        world.disk.write_whole("version-2/snapshot.2", bad)
        again = world.loaded()
        assert again.last_processed == 2
        assert [found.header.zxid for found in again.committed_log] == [2]
        assert again.tree.digest() == database.tree.digest()


def test_snapshots_none_of_which_can_be_read_are_refused(world):
    world.loaded()
    data = bytearray(world.disk.read("version-2/snapshot.0"))
    data[20] ^= 1
    world.disk.write_whole("version-2/snapshot.0", bytes(data))
    world.refused("not able to find valid snapshots")
    # One that is cut short does not even count as one.
    world.disk.write_whole("version-2/snapshot.0", bytes(data)[:-1])
    assert world.loaded().last_processed == 0


def test_temporary_snapshots_are_not_looked_at(world):
    world.loaded()
    world.disk.write_whole("version-2/snapshot.5.tmp", b"")
    assert world.loaded().last_processed == 0


def test_only_a_hundred_snapshots_are_tried(world):
    database = world.loaded()
    good = world.disk.read("version-2/snapshot.0")
    bad = good[:30] + b"\xff" + good[31:]
    for zxid in range(1, 101):
        world.disk.write_whole(f"version-2/snapshot.{zxid:x}", bad)
    world.refused("not able to find valid snapshots")
    world.disk.delete("version-2/snapshot.64")
    assert world.loaded().last_processed == database.last_processed == 0


def test_replay_onto_a_fuzzy_snapshot_does_no_harm(world):
    database = world.loaded()
    entries = [
        create(1, "/a"),
        create(2, "/a/x", cversion=1),
        delete(3, "/a/x"),
        create(4, "/b", b"1", cversion=2),
        set_data(5, "/b", b"2", 1),
    ]
    write(database, *entries)
    # The tree is of zxid 5, though the snapshot was begun at 1.
    data = snapshot.write_file(database.tree, {}, 1)
    world.disk.write_whole("version-2/snapshot.1", data)
    again = world.loaded()
    assert again.last_processed == 5
    assert again.tree.digest() == database.tree.digest()
    assert [found.header.zxid for found in again.committed_log] == [2, 3, 4, 5]


def test_the_committed_log_keeps_the_last(world):
    database = world.loaded()
    write(database, *(open_session(zxid, zxid) for zxid in range(1, COMMITTED_LOG + 11)))
    assert len(database.committed_log) == COMMITTED_LOG
    assert database.committed_log[0].header.zxid == 11
    assert list(world.loaded().committed_log) == list(database.committed_log)


def test_zxids_may_go_backwards(world):
    database = world.loaded()
    write(database, create(5, "/a"))
    database.log.append(create(3, "/b", cversion=2))
    database.log.append(create(6, "/c", cversion=3))
    database.log.append(create(4, "/d", cversion=4))
    again = world.loaded()
    assert again.last_processed == 6
    assert {"/a", "/b", "/c", "/d"} <= set(again.tree.nodes)


def test_ephemerals_of_unknown_sessions_go_when_it_serves(world):
    database = world.loaded()
    write(database, open_session(1, 7))
    write(database, create(2, "/mine", ephemeral=True, session=7))
    write(database, create(3, "/stray", ephemeral=True, session=8, cversion=2))
    again = world.loaded()
    assert "/stray" in again.tree.nodes  # a follower keeps it
    again.begin_serving()
    assert "/mine" in again.tree.nodes
    assert "/stray" not in again.tree.nodes
    assert again.tree.nodes["/"].pzxid == 3
    assert again.last_processed == 3
    assert "/stray" not in world.loaded().tree.nodes


def test_what_is_logged_and_not_applied_is_caught_up_with(world):
    database = world.loaded()
    write(database, create(1, "/a"))
    database.log.append(create(2, "/b", cversion=2))
    database.log.append(create(3, "/c", cversion=3))
    assert database.last_processed == 1
    database.fast_forward()
    assert database.last_processed == 3
    assert "/c" in database.tree.nodes
    assert [found.header.zxid for found in database.committed_log] == [1, 2, 3]


# -- applying ----------------------------------------------------------------------------------


def test_sessions_come_and_go(world):
    database = world.loaded()
    write(database, open_session(1, 7, 5000), open_session(2, 8))
    write(database, create(3, "/e", ephemeral=True, session=7))
    assert database.sessions == {7: 5000, 8: 4000}
    write(database, close_session(4, 7, "/e"))
    assert database.sessions == {8: 4000}
    assert "/e" not in database.tree.nodes
    write(database, close_session(5, 99))
    assert database.sessions == {8: 4000}


def test_results_and_watches_are_the_trees(world):
    database = world.loaded()
    assert database.apply(entry(1, ErrorTxn(-110), -1)).error == -110
    assert database.apply(create(2, "/a"), WatchManager()).error == 0
    assert database.last_processed == 2


# -- snapshots ---------------------------------------------------------------------------------


def test_a_learner_takes_over_the_leaders_tree(world):
    leader = world.loaded()
    write(leader, open_session(1, 7), create(2, "/e", ephemeral=True, session=7))
    leader.last_processed = 0x100000000
    other = World()
    learner = other.loaded()
    write(learner, create(1, "/other"))
    learner.replace(leader.serialize_snapshot(), leader.last_processed)
    assert learner.last_processed == 0x100000000
    assert learner.sessions == {7: 4000}
    assert learner.tree.digest() == leader.tree.digest()
    assert learner.tree.ephemerals == {7: {"/e": None}}
    assert list(learner.committed_log) == []
    assert other.files() == ["log.1", "snapshot.0"]
    assert other.done(learner.take_synced_snapshot) is None
    assert other.files() == ["log.1", "snapshot.0", "snapshot.100000000"]
    other.disk.crash()
    again = other.loaded()
    assert again.last_processed == 0x100000000
    assert again.tree.digest() == leader.tree.digest()
    with pytest.raises(InvalidSnapshot):
        learner.replace(b"nonsense", 5)


def test_a_snapshot_that_cannot_be_written_is_an_error(world):
    database = world.loaded()
    write(database, create(1, "/a"))
    world.disk.full(10)
    with pytest.raises(OSError, match="No space"):
        database.take_snapshot()
    assert "snapshot.1" in world.files()  # in part: no one will load it
    assert isinstance(world.done(database.take_synced_snapshot), OSError)
    world.disk.heal()
    world.disk.full()
    write_only = create(2, "/b", cversion=2)
    database.apply(write_only)
    with pytest.raises(OSError, match="No space"):
        database.take_snapshot()
    assert "snapshot.2" not in world.files()  # an empty one is removed
    world.disk.heal()
    assert world.loaded().last_processed == 1


# -- truncation --------------------------------------------------------------------------------


def ten(world):
    database = world.loaded()
    write(database, *(create(zxid, f"/{zxid}", cversion=zxid) for zxid in range(1, 11)))
    return database


@pytest.mark.parametrize("zxid", range(1, 11))
def test_a_truncated_database_is_as_it_was_then(world, zxid):
    database = ten(world)
    database.truncate(zxid)
    assert database.last_processed == zxid
    assert f"/{zxid}" in database.tree.nodes
    assert f"/{zxid + 1}" not in database.tree.nodes
    assert len(database.committed_log) == zxid
    assert world.loaded().tree.digest() == database.tree.digest()


def test_a_log_that_is_truncated_has_no_padding(world):
    database = ten(world)
    size = len(world.disk.read("version-2/log.1"))
    database.truncate(9)
    assert (
        len(world.disk.read("version-2/log.1"))
        == size - 17 - len(create(10, "/10", cversion=10).payload) + 4
    )


def test_a_truncation_takes_snapshots_above_with_it(world):
    database = ten(world)
    database.take_snapshot()
    database.truncate(8)
    assert "/9" not in database.tree.nodes
    assert world.files() == ["log.1", "snapshot.0"]


def test_a_dirty_snapshot_stays_if_it_is_to(world):
    ten(world).take_snapshot()
    database = world.loaded(dirty_snapshots=True)
    database.truncate(8)
    assert database.last_processed == 8
    assert "/9" in database.tree.nodes  # what real servers do


def test_what_was_only_in_a_newer_snapshot_cannot_be_truncated(world):
    leader = World()
    learner = world.loaded()
    learner.replace(ten(leader).serialize_snapshot(), 10)
    learner.take_snapshot()
    write(learner, create(11, "/11", cversion=11))
    with pytest.raises(TruncationFailed):
        learner.truncate(8)
    assert world.loaded().last_processed == 11  # nothing has been changed


def test_a_truncation_to_a_snapshot_is_possible(world):
    leader = World()
    learner = world.loaded()
    learner.replace(ten(leader).serialize_snapshot(), 10)
    learner.take_snapshot()
    write(learner, create(11, "/11", cversion=11), create(12, "/12", cversion=12))
    learner.take_snapshot()
    learner.truncate(10)
    assert learner.last_processed == 10
    assert "/11" not in learner.tree.nodes


def test_a_truncation_to_the_beginning_of_an_epoch(world):
    database = ten(world)
    write(database, create(0x100000001, "/new", cversion=11))
    database.truncate(0x100000000)
    assert database.last_processed == 0x100000000
    assert "/10" in database.tree.nodes
    assert "/new" not in database.tree.nodes


# -- the log for learners ----------------------------------------------------------------------


def test_a_learner_that_is_far_behind_gets_the_log(world):
    database = ten(world)
    database.take_snapshot()
    zxids = [found.header.zxid for found in database.proposals_from_log(4)]
    assert zxids == list(range(1, 11))
    assert list(database.proposals_from_log(0)) == []  # the log does not have what is before 1


def test_more_than_a_third_of_a_snapshot_is_not_read(world):
    database = ten(world)
    database.take_snapshot()
    database.log.roll()
    write(database, create(11, "/11", cversion=11))
    # The second file counts with the 64 MiB that are allocated for it.
    assert list(database.proposals_from_log(4)) == []
    assert next(database.proposals_from_log(12)).header.zxid == 11


# -- crashes -----------------------------------------------------------------------------------

STEPS = st.lists(
    st.sampled_from(["write", "write", "write", "sync", "snapshot", "kill", "crash", "truncate"]),
    max_size=20,
)


@settings(deadline=None, max_examples=150)
@given(STEPS, st.integers(0, 1000))
def test_a_server_comes_back_with_all_that_was_synced(steps, seed):
    world = World(seed)
    database = world.loaded()
    history, safe = [], 0
    for step in [*steps, "crash"]:
        if step == "write":
            zxid = len(history) + 1
            found = create(zxid, f"/{zxid}", bytes(seed % 50), cversion=zxid)
            write(database, found)
            history.append(found)
        elif step == "sync":
            assert world.done(database.log.sync) is None
            safe = len(history)
        elif step == "snapshot":
            database.take_snapshot()
            if safe == len(history):
                database.log.roll()
        elif step == "truncate" and safe:
            database.truncate(safe)
            history = history[:safe]
            assert world.done(database.take_synced_snapshot) is None
        elif step in ("kill", "crash"):
            if step == "crash":
                world.disk.crash()
            database = world.loaded()
            found = [path for path in database.tree.nodes if path[1:].isdigit()]
            assert len(found) == database.last_processed
            assert found == [entry.transaction.path for entry in history[: len(found)]]
            assert len(found) >= (safe if step == "crash" else len(history))
            history = history[: len(found)]
            assert world.done(database.log.sync) is None  # as a server does when it starts
            safe = len(history)
    world.simulator.close()


def test_a_disk_that_lies_loses_what_was_acknowledged():
    lost = 0
    for seed in range(10):
        world = World(seed)
        database = world.loaded()
        write(database, create(1, "/1"))
        assert world.done(database.log.sync) is None
        world.disk.lie()
        write(database, create(2, "/2", cversion=2))
        assert world.done(database.log.sync) is None
        world.disk.crash()
        again = world.loaded()
        assert "/1" in again.tree.nodes
        lost += "/2" not in again.tree.nodes
        world.simulator.close()
    assert lost
