"""A standalone server or an ensemble, and operations on its machines and processes."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.program import ServerProgram
from rumpus.simulation.zookeeper.quorum.zab_invariants import ZabInvariants
from rumpus.simulation.zookeeper.serving.role import Mode
from rumpus.simulation.zookeeper.settings import Member, Settings


class Cluster:
    """Servers "n1" to "nN", each with a program, a host and a disk of that name.

    None runs before ``start``. All calls return at once.

    Args:
        simulator: the world.
        network: of that world.
        count: voting servers; 1 without observers makes a standalone server.
        observers: further servers that do not vote.
        settings: the common settings of all servers; host, id and members are filled in.
        check_invariants: whether an ensemble's servers are checked for Zab's invariants. A
            violation ends the world with ``InvariantViolation``. Not with ``Disk.lie``.
        overrides: values for fields of ``Settings``, by their names.
    """

    def __init__(
        self,
        simulator: Simulator,
        network: Network,
        count: int,
        *,
        observers: int = 0,
        settings: Settings | None = None,
        check_invariants: bool = True,
        **overrides: Any,
    ) -> None:
        if count < 1:
            raise ValueError(f"a cluster has at least one voting server, not {count}")
        self.simulator = simulator
        self._network = network
        self._random = simulator.random("power failures")
        self._standalone = count + observers == 1
        self.nodes = tuple(f"n{number}" for number in range(1, count + observers + 1))
        self._common = common = replace(settings or Settings(), **overrides)
        members = tuple(
            Member(
                number,
                node,
                role="participant" if number <= count else "observer",
                client_port=common.client_port,
            )
            for number, node in enumerate(self.nodes, 1)
        )
        if self._standalone:
            members = ()
        voters = [member.server_id for member in members if member.role == "participant"]
        self.invariants = ZabInvariants(voters) if members and check_invariants else None
        self.disks = {node: Disk(simulator, node) for node in self.nodes}
        self.programs = {
            node: ServerProgram(
                simulator,
                network,
                self.disks[node],
                replace(common, server_id=number, host=node, members=members),
                self.invariants,
            )
            for number, node in enumerate(self.nodes, 1)
        }

    # -- membership -------------------------------------------------------------------------

    def members(self) -> tuple[Member, ...]:
        """The ensemble's members in the newest configuration that any server has in force."""
        peers = [program.peer for program in self.programs.values() if program.peer is not None]
        if not peers:
            return next(iter(self.programs.values())).settings.members
        verifier = max((peer.verifier for peer in peers), key=lambda verifier: verifier.version)
        return tuple(verifier.members.values())

    def add(self, role: Literal["participant", "observer"] = "participant") -> Member:
        """Add a machine with a server whose configuration names the present members and itself.

        It does not run before ``start``. Then it follows the leader without a vote; it becomes a
        member of the ensemble by a client's reconfig (joining ``str(member)``).

        Raises:
            ValueError: there is no ensemble to join.
        """
        if self._standalone:
            raise ValueError("a standalone server takes no others in")
        number = len(self.nodes) + 1
        node = f"n{number}"
        member = Member(number, node, role=role, client_port=self._common.client_port)
        settings = replace(
            self._common, server_id=number, host=node, members=(*self.members(), member)
        )
        self.nodes = (*self.nodes, node)
        disk = self.disks[node] = Disk(self.simulator, node)
        self.programs[node] = ServerProgram(
            self.simulator, self._network, disk, settings, self.invariants
        )
        return member

    # -- questions --------------------------------------------------------------------------

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """Where clients connect: hosts and ports, in the order of the nodes."""
        return tuple(
            (node, program.settings.client_port) for node, program in self.programs.items()
        )

    def running(self, node: str) -> bool:
        """Whether the node's program is alive, paused or not."""
        return self.programs[node].running

    def paused(self, node: str) -> bool:
        """Whether the node's program is stopped by ``pause``."""
        process = self.programs[node].process
        return process is not None and not process.dead and process.frozen

    def mode(self, node: str) -> Mode | None:
        """The role in which the node serves clients; None if it does not."""
        return self.programs[node].mode

    def serves(self, node: str) -> bool:
        """Whether the node serves clients now: it has a role and is not paused."""
        return self.mode(node) is not None and not self.paused(node)

    def leader(self) -> str | None:
        """The leading node; that of the latest epoch, if an old leader has not stepped down yet."""
        leaders = [node for node in self.nodes if self.mode(node) == "leader"]
        return max(leaders, key=self.zxid, default=None)

    def zxid(self, node: str) -> int:
        """The last zxid that the node has applied; 0 if it has never run."""
        server = self.programs[node].server
        return 0 if server is None else server.database.last_processed

    def true_times(self) -> dict[int, int]:
        """Zxid to true time of the proposal (ms since 1970), where the leader's clock was wrong."""
        return {
            zxid: time
            for program in self.programs.values()
            for zxid, time in program.true_times.items()
        }

    def exit_reason(self, node: str) -> str | None:
        """Why the node's program has ended by itself; None if it has not."""
        return self.programs[node].exit_reason

    # -- faults -----------------------------------------------------------------------------

    def start(self, nodes: Iterable[str] | None = None) -> None:
        """Start the programs of these nodes (by default all) that are not running."""
        for node in self.nodes if nodes is None else nodes:
            self.programs[node].start()

    def kill(self, node: str) -> None:
        """SIGKILL the node's program: the kernel closes its sockets, and its files stay."""
        self.programs[node].kill()

    def power_off(self, node: str) -> None:
        """The machine stops: no socket is closed, and what was not synced may be lost."""
        self._network.crash_host(node)
        self.programs[node].kill()
        self.disks[node].crash(self._random)

    def restart(self, node: str) -> None:
        """Kill the node's program, if it runs, and start it."""
        self.kill(node)
        self.programs[node].start()

    def pause(self, node: str) -> None:
        """SIGSTOP the node's program."""
        process = self.programs[node].process
        if process is not None:
            process.freeze()

    def resume(self, node: str) -> None:
        """SIGCONT the node's program."""
        process = self.programs[node].process
        if process is not None:
            process.thaw()
