"""Read-write locks."""

from collections.abc import Mapping
from typing import Any, Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contenders, faulty_contests
from rumpus.recipes.contests.common_mutants import (
    answer_mutants,
    contender_mutants,
    contest_mutants,
)
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.read_write import faulty_read_write_locks
from rumpus.recipes.read_write.kazoo_bare_read_write_lock import KazooBareReadWriteLock
from rumpus.recipes.read_write.kazoo_read_write_lock import KazooReadWriteLock
from rumpus.recipes.read_write.read_write_lock import (
    ReadContest,
    ReadLock,
    ReadWriteLock,
    WriteContest,
    WriteLock,
)
from rumpus.recipes.read_write.revocable_lock import RevocableReadWriteLock


def with_sides(mistake: type[Any]) -> type[ReadWriteLock]:
    """A lock whose readers and writers have the same mistake."""
    return variant(
        ReadWriteLock, reader=variant(ReadLock, mistake), writer=variant(WriteLock, mistake)
    )


def with_writer(contest: type[FairContest]) -> type[ReadWriteLock]:
    """A lock whose writers contend in another way."""
    return variant(ReadWriteLock, writer=variant(WriteLock, contest=contest))


def with_contests(mistake: type[FairContest]) -> type[ReadWriteLock]:
    """A lock whose readers and writers contend with the same mistake."""
    return variant(
        with_writer(variant(WriteContest, mistake)),
        reader=variant(ReadLock, contest=variant(ReadContest, mistake)),
    )


READ_WRITE_LOCKS: Final[Mapping[str, CatalogueEntry[ReadWriteLock]]] = {
    "fair": sound(ReadWriteLock),
    "revocable": sound(RevocableReadWriteLock),
    "kazoo": sound(KazooReadWriteLock),
    "kazoo-bare": sound(KazooBareReadWriteLock),
    "barging-readers": mutant(
        variant(ReadWriteLock, reader=variant(ReadLock, contest=faulty_read_write_locks.Barging)),
        "a reader looks only whether the first node is a reader's: it overtakes a writer that "
        "waits, and the writer is then granted the lock beside it",
        {"split-brain", "unfair-grant"},
    ),
    "mislabelled-writer": mutant(
        with_writer(faulty_read_write_locks.Mislabelled),
        "the writer's node is created with the readers' prefix, as one description of the recipe "
        "says: readers do not wait for it",
        {"split-brain"},
        printed="L 3.6",
    ),
    "writer-among-readers": mutant(
        with_writer(faulty_read_write_locks.ReadersIgnored),
        "a writer waits only for the writers before it: it is granted the lock beside readers",
        {"split-brain", "unfair-grant"},
    ),
    "hasty-writer": mutant(
        with_writer(variant(WriteContest, faulty_contests.NoRecheck)),
        "a writer takes the lock when the next lower node vanishes, without looking whether other "
        "readers still hold it",
        {"split-brain", "unfair-grant"},
    ),
    "notified-only": mutant(
        faulty_read_write_locks.NotifiedOnlyLock,
        "a holder sets a watch once and then only waits for its event: it misses a request that "
        "was made before, and every request after a reconnect, because kazoo drops the watch",
        {"missed-revocation"},
        printed="L 3.7",
    ),
    "asks-first": mutant(
        faulty_read_write_locks.AsksFirstLock,
        "who revokes asks the first of several holders only",
        {"missed-revocation"},
    ),
    **contest_mutants(with_contests, "persistent-node", "watches-first", "denies-release"),
    **answer_mutants(with_sides, "releases-nothing"),
    **contest_mutants(
        lambda mistake: with_writer(variant(WriteContest, mistake)),
        "keeps-place",
        "first-session-only",
    ),
    "counts-writes": mutant(
        variant(ReadWriteLock, writer=variant(WriteLock, faulty_contenders.CountsItsOwnGrants)),
        "a writer's token counts how often this client was granted the write lock",
        {"token-regression"},
    ),
    **contender_mutants(with_sides, "believes-for-good", "never-held", "believes-until-lost"),
}
