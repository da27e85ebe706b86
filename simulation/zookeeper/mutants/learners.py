"""Learners that lose, repeat, reorder or split what passes between their clients and the leader."""

from collections import deque
from typing import TYPE_CHECKING

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.quorum.learner import MILLISECOND, WAITS, Learner
from rumpus.simulation.zookeeper.serving.commit_processor import CommitProcessor
from rumpus.simulation.zookeeper.settings import Member
from rumpus.simulation.zookeeper.tree.transactions import Entry, MultiTxn
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.request import Request

if TYPE_CHECKING:
    from rumpus.simulation.zookeeper.quorum.quorum_peer import QuorumPeer

FAULTY_SERVER = 1
"""The id of the server that skips writes."""
SKIPPED = 50
"""Each 50th setData is skipped."""
REPEATED = 50
"""Each 50th write that a learner forwards is forwarded twice."""
PAUSE = 20 * MILLISECOND
"""For how long the last part of a multi is missing."""


class AppliesItsOwnWay(Learner):
    """A learner that applies committed entries by ``_apply``."""

    def __init__(self, peer: "QuorumPeer", leader: Member) -> None:
        super().__init__(peer, leader)
        self._commits = CommitProcessor(self._read, self._apply, WAITS)

    def _apply(self, entry: Entry, request: Request | None) -> None:
        raise NotImplementedError

    def _apply_as(self, changed: Entry, entry: Entry, request: Request | None) -> None:
        """Apply a changed entry; the log, and learners later, get the entry as it was."""
        self.peer.finish(changed, request)
        self.database.committed_log[-1] = entry


class SkipsWrites(AppliesItsOwnWay):
    """Each 50th setData is logged and answered on server 1, and does not change its tree."""

    def __init__(self, peer: "QuorumPeer", leader: Member) -> None:
        super().__init__(peer, leader)
        self._sets = 0

    def _apply(self, entry: Entry, request: Request | None) -> None:
        if self.settings.server_id == FAULTY_SERVER and entry.header.type == opcodes.SET_DATA:
            self._sets += 1
            if self._sets % SKIPPED == 0:
                hollow = entry._replace(header=entry.header._replace(type=opcodes.CHECK))
                self._apply_as(hollow, entry, request)
                return
        self.peer.finish(entry, request)


class KeepsOldLists(AppliesItsOwnWay):
    """A setACL is logged and answered on server 1, and does not change its tree."""

    def _apply(self, entry: Entry, request: Request | None) -> None:
        if self.settings.server_id == FAULTY_SERVER and entry.header.type == opcodes.SET_ACL:
            hollow = entry._replace(header=entry.header._replace(type=opcodes.CHECK))
            self._apply_as(hollow, entry, request)
        else:
            self.peer.finish(entry, request)


class AppliesMultiInSteps(AppliesItsOwnWay):
    """The last operation of another server's multi is applied 20 ms after the others."""

    def __init__(self, peer: "QuorumPeer", leader: Member) -> None:
        super().__init__(peer, leader)
        self._rest: deque[Entry] = deque()

    def shutdown(self, reason: str) -> None:
        """Apply what is missing, and stop learning."""
        self._apply_rest()
        super().shutdown(reason)

    def _apply(self, entry: Entry, request: Request | None) -> None:
        self._apply_rest()
        txn = entry.transaction
        if request is None and isinstance(txn, MultiTxn) and _succeeds(txn):
            first, last = MultiTxn(txn.operations[:-1]), MultiTxn(txn.operations[-1:])
            self._apply_as(entry._replace(transaction=first), entry, None)
            self._rest.append(entry._replace(transaction=last))
            self.process.call_later(PAUSE, self._apply_rest)
        else:
            self.peer.finish(entry, request)

    def _apply_rest(self) -> None:
        while self._rest:
            self.database.tree.apply(self._rest.popleft(), self.server.watches)


class RepeatsRequests(Learner):
    """Each 50th write is forwarded to the leader twice, and so becomes two transactions."""

    def __init__(self, peer: "QuorumPeer", leader: Member) -> None:
        super().__init__(peer, leader)
        self._writes = 0

    def submit(self, request: Request) -> None:
        """Process a request, and send some writes once more."""
        super().submit(request)
        if not self.over and request.type in opcodes.WRITES and request.type >= 0:
            self._writes += 1
            if self._writes % REPEATED == 0:
                self._forward(request)


class ReadsOvertakeWrites(Learner):
    """A read is answered at once, even if an earlier write of its session is under way."""

    def submit(self, request: Request) -> None:
        """Let only writes and syncs wait."""
        if request.type in WAITS:
            super().submit(request)
        elif not self.over:
            self._read(request)


def _succeeds(txn: MultiTxn) -> bool:
    """Whether a multi has several operations, and none has failed."""
    kinds = [kind for kind, _ in txn.operations]
    return len(kinds) > 1 and opcodes.ERROR not in kinds


MUTANTS = (
    ServerMutant(
        "skipped-writes",
        "acknowledge each 50th setData without applying it on one follower",
        GUIDE + "Consistency Guarantees: Reliability, a successful update has been applied",
        "register",
        "synced",
        frozenset({"wrong-answer"}),
        {Learner: SkipsWrites},
    ),
    ServerMutant(
        "multi-in-two-steps",
        "show a multi without its last operation for 20 ms on a follower",
        GUIDE + "Consistency Guarantees: Atomicity; ZOOKEEPER-965: multi is all or nothing",
        "multi",
        "multi",
        frozenset({"wrong-answer"}),
        {Learner: AppliesMultiInSteps},
    ),
    ServerMutant(
        "repeated-requests",
        "perform each 50th write of a follower's clients twice",
        GUIDE + "Consistency Guarantees: Sequential Consistency, in the order that they were sent",
        "register",
        "linearizable",
        frozenset({"not-linearizable"}),
        {Learner: RepeatsRequests},
    ),
    ServerMutant(
        "overtaking-reads",
        "answer a read on a follower before the earlier writes of its session",
        "ZooKeeper paper (ATC 2010), 2.3: all requests of a client are executed in FIFO order",
        "register",
        "local",
        frozenset({"wrong-answer"}),
        {Learner: ReadsOvertakeWrites},
    ),
    ServerMutant(
        "old-acl-on-follower",
        "go on with the former access control lists on one follower",
        GUIDE + "ZooKeeper access control using ACLs; Consistency Guarantees: Timeliness",
        "znode",
        "guarded",
        frozenset({"wrong-answer"}),
        {Learner: KeepsOldLists},
    ),
)
