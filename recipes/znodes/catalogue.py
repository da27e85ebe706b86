"""Uses of plain znodes, which put ZooKeeper itself to the test."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.requests.watched_znode import WatchedZnode
from rumpus.recipes.znodes.append_log import AppendLog
from rumpus.recipes.znodes.ephemeral_nodes import EphemeralNodes
from rumpus.recipes.znodes.faulty_znodes import (
    AnyNewsWatch,
    BlindAppendLog,
    CachesReadsRegister,
    CachesReadsWatch,
    CountsChildrenSequence,
    CountsVersionsZnodes,
    EventOnlyWatch,
    FirstSessionAppendLog,
    FirstSessionNodes,
    FirstSessionRegister,
    FirstSessionSequence,
    FirstSessionWatch,
    FirstSessionWrite,
    FirstSessionZnodes,
    HalvesTimeoutWatch,
    IgnoresTimeoutWatch,
    IgnoresVersionRegister,
    IgnoresVersionWrite,
    ListsOnParentZnodes,
    OneByOneWrite,
    OverwritesRegister,
    PersistentNodes,
    ReadsThenSetsSequence,
    RetriesAppendLog,
    RetriesCasRegister,
    TidiesUpNodes,
    UncheckedReadWrite,
    UnguardedZnodes,
    UnsyncedAppendLog,
    UnsyncedRegister,
    WatchesOnceWatch,
)
from rumpus.recipes.znodes.guarded_znodes import GuardedZnodes
from rumpus.recipes.znodes.multi_write import MultiWrite
from rumpus.recipes.znodes.register import LinearizableRegister, LocalRegister, SyncedRegister
from rumpus.recipes.znodes.sequence import SequentialNodes, VersionNumbers

REGISTERS: Final[Mapping[str, type[LocalRegister]]] = {
    "linearizable": LinearizableRegister,
    "synced": SyncedRegister,
    "local": LocalRegister,
    "ignores-version": IgnoresVersionRegister,
    "retries-cas": RetriesCasRegister,
    "overwrites": OverwritesRegister,
    "unsynced": UnsyncedRegister,
    "caches-reads": CachesReadsRegister,
    "first-session": FirstSessionRegister,
}

APPEND_LOGS: Final[Mapping[str, type[AppendLog]]] = {
    "by-version": AppendLog,
    "blind": BlindAppendLog,
    "retries": RetriesAppendLog,
    "unsynced": UnsyncedAppendLog,
    "first-session": FirstSessionAppendLog,
}

WATCHED_ZNODES: Final[Mapping[str, type[WatchedZnode]]] = {
    "looks-again": WatchedZnode,
    "event-only": EventOnlyWatch,
    "watches-once": WatchesOnceWatch,
    "any-news": AnyNewsWatch,
    "halves-timeout": HalvesTimeoutWatch,
    "ignores-timeout": IgnoresTimeoutWatch,
    "caches-reads": CachesReadsWatch,
    "first-session": FirstSessionWatch,
}

EPHEMERALS: Final[Mapping[str, type[EphemeralNodes]]] = {
    "ephemeral": EphemeralNodes,
    "persistent": PersistentNodes,
    "tidies-up": TidiesUpNodes,
    "first-session": FirstSessionNodes,
}

SEQUENCES: Final[Mapping[str, type[SequentialNodes | VersionNumbers]]] = {
    "sequential": SequentialNodes,
    "version": VersionNumbers,
    "counts-children": CountsChildrenSequence,
    "reads-then-sets": ReadsThenSetsSequence,
    "first-session": FirstSessionSequence,
}

MULTI_WRITES: Final[Mapping[str, type[MultiWrite]]] = {
    "multi": MultiWrite,
    "one-by-one": OneByOneWrite,
    "unchecked-read": UncheckedReadWrite,
    "ignores-version": IgnoresVersionWrite,
    "first-session": FirstSessionWrite,
}

GUARDED_ZNODES: Final[Mapping[str, type[GuardedZnodes]]] = {
    "guarded": GuardedZnodes,
    "unguarded": UnguardedZnodes,
    "lists-on-parent": ListsOnParentZnodes,
    "counts-versions": CountsVersionsZnodes,
    "first-session": FirstSessionZnodes,
}
