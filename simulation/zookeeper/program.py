"""The program ``zkServer``: loads the database and starts a server, or exits."""

from typing import TYPE_CHECKING

from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.quorum.leader import Leader
from rumpus.simulation.zookeeper.quorum.learner import Learner
from rumpus.simulation.zookeeper.quorum.quorum_peer import QuorumPeer
from rumpus.simulation.zookeeper.quorum.zab_invariants import ZabInvariants
from rumpus.simulation.zookeeper.serving import four_letter_words
from rumpus.simulation.zookeeper.serving.role import Mode
from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer
from rumpus.simulation.zookeeper.serving.standalone import Standalone
from rumpus.simulation.zookeeper.settings import Settings
from rumpus.simulation.zookeeper.startup_errors import StartupRefused
from rumpus.simulation.zookeeper.storage.database import Database
from rumpus.simulation.zookeeper.tree.data_tree import DataTree

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process


class ServerProgram:
    """The server program of a host. Each start makes a new process; only the disk lasts.

    Args:
        simulator: the world.
        network: the network to clients and other servers.
        disk: the host's disk.
        settings: a standalone server's, or those of a member of an ensemble.
        invariants: checks Zab's invariants over all servers of the ensemble; None: no checks.
    """

    def __init__(
        self,
        simulator: Simulator,
        network: Network,
        disk: Disk,
        settings: Settings,
        invariants: ZabInvariants | None = None,
    ) -> None:
        self._simulator = simulator
        self._network = network
        self.disk = disk
        self.settings = settings
        self._invariants = invariants
        self.process: Process | None = None
        """The process that was started last, dead or alive."""
        self.server: ZooKeeperServer | None = None
        """The server in that process."""
        self.peer: QuorumPeer | None = None
        """The ensemble member in that process; None for a standalone server."""
        self.true_times: dict[int, int] = {}
        """Zxid to true time of the proposal (ms since 1970), where this host's clock was wrong."""
        self.exit_reason: str | None = None
        """Why the last process exited by itself; None if it was killed, or runs."""

    @property
    def running(self) -> bool:
        """Whether the process is alive, frozen or not."""
        return self.process is not None and not self.process.dead

    @property
    def mode(self) -> Mode | None:
        """The role in which clients are served; None if they are not."""
        return self.server.mode if self.running and self.server is not None else None

    def start(self) -> None:
        """Start the program, unless it runs.

        It may exit at once because of its files or its disk; see ``exit_reason``.
        """
        if self.running:
            return
        settings = self.settings
        process = self.process = self._simulator.process(settings.host)
        self.server = self.peer = self.exit_reason = None
        try:
            database = settings.part(Database)(self.disk, settings.part(DataTree))
            database.load()
            self.server = settings.part(ZooKeeperServer)(
                process,
                self._network,
                settings,
                database,
                self._exit,
                four_letter_words.WORDS,
                self.true_times,
            )
            if settings.members:
                self.peer = QuorumPeer(
                    self.server,
                    self._network,
                    self.disk,
                    settings.part(Leader),
                    settings.part(Learner),
                    self._invariants,
                )
                self.peer.start()
            else:
                Standalone(self.server)
        except StartupRefused as refusal:
            self._exit(str(refusal))
        except OSError as error:
            self._exit(f"the disk fails: {error}")

    def kill(self) -> None:
        """End the process at once; its writes to files stay."""
        if self.process is not None:
            self.process.kill()

    def _exit(self, reason: str) -> None:
        if self.running and self.process is not None:
            self.exit_reason = reason
            self._simulator.trace.append(("exit", self.settings.host, reason))
            self.process.kill()
