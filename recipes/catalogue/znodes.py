"""Uses of plain znodes, which put ZooKeeper itself to the test."""

from collections.abc import Mapping
from typing import Final

from recipes.append_log import AppendLog
from recipes.ephemeral_nodes import EphemeralNodes
from recipes.faulty.znodes import (
    BlindAppendLog,
    CountsChildrenSequence,
    EventOnlyWatch,
    IgnoresVersionRegister,
    OneByOneWrite,
    PersistentNodes,
    ReadsThenSetsSequence,
    RetriesAppendLog,
    RetriesCasRegister,
    TidiesUpNodes,
    UncheckedReadWrite,
    WatchesOnceWatch,
)
from recipes.multi_write import MultiWrite
from recipes.register import LinearizableRegister, LocalRegister, SyncedRegister
from recipes.sequence import SequentialNodes, VersionNumbers
from recipes.watched_znode import WatchedZnode

REGISTERS: Final[Mapping[str, type[LocalRegister]]] = {
    "linearizable": LinearizableRegister,
    "synced": SyncedRegister,
    "local": LocalRegister,
    "ignores-version": IgnoresVersionRegister,
    "retries-cas": RetriesCasRegister,
}

APPEND_LOGS: Final[Mapping[str, type[AppendLog]]] = {
    "by-version": AppendLog,
    "blind": BlindAppendLog,
    "retries": RetriesAppendLog,
}

WATCHED_ZNODES: Final[Mapping[str, type[WatchedZnode]]] = {
    "looks-again": WatchedZnode,
    "event-only": EventOnlyWatch,
    "watches-once": WatchesOnceWatch,
}

EPHEMERALS: Final[Mapping[str, type[EphemeralNodes]]] = {
    "ephemeral": EphemeralNodes,
    "persistent": PersistentNodes,
    "tidies-up": TidiesUpNodes,
}

SEQUENCES: Final[Mapping[str, type[SequentialNodes | VersionNumbers]]] = {
    "sequential": SequentialNodes,
    "version": VersionNumbers,
    "counts-children": CountsChildrenSequence,
    "reads-then-sets": ReadsThenSetsSequence,
}

MULTI_WRITES: Final[Mapping[str, type[MultiWrite]]] = {
    "multi": MultiWrite,
    "one-by-one": OneByOneWrite,
    "unchecked-read": UncheckedReadWrite,
}
