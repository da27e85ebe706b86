"""Fast leader election, as in ZooKeeper 3.8's ``FastLeaderElection``, but with callbacks.

Every server proposes the best vote that it knows of: the highest (epoch, zxid, id). A server has
decided when a quorum agrees with its proposal and no better vote comes for a while.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from rumpus.simulation.kernel.process import Process, Timer
from rumpus.simulation.zookeeper.quorum.connection_manager import MILLISECOND, ConnectionManager
from rumpus.simulation.zookeeper.quorum.quorum_verifier import QuorumVerifier, Verifier

LOOKING = 0
FOLLOWING = 1
LEADING = 2
OBSERVING = 3

FINALIZE_WAIT = 200 * MILLISECOND
FIRST_TIMEOUT = 200 * MILLISECOND
LONGEST_TIMEOUT = 60_000 * MILLISECOND

NO_VOTE = -(1 << 63)
"""What a server without a vote (an observer) proposes as leader, zxid and epoch."""
NOTIFICATION_SIZE = 48


class Vote(NamedTuple):
    """A vote for ``leader``, in an election ``round``.

    ``zxid`` and ``epoch`` are the candidate's last zxid and its epoch; ``state`` is the voter's.
    """

    leader: int
    zxid: int
    round: int
    epoch: int
    state: int = LOOKING


class Notification(NamedTuple):
    """A vote as a message; ``sender`` is the voter, ``config`` the voter's configuration."""

    state: int
    leader: int
    zxid: int
    round: int
    epoch: int
    sender: int
    config: QuorumVerifier


def is_better(
    leader: int, zxid: int, epoch: int, than_leader: int, than_zxid: int, than_epoch: int
) -> bool:
    """Whether the first candidate beats the second (``totalOrderPredicate``)."""
    return (epoch, zxid, leader) > (than_epoch, than_zxid, than_leader)


def agree(one: Vote, other: Vote) -> bool:
    """Whether two votes agree (``Vote.equals``).

    Rounds and zxids only matter while one of the voters is still looking.
    """
    if one.leader != other.leader or one.epoch != other.epoch:
        return False
    if LOOKING in (one.state, other.state):
        return one.zxid == other.zxid and one.round == other.round
    return True


class Election:
    """The election of one server; lives as long as its process.

    It answers other servers at any time, and takes part itself from ``look`` until ``decided`` is
    called.

    Args:
        process: for timers.
        connections: to the other servers; its ``receive`` must lead to ``received`` here.
        server_id: this server's.
        verifier: returns the configuration in force.
        decided: called once with the vote that has won; its ``leader`` may be this server.
        heard_of: called during an election with a configuration that is newer than the one in
            force; returns whether the election is given up for it.
    """

    def __init__(
        self,
        process: Process,
        connections: ConnectionManager,
        server_id: int,
        verifier: Callable[[], Verifier],
        decided: Callable[[Vote], None],
        heard_of: Callable[[QuorumVerifier], bool] = lambda _: False,
    ) -> None:
        self.server_id = server_id
        self.round = 0
        """``electionEpoch``, the logical clock; starts anew with each process."""
        self.state = LOOKING
        self.looking = False
        """Whether this server takes part in an election now."""
        self.current = Vote(server_id, 0, 0, 0)
        """The vote that won last; sent to servers that are looking."""
        self._process = process
        self._connections = connections
        self._verifier = verifier
        self._decided = decided
        self._heard_of = heard_of
        self._own = self.current
        self._proposal = self.current
        self._received: dict[int, Vote] = {}
        self._out_of_election: dict[int, Vote] = {}
        self._queue: deque[Notification] = deque()
        self._draining = False
        self._finalizing = False
        self._timeout = FIRST_TIMEOUT
        self._timer: Timer | None = None

    # -- taking part ----------------------------------------------------------------------

    def look(self, zxid: int, epoch: int) -> None:
        """Start an election: propose this server, or nobody if it does not vote.

        Args:
            zxid: the last transaction in memory.
            epoch: the current epoch on disk.
        """
        self.state = LOOKING
        self.looking = True
        self.round += 1
        if self.server_id in self._verifier().current.voters:
            self._own = Vote(self.server_id, zxid, self.round, epoch)
        else:
            self._own = Vote(NO_VOTE, NO_VOTE, self.round, NO_VOTE)
        self._proposal = self._own
        self._received = {}
        self._out_of_election = {}
        self._finalizing = False
        self._timeout = FIRST_TIMEOUT
        self._propose()
        self._wait(self._timeout)

    def reopen(self) -> None:
        """This server's role is over; notifications from now on are kept for ``look``."""
        self.state = LOOKING

    def activated(self, epoch: int) -> None:
        """The leader's epoch has begun: tell it to others from now on."""
        self.current = self.current._replace(epoch=epoch)

    # -- reconfiguration ------------------------------------------------------------------

    def restart(self) -> None:
        """Forget rounds, votes and connections: the members have changed.

        An election in progress is given up; ``look`` begins another one.
        """
        self.round = 0
        self.looking = False
        self._finalizing = False
        if self._timer is not None:
            self._timer.cancel()
        self._queue.clear()
        self._connections.restart()

    def appoint(self, leader: int, zxid: int) -> None:
        """A reconfiguration has named the next leader: tell it to others from now on."""
        self.current = Vote(leader, zxid, -1, -1, self.state)

    def assume(self, state: int) -> Vote:
        """Take the state that a reconfiguration has given to this server."""
        self.state = state
        self.current = self.current._replace(state=state)
        return self.current

    # -- messages -------------------------------------------------------------------------

    def received(self, sender: int, message: Notification) -> None:
        """A notification has come from another server (``WorkerReceiver``)."""
        verifier = self._verifier()
        if (
            self.state == LOOKING
            and message.config.version > verifier.version
            and self._heard_of(message.config)
        ):
            return
        if sender not in verifier.voters:
            self._tell(sender, self._proposal if self.looking else self.current)
        elif self.state == LOOKING:
            self._queue.append(message)
            if self.looking:
                if message.state == LOOKING and message.round < self.round:
                    self._tell(sender, self._proposal)
                self._drain()
        elif message.state == LOOKING:
            self._tell(sender, self.current)

    def _tell(self, peer: int, vote: Vote) -> None:
        config = self._verifier().current
        round_ = self.round if self.looking else vote.round
        message = Notification(
            self.state, vote.leader, vote.zxid, round_, vote.epoch, self.server_id, config
        )
        size = NOTIFICATION_SIZE + 48 * len(config.members)
        self._connections.send(peer, message, size)

    def _propose(self) -> None:
        """Send the proposal to all voters, this server included (``sendNotifications``)."""
        for peer in self._verifier().voters:
            if peer == self.server_id:
                vote = self._proposal
                self._queue.append(
                    Notification(
                        LOOKING,
                        vote.leader,
                        vote.zxid,
                        self.round,
                        vote.epoch,
                        self.server_id,
                        self._verifier().current,
                    )
                )
                self._process.call_later(0, self._drain)
            else:
                self._tell(peer, self._proposal)

    def _wait(self, delay: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._process.call_later(delay, self._silence)

    def _silence(self) -> None:
        """Nothing has come for a while."""
        if not self.looking:
            return
        if self._finalizing:
            vote = self._proposal._replace(round=self.round)
            self._finish(vote)
            return
        if self._connections.has_delivered():
            self._propose()
        else:
            self._connections.connect_all()
        self._timeout = min(self._timeout * 2, LONGEST_TIMEOUT)
        self._wait(self._timeout)

    def _drain(self) -> None:
        """Process the queued notifications; the loop of ``lookForLeader``."""
        if self._draining:  # an answer may come before ``send`` returns
            return
        self._draining = True
        queue = self._queue
        try:
            while queue and self.looking:
                message = queue.popleft()
                if self._finalizing:
                    proposal = self._proposal
                    if not is_better(
                        message.leader,
                        message.zxid,
                        message.epoch,
                        proposal.leader,
                        proposal.zxid,
                        proposal.epoch,
                    ):
                        self._wait(FINALIZE_WAIT)
                        continue
                    self._finalizing = False
                self._weigh(message)
                if self.looking:
                    self._wait(FINALIZE_WAIT if self._finalizing else self._timeout)
        finally:
            self._draining = False

    def _weigh(self, message: Notification) -> None:
        voters = self._verifier().voters
        if message.sender not in voters or message.leader not in voters:
            return
        if message.state == LOOKING:
            self._weigh_looking(message)
        elif message.state != OBSERVING:
            self._weigh_settled(message)

    def _weigh_looking(self, message: Notification) -> None:
        own, proposal = self._own, self._proposal
        _, leader, zxid, round_, epoch, sender, _ = message
        if round_ > self.round:
            self.round = round_
            self._received.clear()
            if is_better(leader, zxid, epoch, own.leader, own.zxid, own.epoch):
                self._proposal = Vote(leader, zxid, round_, epoch)
            else:
                self._proposal = own._replace(round=round_)
            self._propose()
        elif round_ < self.round:
            return
        elif is_better(leader, zxid, epoch, proposal.leader, proposal.zxid, proposal.epoch):
            self._proposal = Vote(leader, zxid, round_, epoch)
            self._propose()
        self._received[sender] = Vote(leader, zxid, round_, epoch)
        if self._has_quorum(self._received, self._proposal._replace(round=self.round)):
            self._finalizing = True

    def _weigh_settled(self, message: Notification) -> None:
        """A vote from a server that follows or leads: join its leader if that one does lead."""
        vote = Vote(message.leader, message.zxid, message.round, message.epoch, message.state)
        if message.round == self.round:
            self._received[message.sender] = vote
            if self._has_quorum(self._received, vote) and self._leads(self._received, vote):
                self._finish(vote)
                return
        self._out_of_election[message.sender] = vote
        if self._has_quorum(self._out_of_election, vote) and self._leads(
            self._out_of_election, vote
        ):
            self.round = vote.round
            self._finish(vote)

    def _has_quorum(self, votes: dict[int, Vote], vote: Vote) -> bool:
        return self._verifier().contains_quorum(
            [server for server, other in votes.items() if agree(vote, other)]
        )

    def _leads(self, votes: dict[int, Vote], vote: Vote) -> bool:
        """Whether the leader of a vote has itself said that it leads (``checkLeader``)."""
        if vote.leader == self.server_id:
            return vote.round == self.round
        said = votes.get(vote.leader)
        return said is not None and said.state == LEADING

    def _finish(self, vote: Vote) -> None:
        self.looking = False
        self._finalizing = False
        if self._timer is not None:
            self._timer.cancel()
        self._queue.clear()
        if vote.leader == self.server_id:
            self.state = LEADING
        else:
            member = self._verifier().current.members.get(self.server_id)
            observes = member is not None and member.role == "observer"
            self.state = OBSERVING if observes else FOLLOWING
        self.current = vote._replace(state=self.state)
        self._decided(self.current)
