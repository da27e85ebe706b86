"""Real ZooKeeper servers in the project's containers, as the checks want them."""

import io
import itertools
import os
import tarfile
import tempfile
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rumpus.conformance.channel import RealClock, SocketChannel
from rumpus.harness.docker import packet_filter
from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.image import ensure_node_image
from rumpus.harness.docker.leftovers import labels, remove_run
from rumpus.harness.docker.nodes import DockerNode
from rumpus.harness.docker.zookeeper_server import CLIENT_PORT, ZooKeeperServer
from rumpus.harness.zookeeper_versions import USUAL_VERSION

MEMORY = "-Xms32m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
WORDS = "srvr,ruok,mntr,stat,cons,dump,wchs,wchc,wchp,isro,conf,envi"

_numbers = itertools.count(1)
_ZOOKEEPER_USER = 1000


class DockerServer:
    """One published client port."""

    def __init__(self, address: tuple[str, int], tick_ms: int) -> None:
        self.address = address
        self.tick_ms = tick_ms
        self.clock = RealClock()

    def open(self) -> SocketChannel:
        return SocketChannel(self.address)


class DockerDeployment:
    """See `tests.conformance.deployment.Deployment`. Nothing runs until `start`.

    Args:
        nodes: one is a standalone server.
        tick_ms: ``tickTime``.
        properties: system properties of ZooKeeper, without the prefix ``zookeeper.``.
        version: of ZooKeeper, a key of ``zookeeper_versions.DEBIAN_RELEASES``.
    """

    kind = "docker"

    def __init__(
        self,
        nodes: int = 1,
        *,
        tick_ms: int = 2000,
        properties: Mapping[str, str] | None = None,
        version: str = USUAL_VERSION,
    ) -> None:
        self.nodes = tuple(f"n{number}" for number in range(1, nodes + 1))
        self.tick_ms = tick_ms
        self.clock = RealClock()
        self._run_id = f"conformance-{os.getpid()}-{next(_numbers)}"
        self._client = connect()
        image = ensure_node_image(self._client)
        server_image = ensure_node_image(self._client, version=version)
        marks = labels(self._run_id)
        network = f"rumpus-{self._run_id}"
        self._nodes = {
            name: DockerNode(self._client, name, self._run_id, marks) for name in self.nodes
        }
        # What a check must not wait for: an election tries its peers one after the other.
        settings = {"zookeeper.cnxTimeout": str(2 * tick_ms)}
        settings |= {f"zookeeper.{name}": value for name, value in (properties or {}).items()}
        settings |= {
            name.removeprefix("zookeeper."): value
            for name, value in settings.items()
            if name.startswith("zookeeper.znode.")
        }
        flags = " ".join(f"-D{name}={value}" for name, value in settings.items())
        try:
            self._client.networks.create(network, driver="bridge", labels=marks)

            def create(name: str) -> None:
                self._nodes[name].create(
                    tools_image=image,
                    server_image=server_image,
                    network=network,
                    environment=self._environment(name) | {"JVMFLAGS": f"{MEMORY} {flags}"},
                )

            with ThreadPoolExecutor(max_workers=nodes) as pool:
                list(pool.map(create, self.nodes))
        except BaseException:
            self.tear_down()
            raise

    def _environment(self, name: str) -> dict[str, str]:
        servers = (
            f"server.{number}={node}:2888:3888;{CLIENT_PORT}"
            for number, node in enumerate(self.nodes, start=1)
        )
        return {
            "ZOO_MY_ID": name.removeprefix("n"),
            "ZOO_SERVERS": f"clientPort={CLIENT_PORT}"
            if len(self.nodes) == 1
            else " ".join(servers),
            "ZOO_TICK_TIME": str(self.tick_ms),
            "ZOO_INIT_LIMIT": "10",
            "ZOO_SYNC_LIMIT": "5",
            "ZOO_MAX_CLIENT_CNXNS": "0",
            "ZOO_4LW_COMMANDS_WHITELIST": WORDS,
            "ZOO_ADMINSERVER_ENABLED": "false",
        }

    def server(self, node: str = "n1") -> DockerServer:
        return DockerServer(self._nodes[node].address, self.tick_ms)

    def start(self, nodes: Iterable[str] | None = None) -> None:
        with ThreadPoolExecutor(max_workers=len(self.nodes)) as pool:
            list(pool.map(lambda name: self._nodes[name].start(), nodes or self.nodes))

    def kill(self, node: str) -> None:
        self._nodes[node].kill()

    def pause(self, node: str) -> None:
        self._nodes[node].pause()

    def resume(self, node: str) -> None:
        self._nodes[node].resume()

    def running(self, node: str) -> bool:
        return self._nodes[node].state() != "dead"

    def partition(self, grudge: Mapping[str, frozenset[str]]) -> None:
        for name, node in self._nodes.items():
            sources = [self._nodes[other].ip for other in sorted(grudge.get(name, ()))]
            code, said = node.run_in_network(packet_filter.drop_script(sources))
            assert code == 0, said

    def heal(self) -> None:
        self.partition({})

    def files(self, node: str) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as place:
            server = self._nodes[node]
            for source in ZooKeeperServer(self.tick_ms).data(server.environment):
                server.copy_folder(source, Path(place))
            return {path.name: path.read_bytes() for path in sorted(Path(place).iterdir())}

    def write_file(self, node: str, name: str, content: bytes) -> None:
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.uid = member.gid = _ZOOKEEPER_USER
            member.mtime = int(time.time())
            tar.addfile(member, io.BytesIO(content))
        directory = "/datalog" if name.startswith("log.") else "/data"
        self._nodes[node]._server.put_archive(f"{directory}/version-2", archive.getvalue())

    def last_words(self, node: str) -> str:
        """The end of what a server printed."""
        return self._nodes[node].log_tail(20)

    def tear_down(self) -> None:
        remove_run(self._client, self._run_id)
        self._client.close()
