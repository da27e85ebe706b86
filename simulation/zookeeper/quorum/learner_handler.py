"""A leader's end of the connection to one learner (``LearnerHandler``)."""

from typing import Any, Protocol

from rumpus.simulation.kernel.process import Process, World
from rumpus.simulation.network.transport import Transport
from rumpus.simulation.zookeeper import bugs
from rumpus.simulation.zookeeper.quorum import quorum_packets as packets
from rumpus.simulation.zookeeper.quorum.quorum_packets import (
    HEAD,
    LearnerInfo,
    Packet,
    epoch_of,
    make_zxid,
    size_of_entry,
)
from rumpus.simulation.zookeeper.quorum.quorum_verifier import QuorumVerifier
from rumpus.simulation.zookeeper.quorum.silence import SilenceWatch
from rumpus.simulation.zookeeper.quorum.synchronization import choose
from rumpus.simulation.zookeeper.serving.session_tracker import SessionTracker
from rumpus.simulation.zookeeper.settings import Settings
from rumpus.simulation.zookeeper.storage.database import Database
from rumpus.simulation.zookeeper.wire.request import Request

EXPECT_INFO = 0
WAIT_EPOCH = 1
EXPECT_ACKEPOCH = 2
WAIT_EPOCH_ACK = 3
EXPECT_NEWLEADER_ACK = 4
WAIT_START = 5
BROADCAST = 6
OVER = 7


class Leader(Protocol):
    """What a handler needs of its leader."""

    process: Process
    simulator: World
    settings: Settings
    database: Database
    sessions: SessionTracker
    verifier: QuorumVerifier
    """The configuration in force."""
    epoch: int
    tick: int
    sync_limit: int
    """Ticks for which a learner counts as synced after its last packet."""
    init_patience: int
    """Nanoseconds that a learner may be silent during the handshake."""
    sync_patience: int
    """Nanoseconds that a learner may be silent afterwards, or leave a proposal unanswered."""

    @property
    def last_seen(self) -> QuorumVerifier:
        """The configuration that was proposed last."""

    def propose_epoch(self, handler: "LearnerHandler | None", accepted: int) -> None:
        """The learner's acceptedEpoch is ``accepted``; it waits for ``epoch_agreed``."""

    def acknowledge_epoch(self, handler: "LearnerHandler | None", current: int | None) -> None:
        """The learner has promised the new epoch, and waits for ``synchronize``.

        Args:
            handler: that of the learner.
            current: the learner's currentEpoch; None if it had promised before.
        """

    def start_forwarding(self, handler: "LearnerHandler", seen: int) -> None:
        """Send the learner pending proposals above ``seen`` now, and later ones as they come."""

    def acknowledge_new_leader(self, handler: "LearnerHandler", zxid: int) -> None:
        """The learner has the leader's history on its disk, and waits for ``start``."""

    def acknowledge(self, bit: int, zxid: int) -> None:
        """The server of ``bit`` has logged a proposal."""

    def submit(self, request: Request) -> None:
        """Order a write, or answer a sync, of a learner's client."""

    def forget(self, handler: "LearnerHandler") -> None:
        """The learner's connection has ended."""


class LearnerHandler:
    """Takes one learner through handshake and synchronization, then processes its packets.

    Packets that come while ZooKeeper's thread would not read are kept for later. The handler is
    also registered as the owner of the sessions whose clients are connected to its learner.

    Args:
        leader: the leader that it belongs to.
        transport: the connection to the learner.
    """

    __slots__ = (
        "_kept",
        "_oldest_time",
        "_oldest_zxid",
        "_second_time",
        "_second_zxid",
        "_silence",
        "bit",
        "forwarding",
        "leader",
        "participant",
        "peer_zxid",
        "phase",
        "server_id",
        "simulator",
        "synced_until",
        "transport",
    )

    def __init__(self, leader: Leader, transport: Transport) -> None:
        self.leader = leader
        self.transport = transport
        self.simulator = leader.simulator
        self.server_id = -1
        self.bit = 0
        """The learner's bit in masks of acknowledgements, 0 if it does not vote."""
        self.participant = False
        self.phase = EXPECT_INFO
        self.forwarding = False
        """Whether the leader sends its proposals to this learner."""
        self.peer_zxid = -1
        """The learner's last zxid when it connected."""
        self.synced_until = leader.tick + leader.settings.init_limit + leader.settings.sync_limit
        """The last tick in which the learner counts as synced."""
        self._kept: list[Packet] = []
        self._oldest_zxid = -1
        self._oldest_time = -1
        self._second_zxid = -1
        self._second_time = -1
        self._silence = SilenceWatch(
            leader.process, leader.init_patience, self._waits_for_others, self.close
        )
        self._silence.start()

    # -- Receiver -------------------------------------------------------------------------

    def data_received(self, packet: Any) -> None:
        """A packet from the learner has come."""
        self._silence.heard = self.simulator.now
        phase = self.phase
        if phase == BROADCAST:
            leader = self.leader
            self.synced_until = leader.tick + leader.sync_limit
            kind, zxid, data = packet
            if kind == packets.ACK:
                if zxid == self._oldest_zxid:
                    self._oldest_zxid = self._second_zxid
                    self._oldest_time = self._second_time
                    self._second_time = self._second_zxid = -1
                if self.bit:
                    leader.acknowledge(self.bit, zxid)
            elif kind == packets.REQUEST:
                session, cxid, type_, body, identities = data
                leader.submit(Request(session, cxid, type_, body, identities, None, self))
            elif kind == packets.PING:
                touch = leader.sessions.touch
                for session, timeout in data:
                    touch(session, timeout)
            elif kind == packets.REVALIDATE:
                self._revalidate(*data)
        elif self._waits_for_others():
            self._kept.append(packet)
        elif phase == EXPECT_INFO:
            self._introduced(packet)
        elif phase == EXPECT_ACKEPOCH:
            self._promised(packet)
        elif phase == EXPECT_NEWLEADER_ACK:
            self._synced(packet)

    def eof_received(self) -> None:
        """The learner has closed the connection."""
        self.close()

    def connection_lost(self, _: OSError | None) -> None:
        """The connection is lost."""
        self.close()

    def close(self) -> None:
        """Forget the learner."""
        if self.phase != OVER:
            self.phase = OVER
            self._silence.stop()
            self.leader.forget(self)
            self.transport.close()

    def _waits_for_others(self) -> bool:
        """Whether it is the leader or other learners that keep this learner waiting."""
        return self.phase in {WAIT_EPOCH, WAIT_EPOCH_ACK, WAIT_START}

    # -- handshake ------------------------------------------------------------------------

    def _introduced(self, packet: Packet) -> None:
        leader = self.leader
        if packet.type not in {packets.FOLLOWERINFO, packets.OBSERVERINFO}:
            self.close()
            return
        info: LearnerInfo = packet.data
        self.server_id = info.server_id
        if info.config_version > leader.verifier.version:
            self.close()  # a newer configuration was activated without this leader
            return
        self.participant = packet.type == packets.FOLLOWERINFO
        self.bit = 1 << self.server_id if self.participant else 0
        self.phase = WAIT_EPOCH
        leader.propose_epoch(self, epoch_of(packet.zxid))

    def epoch_agreed(self, epoch: int) -> None:
        """The leader's epoch is known: tell the learner."""
        self._silence.heard = self.simulator.now
        self.phase = EXPECT_ACKEPOCH
        self.send(Packet(packets.LEADERINFO, make_zxid(epoch, 0)), HEAD + 4)
        self._read_kept()

    def _promised(self, packet: Packet) -> None:
        if packet.type != packets.ACKEPOCH:
            self.close()
            return
        self.peer_zxid = packet.zxid
        self.phase = WAIT_EPOCH_ACK
        epoch: int = packet.data
        self.leader.acknowledge_epoch(self, None if epoch == packets.NO_EPOCH else epoch)

    def synchronize(self) -> None:
        """Send what the learner lacks, then NEWLEADER; later proposals follow."""
        self._silence.heard = self.simulator.now
        leader = self.leader
        database = leader.database
        plan = choose(
            self.peer_zxid,
            database.last_processed,
            database.committed_log,
            database.proposals_from_log,
            trust_log=bugs.UNCOMMITTED_FROM_LOG in leader.settings.bugs,
        )
        leader.simulator.trace.append(("sync", self.server_id, plan.kind, plan.zxid))
        if plan.kind == packets.SNAP:
            snapshot = database.serialize_snapshot()
            self.send(Packet(packets.SNAP, plan.zxid, snapshot), HEAD + len(snapshot))
        else:
            self.send(Packet(plan.kind, plan.zxid), HEAD)
        for entry in plan.entries:
            self.send(Packet(packets.PROPOSAL, entry.header.zxid, entry), size_of_entry(entry))
            self.send(Packet(packets.COMMIT, entry.header.zxid), HEAD)
        self.phase = EXPECT_NEWLEADER_ACK
        leader.start_forwarding(self, plan.seen)
        last_seen = leader.last_seen
        size = HEAD + len(last_seen.text())
        self.send(Packet(packets.NEWLEADER, make_zxid(leader.epoch, 0), last_seen), size)
        self._read_kept()

    def _synced(self, packet: Packet) -> None:
        leader = self.leader
        if packet.type != packets.ACK:
            self.close()
            return
        if packet.zxid != make_zxid(leader.epoch, 0) and bugs.ACK_ORDER not in leader.settings.bugs:
            self._kept.append(packet)
            return
        self._silence.limit = leader.sync_patience
        self._silence.start()
        self.phase = WAIT_START
        leader.acknowledge_new_leader(self, packet.zxid)

    def start(self) -> None:
        """The leader serves clients now: send UPTODATE, so that the learner does, too."""
        self._silence.heard = self.simulator.now
        self.send(packets.UPTODATE_PACKET, HEAD)
        self.phase = BROADCAST
        self._read_kept()

    def _read_kept(self) -> None:
        kept, self._kept = self._kept, []
        for packet in kept:
            self.data_received(packet)

    # -- broadcast ------------------------------------------------------------------------

    def send(self, packet: Packet, size: int) -> None:
        """Send one packet, after all that were sent before."""
        self.transport.write_message(packet, size)

    def propose(self, packet: Packet, size: int) -> None:
        """Send a proposal, and remember when, to drop a learner that does not acknowledge it."""
        if self.phase == BROADCAST:
            if self._oldest_time < 0:
                self._oldest_time = self.simulator.now
                self._oldest_zxid = packet[1]
            else:
                self._second_time = self.simulator.now
                self._second_zxid = packet[1]
        self.transport.write_message(packet, size)

    def inform(self, packet: Packet, size: int) -> None:
        """Send an observer a committed transaction."""
        assert packet[0] == packets.INFORM
        self.transport.write_message(packet, size)

    def ping(self, last_proposed: int) -> None:
        """Send a PING; drop a learner that has left a proposal unacknowledged for too long."""
        if self.phase < EXPECT_NEWLEADER_ACK:
            return
        waited = self.simulator.now - self._oldest_time
        if self._oldest_time >= 0 and waited >= self.leader.sync_patience:
            self.close()
        else:
            self.transport.write_message(Packet(packets.PING, last_proposed), HEAD)

    def is_synced(self) -> bool:
        """Whether the last packet is recent enough to count for the leader's quorum."""
        return self.phase != OVER and self.leader.tick <= self.synced_until

    def _revalidate(self, session: int, timeout: int) -> None:
        sessions = self.leader.sessions
        valid = sessions.touch(session, timeout)
        if valid:
            sessions.set_owner(session, self)
        self.send(Packet(packets.REVALIDATE, -1, (session, valid)), HEAD + 9)
