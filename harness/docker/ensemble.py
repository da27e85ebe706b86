"""A group of real servers in Docker containers, on a network of its own."""

import contextlib
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rumpus.harness import srvr
from rumpus.harness.docker import packet_filter
from rumpus.harness.docker.container_packets import ContainerPackets
from rumpus.harness.docker.disks import ContainerDisks
from rumpus.harness.docker.engine import connect, refusals
from rumpus.harness.docker.image import (
    NODE,
    ensure_image,
    ensure_node_image,
    image_tag,
    version_of,
)
from rumpus.harness.docker.leftovers import is_left, labels, remove_run
from rumpus.harness.docker.nodes import DockerNode
from rumpus.harness.docker.probe import probe_engine
from rumpus.harness.docker.server_kind import Answer
from rumpus.harness.docker.systems import SYSTEMS
from rumpus.harness.docker.zookeeper_server import DATA, LOGS
from rumpus.harness.ensemble import (
    Availability,
    Capability,
    Containers,
    Disks,
    EnvironmentRefusal,
    Grudge,
    NodeState,
    Packets,
    WallClocks,
)
from rumpus.harness.simulated_faults import Machines
from rumpus.harness.upgrades import Upgrades

if TYPE_CHECKING:
    from docker import DockerClient

log = logging.getLogger(__name__)

START_S = 180.0
"""How long the servers may take until all of them serve, in seconds."""

PYTHON_THREADS = (
    "clients in Python: a thread that is stopped while it has the interpreter lock stops all; "
    "clients on the JVM (curator-... recipes) and simulated ones (--ensemble sim) can be stalled"
)
"""Why ``client-stall`` is refused, unless the clients say otherwise."""

_POLL_S = 0.1
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

T = TypeVar("T")


class DockerEnsemble:
    """Servers ``n1`` to ``n<nodes>``, each in a container; see `harness.ensemble.Ensemble`.

    Args:
        run_id: the run's id, part of the names and labels of containers and networks.
        nodes: how many servers.
        image: the servers' image, any that is configured by the same environment variables as the
            official ``zookeeper`` image; the project's own by default.
        flags: more words for the servers' ``JVMFLAGS``.
        tick_ms: ZooKeeper's ``tickTime`` in milliseconds, and the scale of other systems' timeouts.
        system: what the servers are, a name of ``harness.docker.systems``.
        report: told of every step, in a few words.

    Raises:
        ValueError: the run's id cannot be part of a container's name, or no nodes.
    """

    kind = "docker"
    machines: Machines | None = None
    upgrades: Upgrades | None

    def __init__(
        self,
        run_id: str,
        *,
        nodes: int = 3,
        image: str | None = None,
        tick_ms: int = 500,
        system: str = "zookeeper",
        flags: str = "",
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        if not _RUN_ID.fullmatch(run_id):
            raise ValueError(
                f"run id {run_id!r}: letters, digits, `_`, `.` and `-` only, no sign first"
            )
        if nodes < 1:
            raise ValueError(f"{nodes} nodes: an ensemble has at least one")
        self.run_id = run_id
        self.nodes = tuple(f"n{server_id}" for server_id in range(1, nodes + 1))
        self._image = image
        self._kind = SYSTEMS[system].server(tick_ms)
        self._flags = flags
        self.upgrades = self if system == NODE else None
        self._report = report
        self.containers: Containers | None = self
        self.packets: Packets | None = ContainerPackets(lambda: self._nodes, self._everywhere)
        self._disks = ContainerDisks(lambda: self._nodes, DATA, LOGS)
        self.disks: Disks | None = self._disks if system == NODE else None
        self.clocks: WallClocks | None = self if self._kind.clock_command else None
        self._client: DockerClient | None = None
        self._made = False
        self._nodes: dict[str, DockerNode] = {}
        # What concerns several nodes is done at all of them in parallel. There are two threads
        # a node, because a nemesis and a status display may ask at the same time.
        self._pool = ThreadPoolExecutor(max_workers=2 * nodes, thread_name_prefix="ensemble")
        self._probed: dict[Capability, Availability] | None = None

    def _environment(self, name: str) -> dict[str, str]:
        """The variables of a server's container."""
        found = self._kind.environment(self.nodes, name)
        if self._flags:
            found["JVMFLAGS"] = f"{found['JVMFLAGS']} {self._flags}"
        return found

    def start(self) -> None:
        """Bring all servers up and return once a leader is there and every node serves.

        Raises:
            EnvironmentRefusal: no engine, no image, no free subnet or port, no space, or a
                server that does not come up; all that was made until then is removed.
        """
        try:
            self._start()
        except BaseException:
            self.tear_down()
            raise

    def _start(self) -> None:
        self._client = client = connect()
        tools_image = ensure_node_image(client, self._report)
        if self._image is not None:
            server_image = ensure_image(client, self._image, self._report)
        else:
            server_image = ensure_node_image(client, self._report, self._kind.image)
        self._report(f"starting {len(self.nodes)} servers")
        marks = labels(self.run_id)
        network = f"rumpus-{self.run_id}"
        with refusals(f"making the network {network}"):
            if is_left(client, self.run_id):
                raise EnvironmentRefusal(
                    f"there is a run {self.run_id} on this engine already: give another run id, "
                    "or remove that run with `rumpus clean`"
                )
            self._made = True
            client.networks.create(network, driver="bridge", labels=marks)
        self._nodes = {
            name: DockerNode(client, name, self.run_id, marks, list(self._kind.ports.values()))
            for name in self.nodes
        }

        def bring_up(node: DockerNode) -> None:
            with refusals(f"starting node {node.name}"):
                node.create(
                    tools_image=tools_image,
                    server_image=server_image,
                    network=network,
                    environment=self._environment(node.name) | self._disks.environment,
                    command=self._kind.command(self.nodes, node.name),
                    shared=self._disks.volumes,
                    prepared=partial(self._disks.begin, node.name),
                )
                node.start()

        self._everywhere(bring_up)
        self._await_service()
        self._everywhere(lambda node: self._disks.settle(node.name))

    def _await_service(self) -> None:
        deadline = time.monotonic() + START_S
        while True:
            answers = self._answers()
            led = not self._kind.elects or self._leader_of(answers) is not None
            if led and all(map(_serving, answers.values())):
                return
            silent = [name for name, answer in answers.items() if not _serving(answer)]
            for name in silent:
                if self.state(name) == "dead":
                    raise EnvironmentRefusal(self._why_not_up(name, "ended while starting"))
            if time.monotonic() > deadline:
                name = (silent or list(self.nodes))[0]
                raise EnvironmentRefusal(
                    self._why_not_up(name, f"did not serve within {START_S:.0f} s")
                )
            time.sleep(_POLL_S)

    def _why_not_up(self, name: str, what: str) -> str:
        image = "the project's own"
        if self._image is not None:
            image = f"{self._image}; it must read the environment of the official zookeeper image"
        return (
            f"node {name} {what} (image: {image}; the host must have memory to spare). Its last "
            f"words:\n"
            f"{self._nodes[name].log_tail(15)}"
        )

    def tear_down(self) -> None:
        """Remove all containers and the network of this run, and disconnect from the engine.

        Raises:
            EnvironmentRefusal: the engine did not remove something; `rumpus clean` tries again.
        """
        self._nodes = {}
        # Wait for containers that are being made right now, or they would not be removed.
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._client is None:
            return
        with contextlib.closing(self._client) as client:
            self._client = None
            if not self._made:
                return
            with refusals(f"removing the containers of run {self.run_id}"):
                remove_run(client, self.run_id)

    def client_address(self, node: str) -> tuple[str, int]:
        """The loopback address and port at which a node is published."""
        return self._nodes[node].address

    def client_addresses(self) -> dict[str, tuple[str, int]]:
        """The same of all nodes; ``node:service`` for further ports that clients need."""
        return {
            ":".join(filter(None, (name, service))): address
            for name, node in self._nodes.items()
            for service, address in zip(self._kind.ports, node.addresses, strict=True)
        }

    def kill(self, node: str) -> None:
        """Kill a server with SIGKILL, also a paused one. A dead one stays dead."""
        self._nodes[node].kill()

    def restart(self, node: str) -> None:
        """Start a killed server again on its disk, address and port."""
        self._nodes[node].start()

    def fetch(self, version: str) -> None:
        """Make the image of a version of ZooKeeper, unless it is here.

        Raises:
            EnvironmentRefusal: no engine, or it cannot be built here.
        """
        with contextlib.closing(connect()) as client:
            ensure_node_image(client, self._report, NODE, version)

    def upgrade(self, node: str, version: str) -> None:
        """Start a dead server as another version of ZooKeeper, on its disk, address and port.

        Raises:
            RuntimeError: the server is not dead.
            EnvironmentRefusal: the engine refuses, for example because ``fetch`` was not called.
        """
        with refusals(f"starting {node} as ZooKeeper {version}"):
            self._nodes[node].start_as(image_tag(NODE, version))

    def version(self, node: str) -> str | None:
        """The version that a server says it has, by ``srvr``; None if it does not answer."""
        answer = srvr.answer_to("srvr", self._nodes[node].address)
        return None if answer is None else srvr.version_of(answer)

    def pause(self, node: str) -> None:
        """Freeze a server's processes.

        Raises:
            RuntimeError: the server is dead.
        """
        self._nodes[node].pause()

    def resume(self, node: str) -> None:
        """Unfreeze a server; nothing happens if it is not paused."""
        self._nodes[node].resume()

    def set_clock(self, node: str, seconds: int) -> None:
        """Set a server's wall clock so many seconds ahead of the host's.

        Raises:
            RuntimeError: the server is dead, or its image failed.
        """
        self.run_in_server(node, [self._kind.clock_command, str(seconds)])

    def clock_error(self, node: str) -> float | None:
        """By how many seconds a server's wall clock is ahead; None if it does not answer."""
        before = time.time()
        shown = self._kind.wall_clock(self._nodes[node].addresses)
        return None if shown is None else shown - (before + time.time()) / 2

    def run_in_server(self, node: str, command: Sequence[str]) -> None:
        """Run a command in a server's container; raises as `harness.ensemble.Containers`."""
        self._nodes[node].run_in_server(command)

    def run_in_network(self, node: str, script: str) -> tuple[int, str]:
        """Run a bash script in a node's network; its exit code, and all that it printed."""
        return self._nodes[node].run_in_network(script)

    def limit(self, node: str, **limits: Any) -> None:
        """Set what a server may use."""
        with refusals(f"setting what {node} may use"):
            self._nodes[node].limit(**limits)

    def limits(self, node: str) -> Mapping[str, Any]:
        """What a server may use, as the engine says it."""
        with refusals(f"looking at {node}"):
            return self._nodes[node].limits()

    def partition(self, grudge: Grudge) -> None:
        """Let each node drop all packets from the nodes that its grudge names.

        Raises:
            KeyError: there is no such node.
            EnvironmentRefusal: the packet filter cannot be set here.
        """
        sources = {
            name: [self._nodes[other].ip for other in others] for name, others in grudge.items()
        }
        if unknown := sources.keys() - self._nodes.keys():
            raise KeyError(f"no such node: {', '.join(sorted(unknown))}")

        def load(node: DockerNode) -> None:
            code, said = node.run_in_network(packet_filter.drop_script(sources.get(node.name, ())))
            if code:
                raise EnvironmentRefusal(
                    f"the packet filter of {node.name} cannot be set, so there are no "
                    f"partitions here (iptables says: {said.strip()})"
                )

        self._everywhere(load)

    def heal(self) -> None:
        """Let every packet pass again."""
        self.partition({})

    def state(self, node: str) -> NodeState:
        """What the server's container is doing, as the engine sees it."""
        with refusals(f"looking at {node}"):
            return self._nodes[node].state()

    def grudge(self) -> dict[str, frozenset[str]]:
        """The partition in force, read from the nodes' packet filters; only nodes with a grudge."""
        name_of = {node.ip: node.name for node in self._nodes.values()}

        def read(node: DockerNode) -> frozenset[str]:
            if node.state() in ("removed", "unplugged"):
                return frozenset()  # nothing passes there, whatever its filter says
            code, said = node.run_in_network(packet_filter.READ_SCRIPT)
            if code:
                raise EnvironmentRefusal(
                    f"the packet filter of {node.name} cannot be read (iptables says: "
                    f"{said.strip()})"
                )
            return frozenset(name_of[ip] for ip in packet_filter.dropped(said))

        return {name: names for name, names in self._everywhere(read).items() if names}

    def reaches(self, source: str, target: str) -> bool:
        """Whether packets pass both ways between two nodes now, whatever their servers do.

        Takes a second if they do not.
        """
        script = packet_filter.reach_script(self._nodes[target].ip)
        return packet_filter.reached(*self._nodes[source].run_in_network(script))

    def applied(self, node: str) -> int:
        """The zxid of the last transaction that a server says it has applied; 0 if it says none."""
        found = srvr.ask(self._nodes[node].address)
        return 0 if found is None else found.zxid

    def serves(self, node: str) -> bool:
        """Whether a node says within a second that it serves, in a quorum if it needs one."""
        return _serving(self._ask(self._nodes[node]))

    def leader(self) -> str | None:
        """The node that leads; if several claim to, that of the highest zxid; None if none does.

        Takes a second if some node does not answer.
        """
        return self._leader_of(self._answers())

    def _answers(self) -> dict[str, Answer | None]:
        return self._everywhere(self._ask)

    def _ask(self, node: DockerNode) -> Answer | None:
        return self._kind.ask(node.addresses)

    @staticmethod
    def _leader_of(answers: Mapping[str, Answer | None]) -> str | None:
        claims = [
            (answer.rank, name)
            for name, answer in answers.items()
            if answer is not None and answer.leads
        ]
        return max(claims)[1] if claims else None

    def gather(self, destination: Path) -> None:
        """Copy every node's output and data files to ``destination/<node>/``, in any state.

        Of a node whose containers somebody else has removed, nothing is copied.

        Raises:
            OSError: the destination cannot be written.
        """

        def copy(node: DockerNode) -> None:
            if node.state() == "removed":
                log.warning("%s was removed by somebody else, and its logs with it", node.name)
                return
            place = destination / node.name
            place.mkdir(parents=True, exist_ok=True)
            with refusals(f"gathering the files of {node.name}"):
                node.copy_log(place / "node.log")
                for name, text in self._kind.statistics(node.addresses).items():
                    (place / name).write_text(text)
                for source, folder in self._kind.data(node.environment).items():
                    node.copy_folder(source, place / folder)

        self._everywhere(copy)

    def probe(self) -> dict[Capability, Availability]:
        """What this host allows; found out by trying, once."""
        if self._probed is None:
            self._probed = self.offered(probe_engine())
        return self._probed

    def offered(self, allowed: Mapping[Capability, Availability]) -> dict[Capability, Availability]:
        """What these servers offer on a host that allows so much of `probe.CAPABILITIES`."""
        why = "" if self.clocks else "these servers read the host's clock"
        found: dict[Capability, Availability] = {
            **allowed,
            "clock": Availability(available=not why, why=why),
            "stall": Availability(available=False, why=PYTHON_THREADS),
            "triggers": Availability(available=True),
            "full-disk": Availability(available=True),
            "disk-journal": Availability(available=True),
            "containers": Availability(available=True),
        }
        if self.upgrades is None:
            why = "these servers are not ZooKeeper's, and only its versions are known"
            found["upgrade"] = Availability(available=False, why=why)
            why = "these servers are not ZooKeeper's, and only its requests are known"
            found["triggers"] = Availability(available=False, why=why)
            why = "only ZooKeeper's servers tell how far behind they are"
            found["delay"] = Availability(available=False, why=why)
            why = "only ZooKeeper's servers have volumes that can be filled"
            found["full-disk"] = found["disk-journal"] = Availability(available=False, why=why)
        elif self._image is not None and version_of(self._image) is None:
            why = "only the project's own images have what notes servers' writes (docker/zookeeper)"
            found["disk-journal"] = Availability(available=False, why=why)
        return found

    def _everywhere(self, do: Callable[[DockerNode], T]) -> dict[str, T]:
        """Do something at all nodes in parallel and wait for all; the first failure is raised."""
        running = {name: self._pool.submit(do, node) for name, node in self._nodes.items()}
        wait(running.values())
        return {name: done.result() for name, done in running.items()}


def _serving(answer: Answer | None) -> bool:
    return answer is not None and answer.serves
