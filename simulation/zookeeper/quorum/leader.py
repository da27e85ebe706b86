"""The server that orders all writes: ``Leader`` of ZooKeeper 3.8.0.

Zab's phases: discovery (a quorum promises a new epoch), synchronization (a quorum copies the
leader's history), broadcast (proposals, acknowledgements, commits).
"""

from typing import TYPE_CHECKING

from rumpus.simulation.network.transport import Transport
from rumpus.simulation.zookeeper.quorum.learner_handler import WAIT_START, LearnerHandler
from rumpus.simulation.zookeeper.quorum.quorum_packets import (
    COMMIT,
    COMMITANDACTIVATE,
    HEAD,
    INFORM,
    INFORMANDACTIVATE,
    PROPOSAL,
    SYNC_PACKET,
    Packet,
    counter_of,
    make_zxid,
    size_of_entry,
)
from rumpus.simulation.zookeeper.quorum.quorum_peer import QuorumPeer
from rumpus.simulation.zookeeper.quorum.quorum_verifier import JointVerifier, QuorumVerifier
from rumpus.simulation.zookeeper.quorum.reconfiguration import configuration_of, next_members
from rumpus.simulation.zookeeper.serving.commit_processor import WRITES, CommitProcessor
from rumpus.simulation.zookeeper.serving.containers import ContainerManager
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.serving.role import Handshake, Mode
from rumpus.simulation.zookeeper.serving.session_tracker import SessionTracker
from rumpus.simulation.zookeeper.settings import Member
from rumpus.simulation.zookeeper.tree.transactions import Entry
from rumpus.simulation.zookeeper.wire import error_codes, opcodes
from rumpus.simulation.zookeeper.wire.error_codes import Refusal
from rumpus.simulation.zookeeper.wire.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from rumpus.simulation.kernel.process import Timer
    from rumpus.simulation.network.listener import Listener

MILLISECOND = 1_000_000
LAST_COUNTER = 0xFFFFFFFF
RECONFIG = opcodes.RECONFIG


class Proposal:
    """A transaction that is not committed yet; ``acks`` has a bit for each server.

    During a reconfiguration it needs a quorum of both configurations (``joint``).
    """

    __slots__ = ("acks", "entry", "joint", "packet", "size")

    def __init__(
        self, entry: Entry, packet: Packet, size: int, joint: JointVerifier | None
    ) -> None:
        self.entry = entry
        self.packet = packet
        self.size = size
        self.joint = joint
        self.acks = 0


class Leader:
    """Leads from the election's end until it has lost its quorum; used once only.

    Args:
        peer: the server that leads.
    """

    mode: Mode = "leader"

    def __init__(self, peer: QuorumPeer) -> None:
        self.peer = peer
        self.process = peer.process
        self.simulator = peer.simulator
        self.server = peer.server
        self.database = peer.server.database
        self.settings = settings = peer.settings
        self.verifier = peer.verifier
        self.init_patience = settings.tick_time * settings.init_limit * MILLISECOND
        self.sync_patience = settings.tick_time * settings.sync_limit * MILLISECOND
        self.sync_limit = settings.sync_limit
        self.tick = 0
        self.epoch = -1
        self.over = False
        self.serving = False
        self.handlers: dict[LearnerHandler, None] = {}
        """All learners that are connected, whatever their phase."""
        self.forwarding: dict[LearnerHandler, None] = {}
        """Followers that get proposals and commits."""
        self.observers: dict[LearnerHandler, None] = {}
        """Observers that get committed transactions (INFORM)."""
        self.outstanding: dict[int, Proposal] = {}
        """Proposals that are not committed yet, by zxid, in order."""
        self.last_proposed = -1
        self.sessions = settings.part(SessionTracker)(
            self.process, settings.tick_time, self.server.close_session, error_codes.SESSION_EXPIRED
        )
        self._bit = 1 << settings.server_id
        self._voters_mask = self.verifier.mask
        self._majority = self.verifier.majority
        self._joint: JointVerifier | None = None
        """During a reconfiguration: the present and the next configuration."""
        self._allowed_to_commit = True
        """False once another server is to lead."""
        self._unacknowledged: list[int] | None = None
        """While a proposed configuration is being written: zxids that this server has logged and
        will acknowledge afterwards. Else None."""
        self._epoch_known = False
        self._elected = False
        self._promised = False
        self._connecting: dict[int, None] = {}
        self._electing: dict[int, None] = {}
        self._new_leader_acks = 0
        self._waiting: list[LearnerHandler] = []
        self._summary = (0, 0)
        self._half_tick = False
        self._served_since = self.simulator.now
        self._last_size = self._largest = self._smallest = -1
        self._pending_syncs: dict[int, list[tuple[LearnerHandler, Request]]] = {}
        self._to_followers: list[Callable[[Packet, int], None]] = []
        self._listener: Listener | None = None
        self._patience_timer: Timer | None = None
        self._tick_timer: Timer | None = None
        self._preparer: Preparer | None = None
        self._containers: ContainerManager | None = None
        self._commits = CommitProcessor(self._read, self._finish)
        self._sync = peer.new_sync_processor(self._logged)
        self._invariants = peer.invariants

    @property
    def last_seen(self) -> QuorumVerifier:
        """The configuration that was proposed last."""
        return self.peer.last_seen

    # -- discovery ------------------------------------------------------------------------

    def start(self) -> None:
        """Open the quorum port, and wait for a quorum of learners."""
        database = self.database
        self.peer.write_configuration()
        try:
            database.begin_serving()
        except OSError as error:
            self.peer.fail(error)
            return
        self._summary = (self.peer.epochs.current, database.last_processed)
        self._listener = self.peer.network.listen(
            self.process, self.peer.own.quorum_port, self._accept
        )
        self._await("a quorum of followers did not connect")
        self.propose_epoch(None, self.peer.epochs.accepted)

    def _accept(self, transport: Transport) -> LearnerHandler:
        handler = LearnerHandler(self, transport)
        self.handlers[handler] = None
        return handler

    def _await(self, reason: str) -> None:
        if self._patience_timer is not None:
            self._patience_timer.cancel()
        self._patience_timer = self.process.call_later(self.init_patience, self.shutdown, reason)

    def propose_epoch(self, handler: LearnerHandler | None, accepted: int) -> None:
        """A server whose acceptedEpoch is ``accepted`` waits for the new epoch.

        ``handler`` is that of the learner; None: it is this server.
        """
        if self._epoch_known:
            if handler is not None:
                handler.epoch_agreed(self.epoch)
            return
        if handler is None:
            self._connecting[self.settings.server_id] = None
        else:
            self._waiting.append(handler)
            if handler.participant:
                self._connecting[handler.server_id] = None
        if self._promised:
            return
        self.epoch = max(self.epoch, accepted + 1)
        if self.settings.server_id in self._connecting and self.verifier.contains_quorum(
            self._connecting
        ):
            self._promised = True
            self.peer.write_accepted(self.epoch, self._epoch_written)

    def _epoch_written(self) -> None:
        if self.over:
            return
        seen = self.last_seen
        if seen.version:
            self._agree_on_epoch()
        else:  # the configuration of zoo.cfg gets a version, and so precedes version 0 elsewhere
            seen = QuorumVerifier(seen.members.values(), make_zxid(self.epoch, 0))
            self.peer.see(seen, self._agree_on_epoch)

    def _agree_on_epoch(self) -> None:
        if self.over:
            return
        self._epoch_known = True
        self._await("a quorum of followers did not acknowledge the epoch")
        waiting, self._waiting = self._waiting, []
        for handler in waiting:
            if handler in self.handlers:
                handler.epoch_agreed(self.epoch)
        self.acknowledge_epoch(None, self._summary[0])

    def acknowledge_epoch(self, handler: LearnerHandler | None, current: int | None) -> None:
        """An ACKEPOCH: a learner has promised the new epoch.

        ``handler`` is that of the learner, None: it is this server. ``current`` is its
        currentEpoch, None: it promised before, and must not be counted again.
        """
        if self._elected:
            if handler is not None:
                handler.synchronize()
            return
        if handler is None:
            self._electing[self.settings.server_id] = None
        else:
            if current is not None:
                if (current, handler.peer_zxid) > self._summary:
                    handler.close()  # its history is ahead of this leader's
                    return
                if handler.participant:
                    self._electing[handler.server_id] = None
            self._waiting.append(handler)
        if self.settings.server_id in self._electing and self.verifier.contains_quorum(
            self._electing
        ):
            self._elected = True
            self._await("a quorum of followers did not synchronize")
            self.last_proposed = make_zxid(self.epoch, 0)
            if self._invariants is not None:
                self._invariants.elected(self.settings.server_id, self.epoch)
            waiting, self._waiting = self._waiting, []
            for one in waiting:
                if one in self.handlers:
                    one.synchronize()
            self.peer.write_current(self.epoch, self._established)

    # -- synchronization ------------------------------------------------------------------

    def _established(self) -> None:
        if not self.over:
            self._new_leader_acks |= self._bit
            self._serve_if_quorum()

    def start_forwarding(self, handler: LearnerHandler, seen: int) -> None:
        """Send a learner pending proposals above ``seen`` now, and later ones as they come."""
        if handler.participant:
            for zxid, proposal in self.outstanding.items():
                if zxid > seen:
                    handler.propose(proposal.packet, proposal.size)
            self.forwarding[handler] = None
            self._note_followers()
        else:
            self.observers[handler] = None

    def acknowledge_new_leader(self, handler: LearnerHandler, zxid: int) -> None:
        """The ACK of NEWLEADER: a learner has this leader's history on its disk."""
        if self.serving:
            handler.start()
        elif zxid == make_zxid(self.epoch, 0):
            self._new_leader_acks |= handler.bit
            self._serve_if_quorum()

    def _serve_if_quorum(self) -> None:
        acks = self._new_leader_acks
        if self.serving or not acks & self._bit or not self._is_quorum(acks):
            return
        view = self.peer.view
        if isinstance(view, JointVerifier) and not view.is_quorum(acks):
            return
        self.serving = True
        if self._patience_timer is not None:
            self._patience_timer.cancel()
        zxid = make_zxid(self.epoch, 0)
        database = self.database
        if self._invariants is not None:
            self._invariants.activated(
                self.settings.server_id,
                self.epoch,
                database.last_processed,
                [entry.header.zxid for entry in database.committed_log],
                self.last_seen,
            )
        self._activate(self.last_seen, acks, make_zxid(self.epoch, 0))
        self._served_since = self.simulator.now
        database.last_processed = zxid
        self.sessions.track_all(database.sessions)
        self._preparer = self.settings.part(Preparer)(
            database.tree,
            self.sessions.check,
            self._wall_clock,
            self.settings,
            self._next_zxid,
            self._reconfigure,
        )
        self.peer.election.activated(self.epoch)
        self.server.start_serving(self)
        self._containers = ContainerManager(self.server)
        for handler in list(self.handlers):
            if handler.phase == WAIT_START:
                handler.start()
        self._tick_timer = self.process.call_later(
            self.settings.tick_time * MILLISECOND // 2, self._tick
        )

    def _is_quorum(self, acks: int) -> bool:
        return (acks & self._voters_mask).bit_count() >= self._majority

    # -- liveness -------------------------------------------------------------------------

    def _tick(self) -> None:
        if self.over:
            return
        if not self._half_tick:
            self.tick += 1
            synced = self._bit
            for handler in self.handlers:
                if handler.is_synced():
                    synced |= handler.bit
            joint = self._joint
            if not self._is_quorum(synced) or (joint is not None and not joint.is_quorum(synced)):
                self.shutdown("not sufficient followers synced")
                return
        self._half_tick = not self._half_tick
        for handler in list(self.handlers):
            handler.ping(self.last_proposed)
        if not self.over:
            self._tick_timer = self.process.call_later(
                self.settings.tick_time * MILLISECOND // 2, self._tick
            )

    def forget(self, handler: LearnerHandler) -> None:
        """A learner's connection has ended."""
        self.handlers.pop(handler, None)
        self.observers.pop(handler, None)
        if self.forwarding.pop(handler, handler) is None:
            self._note_followers()

    def _note_followers(self) -> None:
        self._to_followers = [handler.transport.write_message for handler in self.forwarding]

    def shutdown(self, reason: str) -> None:
        """Stop leading: connections close, and the server looks for a leader again."""
        if self.over:
            return
        self.over = True
        self.serving = False
        self.simulator.trace.append(("leader over", self.process.name, reason))
        for timer in (self._patience_timer, self._tick_timer):
            if timer is not None:
                timer.cancel()
        if self._containers is not None:
            self._containers.stop()
        if self._listener is not None:
            self._listener.close()
        for handler in list(self.handlers):
            handler.close()
        self.server.stop_serving()
        self.sessions.stop()
        self._sync.stop()
        self.peer.role_over(reason)

    # -- requests -------------------------------------------------------------------------

    def submit(self, request: Request) -> None:
        """Order a write; let a read wait for earlier writes of its session."""
        if self.over:
            return
        if request.type not in WRITES:
            if request.type == opcodes.SYNC and request.connection is None:
                self._sync_of_learner(request)
            else:
                self._commits.submit(request)
            return
        preparer = self._preparer
        assert preparer is not None
        if request.type == opcodes.CREATE_SESSION:
            timeout = int.from_bytes(request.body, "big", signed=True)
            self.sessions.track(request.session, timeout)
            self.sessions.set_owner(request.session, request.owner)
        elif request.type == opcodes.CLOSE_SESSION:
            self.sessions.set_closing(request.session)
        entry = preparer.prepare(request)
        assert entry is not None
        if self.process.clock.wrong:
            self.server.note_true_time(entry)
        self._commits.submit(request)
        self._propose(entry)

    def _propose(self, entry: Entry) -> None:
        zxid = entry[0][2]
        packet = Packet(PROPOSAL, zxid, entry)
        size = size_of_entry(entry)
        if entry[0][4] == RECONFIG:
            self._see_members(entry)
        self.outstanding[zxid] = Proposal(entry, packet, size, self._joint)
        self.last_proposed = zxid
        self._note_size(len(entry[3]))
        if self._invariants is not None:
            self._invariants.proposed(self.settings.server_id, entry)
        for handler in self.forwarding:
            handler.propose(packet, size)
        self._sync.append(entry, zxid)

    def _note_size(self, size: int) -> None:
        self._last_size = size
        self._largest = max(self._largest, size)
        if size < self._smallest or self._smallest < 0:
            self._smallest = size

    def _next_zxid(self) -> int:
        zxid = self.last_proposed + 1
        if counter_of(zxid) == LAST_COUNTER:
            self.process.call_later(0, self.shutdown, "the epoch has no zxids left")
        return zxid

    def _logged(self, zxid: int) -> None:
        """A proposal is safe in this server's own log."""
        if self._invariants is not None:
            self._invariants.logged(self.settings.server_id, zxid)
        if self._unacknowledged is None:
            self.acknowledge(self._bit, zxid)
        else:
            self._unacknowledged.append(zxid)

    def acknowledge(self, bit: int, zxid: int) -> None:
        """The server of ``bit`` has logged a proposal; commit it if a quorum has."""
        proposal = self.outstanding.get(zxid)
        if proposal is None:  # already committed, of an earlier epoch, or the ACK of a NEWLEADER
            return
        acks = proposal.acks = proposal.acks | bit
        if not self._is_quorum(acks):
            return
        joint = proposal.joint
        if joint is not None and not joint.is_quorum(acks):
            return
        if not self._allowed_to_commit:
            return
        if zxid - 1 in self.outstanding:
            return
        del self.outstanding[zxid]
        entry = proposal.entry
        if self._invariants is not None:
            self._invariants.committed(self.settings.server_id, entry)
        if entry[0][4] == RECONFIG:
            self._commit_and_activate(proposal)
        else:
            packet = Packet(COMMIT, zxid)
            for write in self._to_followers:
                write(packet, HEAD)
            if self.observers:
                packet = Packet(INFORM, zxid, entry)
                for handler in self.observers:
                    handler.inform(packet, proposal.size)
        self._commits.commit(entry)
        if self._pending_syncs:
            for handler, _ in self._pending_syncs.pop(zxid, ()):
                if handler in self.handlers:
                    handler.send(SYNC_PACKET, HEAD)
        if entry[0][4] == RECONFIG:
            self._commit_what_waits(zxid + 1)

    # -- reconfiguration ------------------------------------------------------------------

    def _reconfigure(
        self, joining: str | None, leaving: str | None, new: str | None, version: int, zxid: int
    ) -> bytes:
        """See ``preparation.Reconfigure``."""
        peer = self.peer
        if peer.last_seen.version != peer.verifier.version:
            raise Refusal(error_codes.RECONFIG_IN_PROGRESS)
        if version not in (-1, peer.last_seen.version):
            raise Refusal(error_codes.BAD_VERSION)
        members = next_members(peer.last_seen.members.values(), joining, leaving, new)
        verifier = QuorumVerifier(members, zxid)
        synced = self._bit
        for handler in self.forwarding:
            if handler.is_synced():
                synced |= handler.bit
        if not verifier.is_quorum(synced):
            raise Refusal(error_codes.NEW_CONFIG_NO_QUORUM)
        return verifier.text().encode()

    def _see_members(self, entry: Entry) -> None:
        """New members are proposed; this server acknowledges that once it is on its disk."""
        following = configuration_of(entry)
        self._joint = JointVerifier(self.peer.verifier, following)
        self._unacknowledged = []
        self.peer.see(following, self._members_seen)

    def _members_seen(self) -> None:
        zxids, self._unacknowledged = self._unacknowledged, None
        for zxid in zxids or ():
            if not self.over:
                self.acknowledge(self._bit, zxid)

    def _commit_and_activate(self, proposal: Proposal) -> None:
        entry = proposal.entry
        zxid = entry.header.zxid
        designated = self._activate(configuration_of(entry), proposal.acks, zxid)
        packet = Packet(COMMITANDACTIVATE, zxid, designated)
        for handler in self.forwarding:
            handler.send(packet, HEAD + 8)
        packet = Packet(INFORMANDACTIVATE, zxid, (designated, entry))
        for handler in self.observers:
            handler.send(packet, proposal.size + 8)

    def _activate(self, verifier: QuorumVerifier, acks: int, zxid: int) -> int:
        """Put a configuration in force.

        If another server is to lead, the followers leave this leader, but not all at once. It
        goes on until it notices that it has no quorum.

        Args:
            verifier: the configuration.
            acks: bits of the servers that have acknowledged it.
            zxid: that of its transaction, or the first one of the epoch.

        Returns:
            the id of the server that is to lead.
        """
        peer = self.peer
        own_id = self.settings.server_id
        designated = own_id
        if peer.settings.reconfig:
            designated = self._designated(verifier, acks, zxid)
            peer.activate(verifier, designated, zxid, _nothing)
        self._allowed_to_commit = designated == own_id
        self._joint = None
        self.verifier = peer.verifier
        self._voters_mask = self.verifier.mask
        self._majority = self.verifier.majority
        return designated

    def _designated(self, verifier: QuorumVerifier, acks: int, zxid: int) -> int:
        """The leader for a configuration: this server if possible, else the most advanced one."""
        own_id = self.settings.server_id
        member = verifier.voters.get(own_id)
        if member is not None and _quorum_address(member) == _quorum_address(self.peer.own):
            return own_id
        candidates = acks & verifier.mask & ~self._bit
        while True:
            zxid += 1
            proposal = self.outstanding.get(zxid)
            if proposal is None or not candidates & proposal.acks:
                return (candidates & -candidates).bit_length() - 1
            candidates &= proposal.acks

    def _commit_what_waits(self, zxid: int) -> None:
        """Commit later proposals that already have a quorum and waited for the reconfiguration."""
        while zxid in self.outstanding:
            self.acknowledge(0, zxid)
            if zxid in self.outstanding:
                return
            zxid += 1

    def _sync_of_learner(self, request: Request) -> None:
        handler = request.owner
        assert isinstance(handler, LearnerHandler)
        if self.outstanding:
            self._pending_syncs.setdefault(self.last_proposed, []).append((handler, request))
        else:
            handler.send(SYNC_PACKET, HEAD)

    def _read(self, request: Request) -> None:
        self.server.finish(request, None)

    def _finish(self, entry: Entry, request: Request | None) -> None:
        self.peer.finish(entry, request)
        assert self._preparer is not None
        self._preparer.committed(entry[0][2])

    # -- sessions -------------------------------------------------------------------------

    def _wall_clock(self) -> int:
        return self.process.clock.wall() // MILLISECOND

    def reattach(self, connection: Handshake, session: int, timeout: int) -> None:
        """A client of this server comes back to its session."""
        valid = self.sessions.touch(session, timeout)
        if valid:
            self.sessions.set_owner(session, self.server)
        connection.answer_handshake(valid=valid)

    def statistics(self) -> dict[str, int | str]:
        """What a leader adds to ``mntr``; sizes are -1 before the first proposal."""
        serving = len(self.forwarding)
        voters = self.verifier.voters
        voting = sum(handler.server_id in voters for handler in self.forwarding)
        return {
            "learners": serving + len(self.observers),
            "synced_followers": serving,
            "synced_non_voting_followers": serving - voting,
            "synced_observers": len(self.observers),
            "pending_syncs": sum(len(syncs) for syncs in self._pending_syncs.values()),
            "leader_uptime": (self.simulator.now - self._served_since) // MILLISECOND,
            "last_proposal_size": self._last_size,
            "max_proposal_size": self._largest,
            "min_proposal_size": self._smallest,
        }


def _quorum_address(member: Member) -> tuple[str, int]:
    return member.host, member.quorum_port


def _nothing() -> None:
    """Do nothing when the configuration is written."""
