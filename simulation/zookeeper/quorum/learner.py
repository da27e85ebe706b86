"""A server that gets its transactions from a leader: ``Follower`` and ``Observer`` of 3.8.0."""

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from rumpus.simulation.network.transport import Transport
from rumpus.simulation.zookeeper import bugs
from rumpus.simulation.zookeeper.quorum.quorum_packets import (
    ACK,
    ACKEPOCH,
    COMMIT,
    COMMITANDACTIVATE,
    DIFF,
    FOLLOWERINFO,
    HEAD,
    INFORM,
    INFORMANDACTIVATE,
    LEADERINFO,
    NEWLEADER,
    NO_EPOCH,
    OBSERVERINFO,
    PING,
    PROPOSAL,
    REQUEST,
    REVALIDATE,
    SNAP,
    SYNC,
    TRUNC,
    UPTODATE,
    ForwardedRequest,
    LearnerInfo,
    Packet,
    acknowledgement,
    epoch_of,
    make_zxid,
    size_of_request,
)
from rumpus.simulation.zookeeper.quorum.quorum_peer import QuorumPeer
from rumpus.simulation.zookeeper.quorum.quorum_verifier import QuorumVerifier
from rumpus.simulation.zookeeper.quorum.reconfiguration import configuration_of
from rumpus.simulation.zookeeper.quorum.silence import SilenceWatch
from rumpus.simulation.zookeeper.serving.commit_processor import WRITES, CommitProcessor
from rumpus.simulation.zookeeper.serving.role import Handshake, Mode
from rumpus.simulation.zookeeper.serving.session_tracker import LearnerSessionTracker
from rumpus.simulation.zookeeper.settings import Member
from rumpus.simulation.zookeeper.startup_errors import StartupRefused
from rumpus.simulation.zookeeper.storage.database import TruncationFailed
from rumpus.simulation.zookeeper.storage.snapshot import InvalidSnapshot
from rumpus.simulation.zookeeper.tree.transactions import Entry
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from rumpus.simulation.kernel.process import Timer
    from rumpus.simulation.network.attempt import Attempt

MILLISECOND = 1_000_000
TRIES = 5
PAUSE = 100 * MILLISECOND
THREAD_DELAY = 2 * MILLISECOND
"""With the bug "ack-order": by how much the ACK of NEWLEADER may be late, at most."""

EXPECT_LEADERINFO = 0
EXPECT_SYNC = 1
BEFORE_NEWLEADER = 2
BEFORE_UPTODATE = 3
BROADCAST = 4

RECONFIG = opcodes.RECONFIG

WAITS = WRITES | {opcodes.SYNC}


class Learner:
    """Connects to a leader, copies its history, then logs, acknowledges and applies proposals.

    Args:
        peer: the server that follows or observes.
        leader: the leader that was elected or appointed.
    """

    def __init__(self, peer: QuorumPeer, leader: Member) -> None:
        self.peer = peer
        self.leader = leader
        self.process = peer.process
        self.simulator = peer.simulator
        self.server = peer.server
        self.database = peer.server.database
        self.settings = settings = peer.settings
        self.participant = peer.participant
        self.mode: Mode = "follower" if self.participant else "observer"
        self.phase = EXPECT_LEADERINFO
        self.over = False
        self.epoch = -1
        self.sessions = LearnerSessionTracker(self._timeouts)
        self._bugs = settings.bugs
        self._server_id = settings.server_id
        self._transport: Transport | None = None
        self._attempt: Attempt | None = None
        self._tries = 0
        self._retry: Timer | None = None
        init_patience = settings.tick_time * settings.init_limit * MILLISECOND
        self._give_up_connecting = self.simulator.now + init_patience
        self._kind = DIFF
        self._blocked = False
        """Whether it waits for the disk; packets are kept in ``_kept`` meanwhile."""
        self._silence = SilenceWatch(
            self.process,
            init_patience,
            self._is_blocked,
            partial(self.shutdown, "nothing came from the leader for too long"),
        )
        self._kept: deque[Packet] = deque()
        self._not_committed: deque[Entry] = deque()
        self._committed: deque[int] = deque()
        self._configuration: QuorumVerifier | None = None
        """The configuration that came with NEWLEADER."""
        self._role_changes = False
        """Whether this role ends when the new configuration is written."""
        self._pending: deque[Entry] = deque()
        """Entries in the log, or on their way to it, that are not committed."""
        self._revalidations: dict[int, Handshake] = {}
        self._syncs: deque[Request] = deque()
        self._commits = CommitProcessor(
            self._read,
            peer.finish,
            WAITS,
            self._finish_again if bugs.SYNC_TAKEN_FOR_WRITE in settings.bugs else None,
        )
        self._sync = peer.new_sync_processor(self._logged)
        self._invariants = peer.invariants

    def _timeouts(self) -> dict[int, int]:
        return self.database.sessions

    # -- connecting -----------------------------------------------------------------------

    def start(self) -> None:
        """Connect to the leader; retried, as it may need a moment to open its port."""
        self._tries += 1
        self._attempt = self.peer.network.connect(
            self.process,
            (self.leader.host, self.leader.quorum_port),
            self._connected,
            self._not_connected,
            max(1, self._give_up_connecting - self.simulator.now),
        )

    def _not_connected(self, error: OSError) -> None:
        if self.over:
            return
        if self._tries == TRIES or self.simulator.now >= self._give_up_connecting:
            self.shutdown(f"no connection to the leader: {error}")
        else:
            self._retry = self.process.call_later(PAUSE, self.start)

    def _connected(self, transport: Transport) -> "Learner":
        self._attempt = None
        self._transport = transport
        if self.over:
            transport.close()
            return self
        self._silence.start()
        self._send(
            Packet(
                FOLLOWERINFO if self.participant else OBSERVERINFO,
                make_zxid(self.peer.epochs.accepted, 0),
                LearnerInfo(self._server_id, self.peer.verifier.version),
            ),
            HEAD + 20,
        )
        return self

    def _send(self, packet: Packet, size: int) -> None:
        assert self._transport is not None
        self._transport.write_message(packet, size)

    # -- Receiver -------------------------------------------------------------------------

    def data_received(self, packet: Any) -> None:
        """A packet from the leader has come."""
        self._silence.heard = self.simulator.now
        if self._blocked:
            self._kept.append(packet)
        elif self.phase == BROADCAST:
            kind = packet[0]
            if kind == PROPOSAL:
                entry = packet[2]
                self._pending.append(entry)
                if entry[0][4] == RECONFIG:
                    self._see_members(entry)
                else:
                    self._sync.append(entry, packet[1])
            elif kind == COMMIT:
                self._commit(packet[1])
            else:
                self._broadcast(packet)
        elif not self.over:
            self._handshake(packet)

    def eof_received(self) -> None:
        """The leader has closed the connection."""
        self.shutdown("the leader has closed the connection")

    def connection_lost(self, error: OSError | None) -> None:
        """The connection is lost."""
        self.shutdown(f"the connection to the leader is lost: {error}")

    def shutdown(self, reason: str) -> None:
        """Stop learning: clients are disconnected, and the server looks for a leader."""
        if self.over:
            return
        self.over = True
        self._kept.clear()
        self._silence.stop()
        if self._retry is not None:
            self._retry.cancel()
        if self._attempt is not None:
            self._attempt.cancel()
        self.server.stop_serving()
        late = bugs.LATE_LOGGING in self._bugs
        self._sync.stop(log_rest=not late)
        if self._transport is not None:
            self._transport.close()
        self.peer.role_over(reason, log_rest=self._sync.log_rest if late else None)

    def _is_blocked(self) -> bool:
        return self._blocked

    def _block(self) -> None:
        self._blocked = True

    def _go_on(self) -> None:
        """The disk has finished: process the packets that came meanwhile."""
        self._blocked = False
        self._silence.heard = self.simulator.now
        kept = self._kept
        while kept and not self._blocked and not self.over:
            self.data_received(kept.popleft())

    # -- handshake and synchronization ----------------------------------------------------

    def _handshake(self, packet: Packet) -> None:
        phase = self.phase
        kind = packet.type
        if phase == EXPECT_LEADERINFO:
            self._greeted(packet)
        elif phase == EXPECT_SYNC:
            self._begin_sync(packet)
        elif kind == PROPOSAL:
            self._proposed_while_syncing(packet.data)
        elif kind == COMMIT:
            self._committed_while_syncing(packet.zxid)
        elif kind == INFORM:
            self._informed_while_syncing(packet.data)
        elif kind in {COMMITANDACTIVATE, INFORMANDACTIVATE}:
            self._activate_while_syncing(packet)
        elif kind == NEWLEADER and phase == BEFORE_NEWLEADER:
            self._configuration = packet.data
            self._block()
            self.peer.see(packet.data, self._take_over)
        elif kind == UPTODATE and phase == BEFORE_UPTODATE:
            assert self._configuration is not None
            self._activate(self._configuration, None, packet.zxid, self._up_to_date)

    def _greeted(self, packet: Packet) -> None:
        if packet.type != LEADERINFO:
            self.shutdown("the leader's first packet is no LEADERINFO")
            return
        epochs = self.peer.epochs
        self.epoch = epoch = epoch_of(packet.zxid)
        if epoch > epochs.accepted:
            self._block()
            self.peer.write_accepted(epoch, self._promised)
        elif epoch == epochs.accepted:
            self._acknowledge_epoch(NO_EPOCH)
        else:
            self.shutdown(f"the leader's epoch {epoch} is below {epochs.accepted}")

    def _promised(self) -> None:
        if not self.over:
            self._acknowledge_epoch(self.peer.epochs.current)
            self._go_on()

    def _acknowledge_epoch(self, current: int) -> None:
        self.phase = EXPECT_SYNC
        self._send(Packet(ACKEPOCH, self.database.last_processed, current), HEAD + 4)

    def _begin_sync(self, packet: Packet) -> None:
        database = self.database
        self._kind = packet.type
        try:
            if packet.type == SNAP:
                self.peer.reload = True  # until it is on the disk
                database.replace(packet.data, packet.zxid)
            elif packet.type == TRUNC:
                database.truncate(packet.zxid)
            elif packet.type != DIFF:
                self.shutdown("the leader began neither with DIFF, TRUNC nor SNAP")
                return
        except OSError as error:
            self.peer.fail(error)
            return
        except (TruncationFailed, StartupRefused, InvalidSnapshot) as error:
            self.server.exit_process(f"cannot take over the leader's history: {error}")
            return
        self.peer.write_configuration()
        self.phase = BEFORE_NEWLEADER

    def _proposed_while_syncing(self, entry: Entry) -> None:
        self._not_committed.append(entry)
        if entry[0][4] == RECONFIG:
            self._block()
            self.peer.see(configuration_of(entry), self._unblock)

    def _informed_while_syncing(self, entry: Entry) -> None:
        if self.phase == BEFORE_NEWLEADER and self._kind != DIFF:
            self._apply_unlogged(entry)
        else:
            self._not_committed.append(entry)
            self._committed.append(entry[0][2])

    def _activate_while_syncing(self, packet: Packet) -> None:
        zxid = packet.zxid
        if packet.type == INFORMANDACTIVATE:
            designated, entry = packet.data
            then = partial(self._informed_while_syncing, entry)
        else:
            designated = packet.data
            known = [*self._pending, *self._not_committed]
            (entry,) = (one for one in known if one[0][2] == zxid)
            then = partial(self._committed_while_syncing, zxid)
        self._activate(configuration_of(entry), designated, zxid, then)

    def _committed_while_syncing(self, zxid: int) -> None:
        if self.phase == BEFORE_NEWLEADER and self._kind != DIFF:
            if self._not_committed and self._not_committed[0].header.zxid == zxid:
                self._apply_unlogged(self._not_committed.popleft())
        elif (
            self.phase == BEFORE_UPTODATE
            and not self._not_committed
            and bugs.NULL_POINTER_IN_SYNC in self._bugs
        ):
            self.shutdown("NullPointerException: a COMMIT found no proposal")
        else:
            self._committed.append(zxid)

    def _apply_unlogged(self, entry: Entry) -> None:
        """Apply without logging: the tree is ahead of the log until a snapshot is written."""
        self.peer.reload = True
        self.database.apply(entry)

    def _take_over(self) -> None:
        """NEWLEADER: write the received history, then the new currentEpoch, then send the ACK."""
        if self.over:
            return
        self._silence.limit = self.settings.tick_time * self.settings.sync_limit * MILLISECOND
        if self._kind == DIFF and bugs.CURRENT_EPOCH_BEFORE_DATA not in self._bugs:
            self._log_before_epoch()
        elif self._kind == DIFF:
            self.peer.write_current(self.epoch, self._acknowledge_leader)
        else:
            self.database.take_synced_snapshot(self.process, self._snapshot_written)

    def _snapshot_written(self, error: OSError | None) -> None:
        if error is not None:
            self.peer.fail(error)
        elif not self.over:
            self.peer.reload = False
            self._log_before_epoch()

    def _log_before_epoch(self) -> None:
        """Log the proposals that are not committed yet, and sync the log (a TRUNC, too)."""
        log = self.database.log
        if self.participant:
            try:
                for entry in self._not_committed:
                    log.append(entry)
            except OSError as error:
                self.peer.fail(error)
                return
        log.sync(self.process, self._logged_before_epoch)

    def _logged_before_epoch(self, error: OSError | None) -> None:
        if error is not None:
            self.peer.fail(error)
        elif not self.over:
            self.peer.write_current(self.epoch, self._acknowledge_leader)

    def _acknowledge_leader(self) -> None:
        if self.over:
            return
        self.phase = BEFORE_UPTODATE
        buggy = self._kind == DIFF and bugs.CURRENT_EPOCH_BEFORE_DATA in self._bugs
        entries: tuple[Entry, ...] = ()
        if self.participant:
            entries = tuple(self._not_committed)
            self._not_committed.clear()
            self._pending.extend(entries)
        if bugs.ACK_ORDER in self._bugs and entries:
            self._acknowledge_out_of_order(entries, logged=not buggy)
            return
        self._send(Packet(ACK, make_zxid(self.epoch, 0)), HEAD)
        for entry in entries:
            if buggy:
                self._sync.append(entry, entry.header.zxid)
            else:
                self._logged(entry.header.zxid)
        self._go_on()

    def _acknowledge_out_of_order(self, entries: tuple[Entry, ...], *, logged: bool) -> None:
        """The bug "ack-order": proposals may be acknowledged before NEWLEADER."""
        for entry in entries:
            if logged:
                self._logged(entry.header.zxid)
            else:
                self._sync.append(entry, entry.header.zxid)
        delay = int(self.peer.random.random() * THREAD_DELAY)
        self.process.call_later(delay, self._acknowledge_leader_late)

    def _acknowledge_leader_late(self) -> None:
        if not self.over:
            self._send(Packet(ACK, make_zxid(self.epoch, 0)), HEAD)
            self._go_on()

    def _up_to_date(self) -> None:
        """UPTODATE: serve clients, and process the packets since NEWLEADER."""
        self._send(Packet(ACK, make_zxid(self.epoch, 0)), HEAD)
        self.phase = BROADCAST
        if self._invariants is not None:
            self._invariants.joined(self._server_id, self.epoch, self.database.last_processed)
        self.peer.election.activated(self.epoch)
        self.server.start_serving(self)
        not_committed, self._not_committed = self._not_committed, deque()
        committed, self._committed = self._committed, deque()
        if self.participant:
            for entry in not_committed:
                self._log(entry)
            for zxid in committed:
                self._commit(zxid)
                if self.over:
                    return
                if bugs.DISCONTINUOUS_COMMITTED_LOG in self._bugs:
                    self.database.committed_log.pop()
            return
        for entry in not_committed:
            if committed and committed[0] == entry.header.zxid:
                committed.popleft()
                self._inform(entry)

    # -- broadcast ------------------------------------------------------------------------

    def _broadcast(self, packet: Packet) -> None:
        """Process a packet other than the frequent PROPOSAL and COMMIT."""
        kind, zxid, data = packet
        if kind == PING:
            touched = tuple(self.sessions.take_touched().items())
            self._send(Packet(PING, zxid, touched), HEAD + 12 * len(touched))
        elif kind == INFORM:
            self._inform(data)
        elif kind == COMMITANDACTIVATE:
            self._activate(
                configuration_of(self._pending[0]), data, zxid, partial(self._commit, zxid)
            )
        elif kind == INFORMANDACTIVATE:
            designated, entry = data
            self._activate(configuration_of(entry), designated, zxid, partial(self._inform, entry))
        elif kind == REVALIDATE:
            session, valid = data
            connection = self._revalidations.pop(session, None)
            if connection is not None:
                connection.answer_handshake(valid=valid)
        elif kind == SYNC:
            self._commits.synced(self._syncs.popleft())

    # -- reconfiguration ------------------------------------------------------------------

    def _unblock(self) -> None:
        if not self.over:
            self._go_on()

    def _see_members(self, entry: Entry) -> None:
        """New members are proposed: write that configuration before logging the proposal."""
        self._block()
        self.peer.see(configuration_of(entry), partial(self._members_seen, entry))

    def _members_seen(self, entry: Entry) -> None:
        if not self.over:
            self._sync.append(entry, entry[0][2])
            self._go_on()

    def _activate(
        self,
        verifier: QuorumVerifier,
        leader: int | None,
        zxid: int,
        then: "Callable[[], None]",
    ) -> None:
        """Put a committed configuration in force; read nothing until it is on the disk.

        Args:
            verifier: the configuration.
            leader: the id of the next leader; None: the packet names none.
            zxid: that of the packet.
            then: called before this role goes on; in phase BROADCAST, also before it ends.
        """
        self._block()
        self._role_changes = False
        self._role_changes = self.peer.activate(
            verifier, leader, zxid, partial(self._activated, then)
        )

    def _activated(self, then: "Callable[[], None]") -> None:
        if self.over:
            return
        if not self._role_changes:
            then()
            self._unblock()
            return
        if self.phase == BROADCAST:
            then()
        self.shutdown("a reconfiguration changes roles")

    def _log(self, entry: Entry) -> None:
        self._pending.append(entry)
        self._sync.append(entry, entry[0][2])

    def _logged(self, zxid: int) -> None:
        """An entry is safe on the disk."""
        if self._invariants is not None:
            self._invariants.logged(self._server_id, zxid)
        if self.participant and self._transport is not None:
            self._transport.write_message(acknowledgement(zxid), HEAD)

    def _commit(self, zxid: int) -> None:
        pending = self._pending
        if not pending:
            return
        entry = pending.popleft()
        if entry[0][2] != zxid:
            self.server.exit_process(
                f"COMMIT of {zxid:#x} while {entry.header.zxid:#x} is the next proposal"
            )
            return
        self._commits.commit(entry)

    def _inform(self, entry: Entry) -> None:
        """INFORM: an observer logs and applies a committed transaction."""
        self._sync.append(entry, entry[0][2])
        self._commits.commit(entry)

    def _finish_again(self, entry: Entry, sync: Request) -> None:
        """The bug "sync-taken-for-write": the second time for both."""
        self.server.database.tree.apply(entry, self.server.watches)
        self.server.finish(sync, None)

    def _read(self, request: Request) -> None:
        self.server.finish(request, None)

    # -- Role -----------------------------------------------------------------------------

    def submit(self, request: Request) -> None:
        """Send writes and syncs to the leader; let reads wait for earlier ones of their session."""
        if self.over:
            return
        self._commits.submit(request)
        kind = request.type
        if kind in WAITS:
            if kind == opcodes.SYNC:
                self._syncs.append(request)
            self._forward(request)

    def _forward(self, request: Request) -> None:
        """Send a request to the leader."""
        forwarded = ForwardedRequest(
            request.session, request.cxid, request.type, request.body, request.identities
        )
        self._send(Packet(REQUEST, -1, forwarded), size_of_request(forwarded))

    def reattach(self, connection: Handshake, session: int, timeout: int) -> None:
        """Ask the leader whether a session is alive, before a client resumes it here."""
        self._revalidations[session] = connection
        self._send(Packet(REVALIDATE, -1, (session, timeout)), HEAD + 12)

    def statistics(self) -> dict[str, int | str]:
        """A learner adds nothing to ``mntr``."""
        return {}
