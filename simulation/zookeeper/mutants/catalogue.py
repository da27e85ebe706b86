"""All mutant servers by name."""

from collections.abc import Mapping
from typing import Final

from rumpus.simulation.zookeeper.bugs import BUGS
from rumpus.simulation.zookeeper.mutants.access import (
    InheritsLists,
    ReadsUnchecked,
    WritesUnchecked,
)
from rumpus.simulation.zookeeper.mutants.reads import (
    AnswersSyncItself,
    RevalidatesItself,
    TakesAnyClient,
)
from rumpus.simulation.zookeeper.mutants.server_mutant import ServerMutant
from rumpus.simulation.zookeeper.mutants.sessions import (
    ClosesNamesOnly,
    KeepsEphemerals,
    KeepsNodesOfRevived,
    RevivesSessions,
)
from rumpus.simulation.zookeeper.mutants.stats import (
    AversionUncounted,
    MtimeOfCreation,
    PzxidWithoutDeletions,
)
from rumpus.simulation.zookeeper.mutants.watch_events import (
    DelaysEvents,
    DoublesEvents,
    LosesEvents,
    ReordersEvents,
)
from rumpus.simulation.zookeeper.mutants.writes import (
    AppliesPartsOfMulti,
    IgnoresVersions,
    KeepsPartsOfMulti,
    NumbersByChildren,
)
from rumpus.simulation.zookeeper.quorum.learner import Learner
from rumpus.simulation.zookeeper.serving.client_connection import ClientConnection
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.serving.reads import Reads
from rumpus.simulation.zookeeper.serving.session_tracker import SessionTracker
from rumpus.simulation.zookeeper.storage.database import Database
from rumpus.simulation.zookeeper.tree.data_tree import DataTree

_GUIDE = "ZooKeeper Programmer's Guide, "

_MUTANTS = (
    ServerMutant(
        "surviving-ephemerals",
        "end a session and leave its ephemeral znodes behind",
        _GUIDE + "Ephemeral Nodes",
        "ephemeral",
        "ephemeral",
        frozenset({"lingering-ephemeral"}),
        {Preparer: ClosesNamesOnly, DataTree: KeepsEphemerals},
    ),
    ServerMutant(
        "revived-sessions",
        "resume an expired session when its client reconnects",
        _GUIDE + "ZooKeeper Sessions",
        "ephemeral",
        "ephemeral",
        frozenset({"revived-session"}),
        {SessionTracker: RevivesSessions, Database: KeepsNodesOfRevived},
    ),
    ServerMutant(
        "repeated-sequence",
        "number sequential znodes by the present children, not by all that were ever created",
        _GUIDE + "Sequence Nodes -- Unique Naming",
        "sequence",
        "sequential",
        frozenset({"duplicate-sequence"}),
        {Preparer: NumbersByChildren},
    ),
    ServerMutant(
        "ignored-versions",
        "set a znode without checking the version that the request expects",
        _GUIDE + "ZooKeeper Stat Structure; setData of the API",
        "register",
        "linearizable",
        frozenset({"not-linearizable"}),
        {Preparer: IgnoresVersions},
    ),
    ServerMutant(
        "half-multi",
        "apply the operations of a multi that come before the one that failed",
        "ZooKeeper 3.4 release notes, ZOOKEEPER-965: multi is all or nothing",
        "multi",
        "multi",
        frozenset({"torn-multi"}),
        {Preparer: KeepsPartsOfMulti, DataTree: AppliesPartsOfMulti},
    ),
    ServerMutant(
        "idle-sync",
        "answer a sync on a follower without asking the leader",
        _GUIDE + "Consistency Guarantees; sync of the API",
        "register",
        "synced",
        frozenset({"stale-sync"}),
        {Learner: AnswersSyncItself},
    ),
    ServerMutant(
        "unchecked-zxid",
        "resume a session at a server that has not applied what its client has seen",
        _GUIDE + "Consistency Guarantees: Single System Image",
        "register",
        "local",
        frozenset({"session-order"}),
        {ClientConnection: TakesAnyClient, Learner: RevalidatesItself},
    ),
    ServerMutant(
        "lost-events",
        "do not send one watch event in five",
        _GUIDE + "What ZooKeeper Guarantees about Watches",
        "watch",
        "looks-again",
        frozenset({"missed-event"}),
        {ClientConnection: LosesEvents},
    ),
    ServerMutant(
        "late-events",
        "send one watch event in five half a second after the change that it reports",
        _GUIDE + "What ZooKeeper Guarantees about Watches",
        "watch",
        "looks-again",
        frozenset({"late-event"}),
        {ClientConnection: DelaysEvents},
    ),
    ServerMutant(
        "doubled-events",
        "send one watch event in five twice",
        _GUIDE + "Semantics of Watches: one-time trigger",
        "watch",
        "looks-again",
        frozenset({"repeated-event"}),
        {ClientConnection: DoublesEvents},
    ),
    ServerMutant(
        "reordered-events",
        "send one watch event in five after the one that follows it",
        _GUIDE + "What ZooKeeper Guarantees about Watches",
        "watch",
        "looks-again",
        frozenset({"reordered-event"}),
        {ClientConnection: ReordersEvents},
    ),
    ServerMutant(
        "unenforced-acl",
        "let every client read and write every znode, without checking access control lists",
        _GUIDE + "ZooKeeper access control using ACLs",
        "znode",
        "guarded",
        frozenset({"unauthorised-access"}),
        {Preparer: WritesUnchecked, Reads: ReadsUnchecked},
    ),
    ServerMutant(
        "inherited-acl",
        "refuse reads of a znode by a client that may not read its parent",
        _GUIDE + "ZooKeeper access control using ACLs: ACLs are not recursive",
        "znode",
        "guarded",
        frozenset({"refused-access"}),
        {Reads: InheritsLists},
    ),
    ServerMutant(
        "pzxid-without-deletions",
        "leave pzxid as it is when a child is deleted",
        "ZOOKEEPER-3125 (pzxid differs after the deletion of a child)",
        "znode",
        "guarded",
        frozenset({"wrong-stat"}),
        {DataTree: PzxidWithoutDeletions},
    ),
    ServerMutant(
        "mtime-of-creation",
        "leave mtime as it is when data are set",
        _GUIDE + "ZooKeeper Stat Structure",
        "znode",
        "guarded",
        frozenset({"wrong-stat"}),
        {DataTree: MtimeOfCreation},
    ),
    ServerMutant(
        "aversion-uncounted",
        "do not count changes of an access control list in aversion",
        _GUIDE + "ZooKeeper Stat Structure",
        "znode",
        "guarded",
        frozenset({"wrong-stat"}),
        {DataTree: AversionUncounted},
    ),
)

_BUGGY = tuple(
    ServerMutant(
        name,
        f"have a known bug of ZooKeeper 3.8.0. {words}",
        "simulation/zookeeper/bugs.py",
        "register",
        "linearizable",
        frozenset(),
        bugs=frozenset({name}),
    )
    for name, words in BUGS.items()
)
"""They need two faults within milliseconds of each other: ordinary runs do not trigger them."""

SERVER_MUTANTS: Final[Mapping[str, ServerMutant]] = {
    mutant.name: mutant for mutant in (*_MUTANTS, *_BUGGY)
}
