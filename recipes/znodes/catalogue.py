"""Uses of plain znodes, which put ZooKeeper itself to the test."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.znodes import faulty_znodes
from rumpus.recipes.znodes.append_log import AppendLog
from rumpus.recipes.znodes.ephemeral_nodes import EphemeralNodes
from rumpus.recipes.znodes.guarded_znodes import GuardedZnodes
from rumpus.recipes.znodes.multi_write import MultiWrite
from rumpus.recipes.znodes.register import LinearizableRegister, LocalRegister, SyncedRegister
from rumpus.recipes.znodes.sequence import SequentialNodes, VersionNumbers
from rumpus.recipes.znodes.watched_znode import WatchedZnode

UNSYNCED: Final = "reads without a write before it: a server that is behind answers"

CACHES_READS: Final = (
    "answers reads from a cache that its own writes do not reach: it reads what it has "
    "overwritten itself"
)

FIRST_SESSION: Final = (
    "keeps its first session for ever: once that has expired no call comes through, although "
    "the client has a new one"
)

REGISTERS: Final[Mapping[str, CatalogueEntry[LocalRegister]]] = {
    "linearizable": sound(LinearizableRegister),
    "synced": sound(SyncedRegister),
    "local": sound(LocalRegister),
    "ignores-version": mutant(
        faulty_znodes.IgnoresVersionRegister,
        "compares first and sets then, whatever is there by then",
        {"not-linearizable"},
    ),
    "retries-cas": mutant(
        faulty_znodes.RetriesCasRegister,
        "tries a compare-and-set again whose reply was lost, and takes the refusal of its own "
        "success for another's",
        {"not-linearizable"},
    ),
    "overwrites": mutant(
        faulty_znodes.OverwritesRegister,
        "compares nothing where the register was absent: what somebody has created meanwhile is "
        "overwritten",
        {"not-linearizable"},
    ),
    "unsynced": mutant(
        variant(LinearizableRegister, _asker_class=faulty_znodes.UnsyncedAsker),
        UNSYNCED,
        {"not-linearizable"},
    ),
    "caches-reads": mutant(
        variant(LocalRegister, faulty_znodes.CachesReads), CACHES_READS, {"session-order"}
    ),
    "first-session": mutant(
        variant(LinearizableRegister, faulty_znodes.FirstSessionOnly),
        FIRST_SESSION,
        {"stuck-waiter"},
    ),
}

APPEND_LOGS: Final[Mapping[str, CatalogueEntry[AppendLog]]] = {
    "by-version": sound(AppendLog),
    "blind": mutant(
        faulty_znodes.BlindAppendLog,
        "sets what it has read and appended to without naming the version",
        {"not-linearizable"},
    ),
    "retries": mutant(
        faulty_znodes.RetriesAppendLog,
        "appends again when the reply was lost, without looking",
        {"not-linearizable"},
    ),
    "unsynced": mutant(
        variant(AppendLog, _asker_class=faulty_znodes.UnsyncedAsker), UNSYNCED, {"not-linearizable"}
    ),
    "first-session": mutant(
        variant(AppendLog, faulty_znodes.FirstSessionOnly), FIRST_SESSION, {"stuck-waiter"}
    ),
}

WATCHED_ZNODES: Final[Mapping[str, CatalogueEntry[WatchedZnode]]] = {
    "looks-again": sound(WatchedZnode),
    "event-only": mutant(
        faulty_znodes.EventOnlyWatch,
        "waits for the event of its watch alone, which is gone once the connection was",
        {"missed-event"},
    ),
    "watches-once": mutant(
        faulty_znodes.WatchesOnceWatch,
        "leaves a watch with its first look only, as if it stayed when it has fired",
        {"missed-event"},
    ),
    "any-news": mutant(
        faulty_znodes.AnyNewsWatch,
        "comes back at the first news, without looking again: it may have told that the "
        "connection was lost",
        {"false-event"},
    ),
    "halves-timeout": mutant(
        faulty_znodes.HalvesTimeoutWatch,
        "await_change gives up after half of its timeout",
        {"early-timeout"},
    ),
    "ignores-timeout": mutant(
        faulty_znodes.IgnoresTimeoutWatch,
        "await_change takes a timeout and waits until there is a change",
        {"overdue-call"},
    ),
    "caches-reads": mutant(
        variant(WatchedZnode, faulty_znodes.CachesReads), CACHES_READS, {"session-order"}
    ),
    "first-session": mutant(
        variant(WatchedZnode, faulty_znodes.FirstSessionOnly), FIRST_SESSION, {"stuck-waiter"}
    ),
}

EPHEMERALS: Final[Mapping[str, CatalogueEntry[EphemeralNodes]]] = {
    "ephemeral": sound(EphemeralNodes),
    "persistent": mutant(
        faulty_znodes.PersistentNodes,
        "forgets the flag: the nodes outlive their sessions",
        {"lingering-ephemeral"},
    ),
    "tidies-up": mutant(
        faulty_znodes.TidiesUpNodes,
        "removes a node that stands in its way, for it takes it to be left by an earlier session "
        "of its own",
        {"early-removal"},
    ),
    "first-session": mutant(
        variant(EphemeralNodes, faulty_znodes.FirstSessionOnly), FIRST_SESSION, {"stuck-waiter"}
    ),
}

SEQUENCES: Final[Mapping[str, CatalogueEntry[SequentialNodes | VersionNumbers]]] = {
    "sequential": sound(SequentialNodes),
    "version": sound(VersionNumbers),
    "counts-children": mutant(
        faulty_znodes.CountsChildrenSequence,
        "takes the number after the highest among the children for its own, without making it so",
        {"duplicate-sequence", "sequence-regression"},
    ),
    "reads-then-sets": mutant(
        faulty_znodes.ReadsThenSetsSequence,
        "reads a number and writes the next one without naming the version",
        {"duplicate-sequence", "sequence-regression"},
    ),
    "first-session": mutant(
        variant(SequentialNodes, faulty_znodes.FirstSessionOnly), FIRST_SESSION, {"stuck-waiter"}
    ),
}

MULTI_WRITES: Final[Mapping[str, CatalogueEntry[MultiWrite]]] = {
    "multi": sound(MultiWrite),
    "one-by-one": mutant(
        faulty_znodes.OneByOneWrite, "writes one node after the other", {"torn-multi"}
    ),
    "unchecked-read": mutant(
        faulty_znodes.UncheckedReadWrite,
        "takes what it reads node by node for what was there at one moment",
        {"torn-multi"},
    ),
    "ignores-version": mutant(
        faulty_znodes.IgnoresVersionWrite,
        "compares no version: what was to be written on a condition always is",
        {"not-linearizable"},
    ),
    "first-session": mutant(
        variant(MultiWrite, faulty_znodes.FirstSessionOnly), FIRST_SESSION, {"stuck-waiter"}
    ),
}

GUARDED_ZNODES: Final[Mapping[str, CatalogueEntry[GuardedZnodes]]] = {
    "guarded": sound(GuardedZnodes),
    "unguarded": mutant(
        faulty_znodes.UnguardedZnodes,
        "forgets the access control list when it creates a znode",
        {"unauthorised-access"},
    ),
    "lists-on-parent": mutant(
        faulty_znodes.ListsOnParentZnodes,
        "gives children a list that lets nobody but their maker in",
        {"refused-access"},
    ),
    "counts-versions": mutant(
        faulty_znodes.CountsVersionsZnodes,
        "reads the Stat before a change, and adds the change to it by itself",
        {"wrong-stat"},
    ),
    "first-session": mutant(
        variant(GuardedZnodes, faulty_znodes.FirstSessionOnly), FIRST_SESSION, {"stuck-waiter"}
    ),
}
