import io
import subprocess
import tarfile
from types import SimpleNamespace

import pytest
from docker.errors import APIError

from rumpus.harness.docker.image import ensure_node_image
from rumpus.harness.docker.nodes import DockerNode, freeze
from rumpus.harness.docker.zookeeper_server import ZooKeeperServer
from rumpus.harness.ensemble import EnvironmentRefusal


def archive(**files):
    """What the engine sends for a directory ``version-2`` with these files, in chunks."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        directory = tarfile.TarInfo("version-2")
        directory.type = tarfile.DIRTYPE
        tar.addfile(directory)
        for name, content in files.items():
            member = tarfile.TarInfo(f"version-2/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    whole = packed.getvalue()
    return [whole[at : at + 700] for at in range(0, len(whole), 700)]


class Server:
    """A server's container as the engine shows it: one archive for each time it is asked."""

    def __init__(self, *archives):
        self.archives = list(archives)
        self.asked = []
        self.attrs = {"Config": {"Env": ["PATH=/bin", "ZOO_DATA_LOG_DIR=/logs=here"]}}

    def get_archive(self, place):
        self.asked.append(place)
        return self.archives.pop(0), {}


@pytest.fixture
def copied(tmp_path):
    def copy(server):
        node = DockerNode(None, "n1", "run", {})
        node._server = server
        for source in ZooKeeperServer(500).data(node.environment):
            node.copy_folder(source, tmp_path)
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    return copy


def test_data_of_both_places_is_joined(copied):
    server = Server(archive(currentEpoch=b"1"), archive(**{"log.1": b"ZKLG"}))
    assert copied(server) == {"currentEpoch": b"1", "log.1": b"ZKLG"}
    assert server.asked == ["/data/version-2", "/logs=here/version-2"]


def test_archive_that_breaks_off_is_fetched_again(copied):
    whole = archive(log=b"x" * 5000)
    server = Server(whole[:3], whole, archive())
    assert copied(server) == {"log": b"x" * 5000}


def test_archive_that_always_breaks_off_is_an_error(copied):
    server = Server(*[archive(log=b"x" * 5000)[:3]] * 9)
    with pytest.raises(tarfile.ReadError):
        copied(server)


class Execs:
    """The engine's side of commands: a real shell, whose output is cut as told, then whole."""

    def __init__(self, *kept):
        self.api = self
        self.runs = 0
        self._kept = list(kept)

    def exec_create(self, _container, words):
        return {"Id": words}

    def exec_start(self, words):
        done = subprocess.run(words, capture_output=True, check=False)
        self.code = done.returncode
        self.runs += 1
        return done.stdout[: self._kept.pop(0)] if self._kept else done.stdout

    def exec_inspect(self, _words):
        return {"ExitCode": self.code}


def run_in_network(engine, script):
    node = DockerNode(engine, "n1", "run", {})
    node._sidecar = SimpleNamespace(id="sidecar")
    return node.run_in_network(script)


def test_exit_code_and_output_of_a_script_are_told():
    assert run_in_network(Execs(), "set -e\necho one; exit 3") == (3, "one\n")
    assert run_in_network(Execs(), "true") == (0, "")


@pytest.mark.parametrize("kept", [0, 3, 10])
def test_a_script_whose_output_is_lost_is_run_again(kept):
    engine = Execs(kept)
    assert run_in_network(engine, "echo one") == (0, "one\n")
    assert engine.runs == 2


def test_an_engine_that_always_loses_output_is_a_refusal():
    with pytest.raises(EnvironmentRefusal, match="lost the output"):
        run_in_network(Execs(*[0] * 9), "echo one")


class Unfreezable:
    """A container whose thread waits for the disk for the first ``fails`` times it is frozen."""

    name = "rumpus-run-n1"

    def __init__(self, fails, said="OCI runtime pause failed: unable to freeze: unknown"):
        self.fails = fails
        self.said = said
        self.asked = 0

    def pause(self):
        self.asked += 1
        if self.asked <= self.fails:
            raise APIError(f"Cannot pause container: {self.said}")


def test_a_thread_that_waits_for_the_disk_is_frozen_when_it_is_done():
    container = Unfreezable(fails=2)
    freeze(container)
    assert container.asked == 3


def test_a_thread_that_waits_for_the_disk_for_ever_is_a_refusal():
    with pytest.raises(EnvironmentRefusal, match="n1 waits for the disk"):
        freeze(Unfreezable(fails=99), patience=0.0)


def test_what_else_prevents_freezing_is_not_tried_again():
    container = Unfreezable(fails=1, said="no such container")
    with pytest.raises(APIError, match="no such container"):
        freeze(container)
    assert container.asked == 1


@pytest.mark.docker
def test_a_container_that_writes_to_the_disk_all_the_time_can_be_frozen(engine):
    writes = "while true; do dd if=/dev/zero of=/tmp/x bs=16M count=4 conv=fsync; done"
    container = engine.containers.run(
        ensure_node_image(engine), ["bash", "-c", writes], detach=True
    )
    try:
        for _ in range(10):
            freeze(container)
            container.reload()
            assert container.status == "paused"
            container.unpause()
    finally:
        container.remove(force=True, v=True)
