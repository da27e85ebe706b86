"""Servers that do not agree on which transactions there are."""

from typing import Any

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.quorum.leader import Leader
from rumpus.simulation.zookeeper.quorum.learner import BROADCAST, Learner
from rumpus.simulation.zookeeper.quorum.quorum_packets import PROPOSAL
from rumpus.simulation.zookeeper.storage.database import Database
from rumpus.simulation.zookeeper.tree.data_tree import Result
from rumpus.simulation.zookeeper.tree.transactions import Entry
from rumpus.simulation.zookeeper.wire import opcodes


class CommitsAlone(Leader):
    """A leader commits a proposal as soon as it is in the leader's own log."""

    def acknowledge(self, bit: int, zxid: int) -> None:
        """An acknowledgement by the leader itself counts as one by every voter."""
        super().acknowledge(self._voters_mask if bit == self._bit else bit, zxid)


class ShowsProposals(Learner):
    """A setData changes the tree of a learner when it is proposed, not when it is committed."""

    def data_received(self, packet: Any) -> None:
        """A packet from the leader has come."""
        if self.phase == BROADCAST and packet[0] == PROPOSAL and not self.over:
            entry = packet[2]
            if entry.header.type == opcodes.SET_DATA:
                self.database.tree.apply(entry, self.server.watches)
        super().data_received(packet)


class ForgetsLastOfLog(Database):
    """A server that starts does not apply the last change of a node in its log."""

    _last = 0
    """While the log is read: the zxid of its last entry."""

    def load(self) -> None:
        """Read the newest snapshot and the log; all but the last entry change the tree."""
        self._last = max((entry.header.zxid for entry in self.log.read(0)), default=0)
        super().load()
        self._last = 0

    def apply(self, entry: Entry, watches: Any = None) -> Result:
        """Apply a transaction, or take the last one of the log as applied."""
        if entry.header.zxid != self._last or entry.header.type < 0:
            return super().apply(entry, watches)
        hollow = entry._replace(header=entry.header._replace(type=opcodes.CHECK))
        result = super().apply(hollow, watches)
        self.committed_log[-1] = entry
        return result


MUTANTS = (
    ServerMutant(
        "commits-alone",
        "commit a write that only the leader has logged",
        "ZooKeeper Internals, Active Messaging: commit once a quorum has acknowledged",
        "register",
        "linearizable",
        frozenset({"wrong-answer"}),
        {Leader: CommitsAlone},
    ),
    ServerMutant(
        "shown-proposals",
        "show a setData on a follower before it is committed",
        GUIDE + "Consistency Guarantees: Reliability; ZooKeeper Internals, Active Messaging",
        "register",
        "linearizable",
        frozenset({"wrong-answer"}),
        {Learner: ShowsProposals},
    ),
    ServerMutant(
        "last-of-log-forgotten",
        "start without the last change in the log, and take it for applied",
        GUIDE + "Consistency Guarantees: Reliability, an update persists once it has been applied",
        "znode",
        "guarded",
        frozenset({"wrong-answer"}),
        {Database: ForgetsLastOfLog},
    ),
)
