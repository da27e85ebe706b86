import pytest

from rumpus.simulation.kernel.simulator import SECOND
from rumpus.simulation.zookeeper.startup_errors import StartupRefused
from rumpus.simulation.zookeeper.storage.epoch_files import EpochFiles
from tests.simulation.zookeeper.storage.one_disk import OneDisk


class World(OneDisk):
    def put(self, **epochs):
        for name, text in epochs.items():
            self.disk.write_whole(f"version-2/{name}", text.encode())

    def loaded(self, zxid=0):
        files = EpochFiles(self.disk)
        files.load(zxid)
        return files


@pytest.fixture
def world():
    world = World()
    yield world
    world.simulator.close()


def test_missing_files_come_of_the_last_zxid(world):
    files = world.loaded(0x300000007)
    assert (files.accepted, files.current) == (3, 3)
    assert world.done(files.set_accepted, 4) is None
    assert world.disk.read("version-2/acceptedEpoch") == b"4"
    assert world.disk.read("version-2/currentEpoch") == b"3"
    world.disk.delete("version-2/acceptedEpoch")
    files = world.loaded(0x300000007)
    assert world.done(files.set_current, 3) is None
    assert world.disk.read("version-2/acceptedEpoch") == b"3"


def test_epochs_are_decimal_text_without_newline(world):
    files = world.loaded()
    assert world.done(files.set_accepted, 12) is None
    assert world.done(files.set_current, 11) is None
    assert (files.accepted, files.current) == (12, 11)
    assert world.disk.read("version-2/acceptedEpoch") == b"12"
    assert world.disk.read("version-2/currentEpoch") == b"11"
    assert world.disk.list() == ["version-2/acceptedEpoch", "version-2/currentEpoch"]
    again = world.loaded()
    assert (again.accepted, again.current) == (12, 11)


@pytest.mark.parametrize("first", [True, False])
def test_an_epoch_is_the_old_or_the_new_one_after_a_crash(first):
    seen = {}
    for seed in range(60):
        world = World(seed)
        if not first:
            world.done(world.loaded().set_accepted, 1)
            world.simulator.run(10 * SECOND)
        world.loaded().set_accepted(2, world.process, lambda _: None)
        world.simulator.run(world.simulator.now + seed * 30_000)
        world.disk.crash()
        seen[world.loaded().accepted] = True
        world.simulator.close()
    assert sorted(seen) == [0 if first else 1, 2]


def test_an_epoch_that_was_set_survives_a_crash():
    for seed in range(20):
        world = World(seed)
        files = world.loaded()
        files.set_accepted(2, world.process, lambda _, world=world: world.disk.crash())
        world.simulator.run(SECOND)
        assert world.loaded().accepted == 2
        world.simulator.close()


def test_a_last_zxid_of_a_later_epoch_is_refused(world):
    world.put(acceptedEpoch="5", currentEpoch="2")
    assert world.loaded(0x200000009).current == 2
    with pytest.raises(StartupRefused, match="older than the last zxid, 0x300000001"):
        world.loaded(0x300000001)


def test_a_temporary_file_tells_the_epoch_that_was_not_renamed(world):
    world.put(acceptedEpoch="5", currentEpoch="2")
    world.put(**{"currentEpoch.tmp": "3"})
    files = world.loaded(0x300000001)
    assert files.current == 3
    assert world.done(files.set_accepted, 6) is None
    assert world.disk.read("version-2/currentEpoch") == b"3"


def test_an_accepted_epoch_below_the_current_one_is_refused(world):
    world.put(acceptedEpoch="2", currentEpoch="3")
    with pytest.raises(StartupRefused, match="accepted epoch, 2, is less than"):
        world.loaded()


@pytest.mark.parametrize("text", ["", "x", "-1"])
def test_what_is_no_number_is_refused(world, text):
    world.put(currentEpoch=text)
    with pytest.raises(StartupRefused, match="currentEpoch"):
        world.loaded()


def test_a_disk_that_fails_leaves_the_epoch_as_it_is(world):
    files = world.loaded()
    world.disk.fail_sync()
    assert isinstance(world.done(files.set_current, 4), OSError)
    world.disk.heal()
    world.disk.full()
    assert isinstance(world.done(files.set_accepted, 4), OSError)
    assert (files.accepted, files.current) == (0, 0)
    world.disk.heal()
    assert world.loaded().current == 0


def test_a_name_that_cannot_be_changed_is_an_error(world):
    files = world.loaded()
    answers = []
    files.set_current(4, world.process, answers.append)
    world.disk.fail_writes()
    world.simulator.run(world.simulator.now + SECOND)
    assert isinstance(answers[0], OSError)
    assert files.current == 0
