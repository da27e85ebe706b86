"""Uses of plain znodes, which test ZooKeeper itself."""

from collections.abc import Mapping
from typing import Final, TypeVar

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.common_mutants import FIRST_SESSION, wrong_timeouts
from rumpus.recipes.znodes import faulty_znodes
from rumpus.recipes.znodes.append_log import AppendLog
from rumpus.recipes.znodes.ephemeral_nodes import EphemeralNodes
from rumpus.recipes.znodes.guarded_znodes import GuardedZnodes
from rumpus.recipes.znodes.multi_write import MultiWrite
from rumpus.recipes.znodes.register import LinearizableRegister, LocalRegister, SyncedRegister
from rumpus.recipes.znodes.sequence import SequentialNodes, VersionNumbers
from rumpus.recipes.znodes.watched_znode import WatchedZnode

Kind = TypeVar("Kind")


def first_session(recipe: type[Kind]) -> CatalogueEntry[Kind]:
    """The mutant that uses its first session only."""
    return mutant(variant(recipe, faulty_znodes.FirstSessionOnly), FIRST_SESSION, {"stuck-waiter"})


def unsynced(recipe: type[Kind]) -> CatalogueEntry[Kind]:
    """The mutant whose reads may be stale."""
    return mutant(
        variant(recipe, _asker_class=faulty_znodes.UnsyncedAsker),
        "reads without catching up first: a server that lags answers with an older state",
        {"not-linearizable"},
    )


def caches_reads(recipe: type[Kind]) -> CatalogueEntry[Kind]:
    """The mutant that reads from a cache."""
    return mutant(
        variant(recipe, faulty_znodes.CachesReads),
        "answers reads from a cache that its own writes do not update: a client reads what it has "
        "overwritten itself",
        {"session-order"},
    )


REGISTERS: Final[Mapping[str, CatalogueEntry[LocalRegister]]] = {
    "linearizable": sound(LinearizableRegister),
    "synced": sound(SyncedRegister),
    "local": sound(LocalRegister),
    "ignores-version": mutant(
        faulty_znodes.IgnoresVersionRegister,
        "compares first and then sets without a version check, whatever was written meanwhile",
        {"not-linearizable"},
    ),
    "retries-cas": mutant(
        faulty_znodes.RetriesCasRegister,
        "repeats a compare-and-set whose reply was lost, and reports it as refused if the first "
        "one had succeeded",
        {"not-linearizable"},
    ),
    "overwrites": mutant(
        faulty_znodes.OverwritesRegister,
        "a compare-and-set that expects an absent register compares nothing: it overwrites what "
        "others have created meanwhile",
        {"not-linearizable"},
    ),
    "unsynced": unsynced(LinearizableRegister),
    "caches-reads": caches_reads(LocalRegister),
    "first-session": first_session(LinearizableRegister),
}

APPEND_LOGS: Final[Mapping[str, CatalogueEntry[AppendLog]]] = {
    "by-version": sound(AppendLog),
    "blind": mutant(
        faulty_znodes.BlindAppendLog,
        "reads, appends and sets without a version check",
        {"not-linearizable"},
    ),
    "retries": mutant(
        faulty_znodes.RetriesAppendLog,
        "appends again when the reply was lost, without looking whether it has appended",
        {"not-linearizable"},
    ),
    "unsynced": unsynced(AppendLog),
    "first-session": first_session(AppendLog),
}

WATCHED_ZNODES: Final[Mapping[str, CatalogueEntry[WatchedZnode]]] = {
    "looks-again": sound(WatchedZnode),
    "event-only": mutant(
        faulty_znodes.EventOnlyWatch,
        "waits only for the event of its watch, which is dropped with the connection",
        {"missed-event"},
    ),
    "watches-once": mutant(
        faulty_znodes.WatchesOnceWatch,
        "sets a watch with its first read only, as if a watch fired more than once",
        {"missed-event"},
    ),
    "any-news": mutant(
        faulty_znodes.AnyNewsWatch,
        "returns at the first event without reading again, although the event may only report "
        "that the connection was lost",
        {"false-event"},
    ),
    **wrong_timeouts(faulty_znodes.IgnoresTimeoutWatch, faulty_znodes.HalvesTimeoutWatch),
    "caches-reads": caches_reads(WatchedZnode),
    "first-session": first_session(WatchedZnode),
}

EPHEMERALS: Final[Mapping[str, CatalogueEntry[EphemeralNodes]]] = {
    "ephemeral": sound(EphemeralNodes),
    "persistent": mutant(
        faulty_znodes.PersistentNodes,
        "creates nodes without the ephemeral flag: they outlive their sessions",
        {"lingering-ephemeral"},
    ),
    "tidies-up": mutant(
        faulty_znodes.TidiesUpNodes,
        "removes a node that exists already, as if an earlier session of its own had left it",
        {"early-removal"},
    ),
    "first-session": first_session(EphemeralNodes),
}

SEQUENCES: Final[Mapping[str, CatalogueEntry[SequentialNodes | VersionNumbers]]] = {
    "sequential": sound(SequentialNodes),
    "version": sound(VersionNumbers),
    "counts-children": mutant(
        faulty_znodes.CountsChildrenSequence,
        "takes the number after the highest among the children, even if another client has it",
        {"duplicate-sequence", "sequence-regression"},
    ),
    "reads-then-sets": mutant(
        faulty_znodes.ReadsThenSetsSequence,
        "reads a number and writes the next one without a version check",
        {"duplicate-sequence", "sequence-regression"},
    ),
    "first-session": first_session(SequentialNodes),
}

MULTI_WRITES: Final[Mapping[str, CatalogueEntry[MultiWrite]]] = {
    "multi": sound(MultiWrite),
    "one-by-one": mutant(
        faulty_znodes.OneByOneWrite, "writes the nodes one after the other", {"torn-multi"}
    ),
    "unchecked-read": mutant(
        faulty_znodes.UncheckedReadWrite,
        "returns what it reads node by node, without checking that nothing changed meanwhile",
        {"torn-multi"},
    ),
    "ignores-version": mutant(
        faulty_znodes.IgnoresVersionWrite,
        "compares no version: a conditional write always takes effect",
        {"not-linearizable"},
    ),
    "first-session": first_session(MultiWrite),
}

GUARDED_ZNODES: Final[Mapping[str, CatalogueEntry[GuardedZnodes]]] = {
    "guarded": sound(GuardedZnodes),
    "unguarded": mutant(
        faulty_znodes.UnguardedZnodes,
        "creates znodes without their access control list",
        {"unauthorised-access"},
    ),
    "lists-on-parent": mutant(
        faulty_znodes.ListsOnParentZnodes,
        "gives children an access control list that allows only their creator",
        {"refused-access"},
    ),
    "counts-versions": mutant(
        faulty_znodes.CountsVersionsZnodes,
        "reads the Stat before a change, and computes the new version by itself",
        {"wrong-stat"},
    ),
    "first-session": first_session(GuardedZnodes),
}
