from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.zookeeper.export import export


def test_all_files_of_a_disk_become_real_ones(tmp_path):
    disk = Disk(Simulator(1), "n1")
    disk.write_whole("version-2/log.1", b"log")
    disk.write_whole("myid", b"1")
    written = export(disk, tmp_path / "data")
    assert written == [tmp_path / "data/myid", tmp_path / "data/version-2/log.1"]
    assert [path.read_bytes() for path in written] == [b"1", b"log"]


def test_an_empty_disk_has_no_files(tmp_path):
    assert export(Disk(Simulator(1), "n1"), tmp_path) == []
    assert list(tmp_path.iterdir()) == []
