"""Logs with one owner, whose former owners are refused by seals or by tokens."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contests
from rumpus.recipes.contests.common_mutants import RESTS_AFTER_TIMEOUT
from rumpus.recipes.failover.faulty_failover import NoEpochCheck
from rumpus.recipes.lock.contest_lock import FairLock
from rumpus.recipes.sealed_log import faulty_sealed_logs
from rumpus.recipes.sealed_log.owned_log import OwnedLog
from rumpus.recipes.sealed_log.sealed_log import SealedLog
from rumpus.recipes.sealed_log.store_replica import StoreReplica
from rumpus.recipes.sealed_log.token_log import TokenLog


def with_replica(replica: type[StoreReplica]) -> type[SealedLog]:
    """A sealed log whose replicas keep files in another way."""
    return variant(SealedLog, _replica_class=replica)


SEALED_LOGS: Final[Mapping[str, CatalogueEntry[OwnedLog]]] = {
    "seal": sound(SealedLog),
    "token": sound(TokenLog),
    "seals-one": mutant(
        faulty_sealed_logs.SealsOne,
        "a new owner has the old file sealed by one replica only: the others go on taking the old "
        "owner's appends",
        {"late-append", "lost-write"},
    ),
    "seal-not-awaited": mutant(
        faulty_sealed_logs.SealNotAwaited,
        "a new owner leaves the seal to a background task and does not wait for it: it takes the "
        "length from copies that may still grow",
        {"late-append", "lost-write"},
    ),
    "writes-first": mutant(
        faulty_sealed_logs.WritesFirst,
        "a new owner writes to its own file first, and has the old one sealed after that",
        {"late-append", "lost-write", "stale-action"},
    ),
    "appends-after-seal": mutant(
        with_replica(faulty_sealed_logs.AppendsAfterSeal),
        "replicas answer that a file is sealed, and go on taking appends to it",
        {"late-append", "lost-write", "stale-action"},
    ),
    "forgets-seal": mutant(
        with_replica(faulty_sealed_logs.ForgetsSeal),
        "a replica acknowledges a seal that is not on its disk: after a restart it takes appends "
        "again",
        {"late-append", "lost-write"},
    ),
    "length-of-one": mutant(
        faulty_sealed_logs.LengthOfOne,
        "takes the length of the sealed file from the first replica that answers, which may lack "
        "acknowledged entries",
        {"lost-write"},
    ),
    "writer-unchecked": mutant(
        with_replica(faulty_sealed_logs.WriterUnchecked),
        "replicas do not compare who appends with the file's writer: a former owner opens its "
        "successor's file and writes there",
        {"late-append", "lost-write"},
    ),
    "repeats-append": mutant(
        variant(SealedLog, _writer_class=faulty_sealed_logs.RepeatsAppend),
        "an append that a majority does not confirm soon is made once more, at the next position",
        {"duplicate-element"},
    ),
    "reads-past-seal": mutant(
        faulty_sealed_logs.ReadsPastSeal,
        "reads all of a replica's copy of a sealed file, beyond the file's length: appends that "
        "were refused come out",
        {"phantom-element", "not-linearizable"},
    ),
    "reads-by-writer": mutant(
        faulty_sealed_logs.ReadsByWriter,
        "reads the files in the order of their writers' names, not in that of the log",
        {"out-of-order"},
    ),
    "reads-one": mutant(
        faulty_sealed_logs.ReadsOne,
        "reads the open file from the first replica that answers",
        {"lost-write", "not-linearizable"},
    ),
    "never-repairs": mutant(
        faulty_sealed_logs.NeverRepairs,
        "a replica that has missed entries of a sealed file never gets them",
        {"stuck-waiter"},
    ),
    "rests-after-timeout": mutant(
        faulty_sealed_logs.RestsAfterTimeout, RESTS_AFTER_TIMEOUT, {"overdue-call"}
    ),
    "persistent-owner": mutant(
        variant(SealedLog, _lock_class=variant(FairLock, contest=faulty_contests.PersistentNode)),
        "the owner's node in ZooKeeper is persistent: after an owner has died nobody becomes owner",
        {"leaderless"},
    ),
    "tokens-not-compared": mutant(
        variant(TokenLog, _log_class=NoEpochCheck),
        "replicas note tokens and do not compare them: a former owner's appends remove its "
        "successor's",
        {"lost-write", "stale-action"},
    ),
    "adopts-one": mutant(
        variant(TokenLog, _writer_class=faulty_sealed_logs.AdoptsOne),
        "a new owner continues from the log of the first replica that answers, not from the best "
        "one of a majority",
        {"lost-write"},
    ),
}
