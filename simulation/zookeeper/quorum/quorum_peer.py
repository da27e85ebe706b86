"""One member of an ensemble: looks for a leader, takes a role, and looks again (``QuorumPeer``)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol

from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.quorum.configuration_files import ConfigurationFiles
from rumpus.simulation.zookeeper.quorum.connection_manager import ConnectionManager
from rumpus.simulation.zookeeper.quorum.election import (
    FOLLOWING,
    LEADING,
    OBSERVING,
    Election,
    Vote,
)
from rumpus.simulation.zookeeper.quorum.quorum_verifier import (
    JointVerifier,
    QuorumVerifier,
    Verifier,
)
from rumpus.simulation.zookeeper.quorum.zab_invariants import ZabInvariants
from rumpus.simulation.zookeeper.serving.read_only import ReadOnly
from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer
from rumpus.simulation.zookeeper.serving.sync_processor import SyncProcessor
from rumpus.simulation.zookeeper.startup_errors import StartupRefused
from rumpus.simulation.zookeeper.storage.epoch_files import EpochFiles
from rumpus.simulation.zookeeper.tree.transactions import Entry
from rumpus.simulation.zookeeper.wire.request import Request

if TYPE_CHECKING:
    from rumpus.simulation.zookeeper.settings import Member

MILLISECOND = 1_000_000


class PeerRole(Protocol):
    """The role of a server after an election: a leader or a learner."""

    def start(self) -> None:
        """Begin; the role calls ``QuorumPeer.role_over`` when it ends."""


class QuorumPeer:
    """Is LOOKING, then LEADING, FOLLOWING or OBSERVING, and LOOKING again when the role ends.

    Args:
        server: with its database loaded; serves clients while there is a role.
        network: to the other members.
        disk: holds the epoch files and the configurations.
        lead: makes the role of a leader.
        learn: makes the role of a learner, given the leader.
        invariants: checks Zab's invariants over all servers; None: no checks.
    """

    def __init__(
        self,
        server: ZooKeeperServer,
        network: Network,
        disk: Disk,
        lead: "Callable[[QuorumPeer], PeerRole]",
        learn: "Callable[[QuorumPeer, Member], PeerRole]",
        invariants: ZabInvariants | None = None,
    ) -> None:
        self.server = server
        self.process = server.process
        self.simulator = server.simulator
        self.settings = server.settings
        self.network = network
        self._lead = lead
        self._learn = learn
        self.invariants = invariants
        self.epochs = EpochFiles(disk)
        by_id = sorted(self.settings.members, key=lambda member: member.server_id)
        static = QuorumVerifier(by_id)
        self.verifier = static
        """The configuration in force."""
        self.last_seen = static
        """The configuration that was proposed last; its version is higher until it is committed."""
        self.view: Verifier = static
        """What elections use: ``verifier``, joined with ``last_seen`` if that is not committed."""
        self.own = static.members[self.settings.server_id]
        """This server with its addresses, whether or not it is a member now."""
        self.type: Literal["participant", "observer"] = self.own.role
        """As what it learns from a leader; a server that is not a member is a participant."""
        self.configurations = ConfigurationFiles(disk)
        self._successor: int | None = None
        """The leader that a reconfiguration has named, so that no election is needed."""
        self.random = self.simulator.random(f"snapshots of {self.process.name}")
        self.role: PeerRole | None = None
        """None while it looks for a leader."""
        self.connections = ConnectionManager(
            self.process,
            network,
            self.settings.server_id,
            self._view,
            self.settings.tick_time * self.settings.sync_limit * MILLISECOND,
            self._notified,
            lambda: self.own,
        )
        self.election = Election(
            self.process,
            self.connections,
            self.settings.server_id,
            self._view,
            self._decided,
            self._heard_of,
        )
        self.reload = False
        """Whether the tree holds data that are not on the disk, so that it must be loaded again."""
        self._writing = 0
        self._log_rest: Callable[[], None] | None = None
        self._read_only: ReadOnly | None = None

    def start(self) -> None:
        """Read the epochs, open the election port, and look for a leader.

        Raises:
            StartupRefused: the epochs do not fit the log.
            OSError: the epochs cannot be written.
        """
        self.epochs.load(self.server.database.last_processed)
        if self.settings.reconfig:
            self.verifier, self.last_seen = self.configurations.load(self.verifier)
            self._configured()
            self._changes_type()
            self.server.listen(self.own.client_port)
        self.connections.start()
        self._look()

    @property
    def participant(self) -> bool:
        """Whether this server acknowledges proposals; that counts only if it is a voter."""
        return self.type == "participant"

    def _view(self) -> Verifier:
        return self.view

    def _notified(self, sender: int, message: Any) -> None:
        self.election.received(sender, message)

    # -- looking --------------------------------------------------------------------------

    def _look(self) -> None:
        if self.settings.read_only_mode:
            self._read_only = ReadOnly(self.server)
            self._read_only.start()
        self.election.look(self.server.database.last_processed, self.epochs.current)

    def _decided(self, vote: Vote) -> None:
        if self._read_only is not None:
            self._read_only.stop()
            self._read_only = None
        self.simulator.trace.append(("elected", self.process.name, vote.leader, vote.round))
        if vote.state == LEADING:
            self.role = self._lead(self)
        else:
            self.role = self._learn(self, self.view.members[vote.leader])
        self.role.start()

    def _succeed(self, leader: int) -> None:
        """Take the role that a reconfiguration has given to this server (``updateServerState``)."""
        if leader == self.settings.server_id:
            state = LEADING
        elif self.participant:
            state = FOLLOWING
        else:
            state = OBSERVING
        self._decided(self.election.assume(state))

    def role_over(self, reason: str, log_rest: Callable[[], None] | None = None) -> None:
        """The role has ended: sync the log, then look for a leader again.

        This server's next vote has the last zxid that it has logged, committed or not.

        Args:
            reason: why it has ended.
            log_rest: logs what was not logged yet; called after the tree was brought up to the log.
        """
        self._log_rest = log_rest
        self.simulator.trace.append(("looking", self.process.name, reason))
        self.role = None
        self.election.reopen()
        self._writing += 1
        self.server.database.log.sync(self.process, self._written)

    def _written(self, error: OSError | None) -> None:
        if error is not None:
            self.fail(error)
            return
        self._writing -= 1
        if self.role is None and not self._writing:
            self.process.call_later(0, self._recover)

    def _recover(self) -> None:
        if self.role is not None or self.election.looking:
            return
        database = self.server.database
        try:
            if self.reload:
                self.reload = False
                database.load()
            else:
                database.fast_forward()
        except StartupRefused as refusal:
            self.server.exit_process(str(refusal))
            return
        except OSError as error:
            self.fail(error)
            return
        if self._log_rest is not None:
            self._log_rest()
        leader, self._successor = self._successor, None
        if leader is None:
            self._look()
        else:
            self._succeed(leader)

    # -- what leaders and learners have in common -----------------------------------------

    def new_sync_processor(self, logged: Callable[[int], None]) -> SyncProcessor[int]:
        """Make the processor that writes entries to the log for a role.

        Args:
            logged: called with the zxid of an entry that is safe on the disk.
        """
        return SyncProcessor(
            self.process,
            self.server.database,
            logged,
            self.fail,
            snap_count=self.settings.snap_count,
            random=self.random,
        )

    def finish(self, entry: Entry, request: Request | None) -> None:
        """Apply a committed entry, and answer the request if it came from a client here."""
        if self.invariants is not None:
            self.invariants.applied(self.settings.server_id, entry)
        if request is None:
            self.server.apply(entry)
        else:
            self.server.finish(request, entry)

    # -- configurations -------------------------------------------------------------------

    def write_configuration(self) -> None:
        """Set ``/zookeeper/config`` to the configuration in force. Watches fire for it."""
        now = self.process.clock.wall() // MILLISECOND
        verifier = self.verifier
        self.server.database.tree.set_configuration(
            verifier.text().encode(), now, verifier.version, self.server.watches
        )

    def see(self, verifier: QuorumVerifier, done: Callable[[], None]) -> None:
        """A configuration is proposed: until its commit, elections need a quorum of it, too.

        Args:
            verifier: the configuration; if it is older than the last proposed one, it replaces
                that.
            done: called when it is safe on the disk; never, if the role is over by then.
        """
        if not self.settings.reconfig or verifier.version == self.last_seen.version:
            done()
            return
        self.last_seen = verifier
        self._configured()
        self.configurations.write_next(verifier, self.process, self._writing_then(done))

    def activate(
        self,
        verifier: QuorumVerifier,
        leader: int | None,
        zxid: int,
        done: Callable[[], None],
        *,
        restart_election: bool = True,
    ) -> bool:
        """A configuration is committed (``processReconfig``).

        Args:
            verifier: the configuration.
            leader: the id of the next leader; None: the present one, or one to be elected.
            zxid: that of the transaction.
            done: called when the configuration is safe on the disk; never, if the role is over.
            restart_election: whether other servers' votes and connections are forgotten.

        Returns:
            whether the present role must end, as this server's type or its leader changes.
        """
        former = self.verifier
        if not self.settings.reconfig:
            done()
            return False
        if verifier.version <= former.version:
            self.write_configuration()
            done()
            return False
        self.verifier = verifier
        if verifier.version > self.last_seen.version:
            self.last_seen = verifier
        self._configured()
        self.simulator.trace.append(("configuration", self.process.name, verifier.version))
        self.configurations.write_current(verifier, self.process, self._writing_then(done))
        self.write_configuration()
        if former.members == verifier.members:
            return False
        if restart_election:
            self.election.restart()
        self.server.listen(self.own.client_port)
        role_changes = self._changes_type()
        if leader is None:
            present = self.election.current.leader
            self._successor = None
            leader_changes = former.voters.get(present) != verifier.voters.get(present)
        else:
            leader_changes = leader != self.election.current.leader
            if leader_changes:
                self.election.appoint(leader, zxid)
            if leader_changes or role_changes:
                self._successor = leader
        return role_changes or leader_changes

    def _configured(self) -> None:
        """Update ``view`` and ``own`` from the two configurations."""
        verifier, last_seen = self.verifier, self.last_seen
        joint = last_seen.version > verifier.version
        self.view = JointVerifier(verifier, last_seen) if joint else verifier
        self.own = verifier.members.get(self.settings.server_id, self.own)

    def _changes_type(self) -> bool:
        member = self.verifier.members.get(self.settings.server_id)
        former, self.type = self.type, "participant" if member is None else member.role
        return self.type != former

    def _heard_of(self, verifier: QuorumVerifier) -> bool:
        """During an election, another server has sent its configuration: adopt it if newer.

        Returns:
            whether the members change, so that the election begins anew.
        """
        former = self.verifier
        if not self.settings.reconfig or verifier.version <= former.version:
            return False
        self.activate(verifier, None, 0, lambda: None, restart_election=False)
        if former.members == verifier.members:
            return False
        if self._read_only is not None:
            self._read_only.stop()
            self._read_only = None
        self.election.restart()  # ``_recover`` begins another once the configuration is written
        return True

    # -- the disk -------------------------------------------------------------------------

    def fail(self, error: OSError) -> None:
        """The disk has failed: end the server's process."""
        self.server.exit_process(f"the disk fails: {error}")

    def _writing_then(self, done: Callable[[], None]) -> Callable[[OSError | None], None]:
        self._writing += 1
        return _then(self, done)

    def write_accepted(self, epoch: int, done: Callable[[], None]) -> None:
        """Write ``acceptedEpoch``, then call back, unless the disk fails."""
        self.epochs.set_accepted(epoch, self.process, self._writing_then(done))

    def write_current(self, epoch: int, done: Callable[[], None]) -> None:
        """Write ``currentEpoch``, then call back, unless the disk fails."""
        self.epochs.set_current(epoch, self.process, self._writing_then(done))


def _then(peer: QuorumPeer, done: Callable[[], None]) -> Callable[[OSError | None], None]:
    def written(error: OSError | None) -> None:
        if error is None and peer.role is not None:
            done()
        peer._written(error)  # noqa: SLF001 - of this module

    return written
