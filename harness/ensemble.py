"""What every ensemble of ZooKeeper servers can do, real or simulated.

Nodes are named ``n1``, ``n2`` ... after their server ids. All calls block until done.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, Protocol

from rumpus.harness.damage import Damage
from rumpus.harness.simulated_faults import Machines
from rumpus.harness.upgrades import Upgrades

Grudge = Mapping[str, frozenset[str]]
"""Jepsen's grudge: node -> the nodes whose packets it drops, in that direction only."""

NodeState = Literal["running", "paused", "dead", "removed", "unplugged"]
"""``removed`` and ``unplugged`` (from the network): done from outside the harness, which does not
undo them."""


Capability = Literal[
    "kill",
    "pause",
    "partition",
    "upgrade",
    "delay",
    "loss",
    "clock",
    "stall",
    "triggers",
    "full-disk",
    "disk-journal",
    "containers",
    "simulation",
]
"""What an ensemble may support and a fault may need. ``kill`` and ``pause``: of server processes.
``partition``, ``delay`` and ``loss``: of packets between servers. ``upgrade``: to other versions
(``harness.upgrades``). ``clock``: ``WallClocks``. ``stall``: of one thread of a client
(``ClientThreads``). ``triggers``: at single requests and frames of clients (``TriggerLinks``).
``full-disk``: ``Disks`` that can be full. ``disk-journal``: ``Disks`` whose unsynced writes are
known, so that they can be slow, lie and lose power.
``containers``: ``Containers``. ``simulation``: all of
``harness.simulated_faults``."""


class EnvironmentRefusal(Exception):  # noqa: N818 - a refusal, not an error of the program
    """This host does not allow what was asked; the message names the thing and the remedy.

    The command line prints it without a traceback and exits with 4.
    """


@dataclass(frozen=True)
class Availability:
    """Whether this host offers something; if not, why, and what would be needed."""

    available: bool
    why: str = ""


Losses = Mapping[str, Mapping[str, float]]
"""Node -> the node from which it loses packets -> their share, above 0 and below 1."""


class Slowness(NamedTuple):
    """How late packets arrive, in seconds: ``delay``, and a random part of ``jitter`` more.

    ``bytes_per_second``: how many pass in a second; packets wait for those before them. 0: no
    limit.
    """

    delay: float = 0.0
    jitter: float = 0.0
    bytes_per_second: int = 0


class Packets(Protocol):
    """Packets between servers, which can be lost at random, or be late."""

    def lose(self, losses: Losses) -> None:
        """Lose packets from now on, in place of earlier losses; ``{}``: none."""

    def losses(self) -> dict[str, dict[str, float]]:
        """What is lost now, as the network says it; only nodes that lose any."""

    def lost(self) -> int:
        """How many packets have been lost since ``lose`` was last called."""

    def slow_down(self, node: str, links: Mapping[str, Slowness]) -> None:
        """Have packets from these servers arrive late at a node, in place of what was late there.

        ``{}``: none.
        """

    def slowness(self) -> dict[str, dict[str, Slowness]]:
        """Node -> the node from which packets arrive late -> how late; only nodes with any."""

    def slowed(self) -> int:
        """How many packets have been late at nodes since ``slow_down`` was last called for them."""


DiskTrouble = Literal["slow", "full", "failing", "lying"]
"""``slow``: every fsync takes fifty times as long. ``full``: nothing more can be written, so that a
server exits. ``failing``: every fsync fails (EIO). ``lying``: fsync reports success and makes
nothing durable."""


class Disks(Protocol):
    """The disks of servers that can be given a trouble."""

    def prepare(self, trouble: DiskTrouble | None) -> None:
        """Make ready what this needs, or what ``power_off`` does; before the servers start."""

    def trouble_disk(self, node: str, trouble: DiskTrouble) -> None:
        """Give a disk this trouble, in place of any earlier one."""

    def disk_trouble(self, node: str) -> DiskTrouble | None:
        """What is wrong with a disk now."""

    def mend_disk(self, node: str) -> None:
        """End a disk's trouble."""

    def power_off(self, node: str) -> None:
        """Cut the power: the server is gone, and so is all or part of what was not synced."""

    def damage(self, node: str, damage: Damage, random: Random) -> str:
        """Kill a server, and damage its files; what was done to them, in words."""


class WallClocks(Protocol):
    """Wall clocks of servers that can be set; the monotonic clocks stay right."""

    def set_clock(self, node: str, seconds: int) -> None:
        """Set a server's wall clock so many seconds ahead of the right time; 0: right."""

    def clock_error(self, node: str) -> float | None:
        """By how many seconds a server's wall clock is ahead; None if the server does not say."""


class Containers(Protocol):
    """The containers of real servers, for faults of which an ensemble knows nothing."""

    def run_in_server(self, node: str, command: Sequence[str]) -> None:
        """Run a command in a server's container, as its user.

        Raises:
            RuntimeError: the server does not run, or the command failed.
        """

    def run_in_network(self, node: str, script: str) -> tuple[int, str]:
        """Run a bash script in a node's network; its exit code, and all that it printed.

        It may be run twice, which must do no harm. It may change the node's network.
        """

    def limit(self, node: str, **limits: Any) -> None:
        """Set what a server may use: arguments of the Docker SDK's ``Container.update``."""

    def limits(self, node: str) -> Mapping[str, Any]:
        """What a server may use, as the engine says it: its ``HostConfig``."""


class Ensemble(Protocol):
    """A group of servers that can be run, observed, broken and mended."""

    kind: str
    """``docker``, ``sim``, or ``services`` (those of the user's)."""
    nodes: tuple[str, ...]
    """Names of the servers, in order of their ids."""
    machines: Machines | None
    """The servers' machines, where faults can be injected into them; None if they are real."""
    clocks: WallClocks | None
    """The servers' wall clocks, where they can be set; else None."""
    packets: Packets | None
    """The packets between servers, where they can be lost; None if they cannot."""
    disks: Disks | None
    """The servers' disks, where they can be given a trouble; None if they cannot."""
    containers: Containers | None
    """The servers' containers; None if they are simulated."""
    upgrades: Upgrades | None
    """The servers' versions, where they can be changed; None if they cannot."""

    def start(self) -> None:
        """Bring all servers up and return once a quorum serves and every node answers.

        Raises:
            EnvironmentRefusal: no engine, no image, no free subnet or port, no space.
        """

    def tear_down(self) -> None:
        """Remove everything that ``start`` made. May be called at any time, more than once."""

    def client_address(self, node: str) -> tuple[str, int]:
        """Host and port on which clients (the links) reach a node; fixed for the run."""

    def client_addresses(self) -> dict[str, tuple[str, int]]:
        """The same of all nodes; ``node:service`` for further ports of a node."""

    def kill(self, node: str) -> None:
        """Kill a server with SIGKILL. Its disk stays."""

    def restart(self, node: str) -> None:
        """Start a killed server again on its disk; does not wait for it to serve."""

    def pause(self, node: str) -> None:
        """Freeze a server's processes."""

    def resume(self, node: str) -> None:
        """Unfreeze a paused server."""

    def partition(self, grudge: Grudge) -> None:
        """Let each node drop all packets from the nodes it bears a grudge against.

        Replaces any earlier partition. Clients' traffic is not touched.
        """

    def heal(self) -> None:
        """Remove the partition, if there is one."""

    def state(self, node: str) -> NodeState:
        """The state of the server's process, as Docker or the simulation reports it."""

    def grudge(self) -> dict[str, frozenset[str]]:
        """The partition in force, as read back from the nodes' own packet filters.

        Nodes that bear no grudge are left out; empty when there is no partition.
        """

    def reaches(self, source: str, target: str) -> bool:
        """Whether packets pass both ways between two nodes on the quorum network now.

        Tried for real. A node can be reached even if its server is dead.
        """

    def applied(self, node: str) -> int:
        """The zxid of the last transaction that a server says it has applied; 0 if it says none."""

    def serves(self, node: str) -> bool:
        """Whether a node answers ``srvr`` as part of a quorum, within a second."""

    def leader(self) -> str | None:
        """The node that leads and serves, found by ``srvr``; None if there is none now.

        Where two servers claim to lead (one was deposed and has not noticed), it is the one with
        the higher epoch in its zxid.
        """

    def gather(self, destination: Path) -> None:
        """Copy every node's log output and data files to ``destination/<node>/``.

        ``node.log`` is the server's output, ``mntr.txt`` its answer to that four-letter word (none
        if it did not answer); ``version-2/`` holds ``log.*``, ``snapshot.*``, ``currentEpoch`` and
        ``acceptedEpoch`` as the server wrote them. Works on dead and paused nodes too.
        """

    def probe(self) -> Mapping[Capability, Availability]:
        """What this host allows. A capability left out is never available with this ensemble."""


def without_connection(grudge: Grudge) -> set[frozenset[str]]:
    """Pairs of nodes that cannot hold a connection under a grudge.

    A connection needs packets both ways, so a pair is cut when either refuses the other.
    """
    return {frozenset((node, other)) for node, others in grudge.items() for other in others}


def serving(ensemble: Ensemble, nodes: Iterable[str] | None = None) -> list[str]:
    """Those of the nodes (all by default) that answer as part of a quorum."""
    return [n for n in (ensemble.nodes if nodes is None else nodes) if ensemble.serves(n)]
