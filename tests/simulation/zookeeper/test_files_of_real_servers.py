"""A real server starts on a simulated server's files, and the other way round."""

import io
import tarfile

import pytest
from kazoo.client import KazooClient

from rumpus.conformance import operations as op
from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.image import ensure_node_image
from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.zookeeper.export import export
from rumpus.simulation.zookeeper.storage.database import Database
from tests.simulation.zookeeper.raw_client import World

pytestmark = pytest.mark.docker

ENVIRONMENT = {"ZOO_DATA_LOG_DIR": "/data", "ZOO_ADMINSERVER_ENABLED": "false"}


@pytest.fixture
def container():
    engine = connect()
    container = engine.containers.create(
        ensure_node_image(engine),
        environment=ENVIRONMENT,
        ports={"2181/tcp": ("127.0.0.1", None)},
    )
    yield container
    container.remove(force=True, v=True)
    engine.close()


@pytest.fixture
def real_client(container):
    """Starts the server, and connects to it."""
    clients = []

    def start():
        container.start()
        container.reload()
        (binding,) = container.ports["2181/tcp"]
        client = KazooClient(f"127.0.0.1:{binding['HostPort']}", timeout=10)
        clients.append(client)
        try:
            client.start(timeout=60)
        except client.handler.timeout_exception:
            pytest.fail(container.logs(tail=30).decode())
        return client

    yield start
    for client in clients:
        client.stop()
        client.close()


def znodes(client, path="/"):
    data, stat = client.get(path)
    found = {path: (data or None, *stat)}
    for name in client.get_children(path):
        below = f"{path.rstrip('/')}/{name}"
        if below != "/zookeeper":
            found |= znodes(client, below)
    return found


def simulated_znodes(tree):
    found = {}
    for path, node in tree.nodes.items():
        if path and not path.startswith("/zookeeper"):
            stat = (
                node.czxid,
                node.mzxid,
                node.ctime,
                node.mtime,
                node.version,
                2 * node.cversion - len(node.children),
                node.aversion,
                node.session,
                len(node.data or b""),
                len(node.children),
                node.pzxid,
            )
            found[path] = (node.data or None, *stat)
    return found


def test_a_real_server_starts_on_the_files_of_a_simulated_one(container, real_client, tmp_path):
    world = World()
    world.start()
    client = world.session(timeout_ms=40_000)
    for operation in (
        op.create("/a", b"one"),
        op.create("/a", b"refused"),
        op.create("/a/s-", b"", flags=2),
        op.create_container("/c"),
        op.set_data("/a", b"two"),
    ):
        client.call(operation)
    world.cluster.kill("n1")
    world.start()  # with a snapshot of all these, and a log of what follows
    client = world.reattach(client, timeout_ms=40_000)
    for operation in (
        op.create("/mine", b"", flags=1),
        op.create("/c/x"),
        op.set_acl("/a", [op.Acl(31, "world", "anyone"), op.Acl(1, "ip", "10.0.0.1")]),
        op.multi([op.create("/m", b"x"), op.check("/m", 0), op.set_data("/m", b"y")]),
        op.multi([op.create("/n"), op.delete("/missing"), op.delete("/m")]),
        op.delete("/c/x"),
    ):
        client.call(operation)
    tree = world.cluster.programs["n1"].server.database.tree
    export(world.cluster.disks["n1"], tmp_path)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path in sorted((tmp_path / "version-2").iterdir()):
            info = tar.gettarinfo(path, f"version-2/{path.name}")
            info.uid = info.gid = 1000
            with path.open("rb") as file:
                tar.addfile(info, file)
    container.put_archive("/data", archive.getvalue())

    real = real_client()
    assert znodes(real) == simulated_znodes(tree)
    acl = [(entry.perms, entry.id.scheme, entry.id.id) for entry in real.get_acls("/a")[0]]
    assert acl == [(31, "world", "anyone"), (1, "ip", "10.0.0.1")]
    assert real.create("/a/s-", sequence=True) == "/a/s-0000000001"
    log = container.logs().decode()
    assert "txns loaded in" in log
    assert "Digests are not matching" not in log
    world.tear_down()


def test_a_simulated_server_starts_on_the_files_of_a_real_one(container, real_client):
    real = real_client()
    real.create("/a", b"one")
    real.create("/a/s-", sequence=True)
    real.create("/mine", ephemeral=True)
    real.set("/a", b"two")
    transaction = real.transaction()
    transaction.create("/m", b"x")
    transaction.set_data("/m", b"y")
    transaction.commit()
    expected = znodes(real)
    session = real.client_id[0]
    container.kill()  # a snapshot of a new server, and a log
    disk = Disk(Simulator(1), "n1")
    stream, _ = container.get_archive("/data/version-2")
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as tar:
        for member in tar:
            if (file := tar.extractfile(member)) is not None:
                disk.write_whole(member.name, file.read())
    database = Database(disk)
    database.load()
    assert simulated_znodes(database.tree) == expected
    assert list(database.sessions) == [session]
    assert database.tree.digest() == database.committed_log[-1].digest
