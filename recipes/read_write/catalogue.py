"""Read-write locks."""

from collections.abc import Mapping
from typing import Any, Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contenders, faulty_contests
from rumpus.recipes.contests.common_mutants import wrong_timeouts
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.read_write import faulty_read_write_locks
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
    """A lock with the same mistake in both its sides."""
    return variant(
        ReadWriteLock, reader=variant(ReadLock, mistake), writer=variant(WriteLock, mistake)
    )


def with_writer(contest: type[FairContest]) -> type[ReadWriteLock]:
    """A lock whose writers contend in another way."""
    return variant(ReadWriteLock, writer=variant(WriteLock, contest=contest))


def with_contests(mistake: type[FairContest]) -> type[ReadWriteLock]:
    """A lock whose two sides contend with the same mistake."""
    return variant(
        with_writer(variant(WriteContest, mistake)),
        reader=variant(ReadLock, contest=variant(ReadContest, mistake)),
    )


READ_WRITE_LOCKS: Final[Mapping[str, CatalogueEntry[ReadWriteLock]]] = {
    "fair": sound(ReadWriteLock),
    "revocable": sound(RevocableReadWriteLock),
    "kazoo": sound(KazooReadWriteLock),
    "barging-readers": mutant(
        variant(ReadWriteLock, reader=variant(ReadLock, contest=faulty_read_write_locks.Barging)),
        "a reader looks at the first node only: it goes in beside other readers, past a writer "
        "that waits, and the writer, who has nobody before it any more, goes in beside it",
        {"split-brain", "unfair-grant"},
    ),
    "mislabelled-writer": mutant(
        with_writer(faulty_read_write_locks.Mislabelled),
        "the writer's node is created under the readers' prefix (a slip that a description of "
        "the recipe makes), so nobody who reads waits for it",
        {"split-brain"},
        printed="L 3.6",
    ),
    "writer-among-readers": mutant(
        with_writer(faulty_read_write_locks.ReadersIgnored),
        "a writer, too, waits only for writers before it: it goes in beside those who read",
        {"split-brain", "unfair-grant"},
    ),
    "hasty-writer": mutant(
        with_writer(variant(WriteContest, faulty_contests.NoRecheck)),
        "a writer goes in when the nearest node before it vanishes, without looking whether "
        "other readers are still there",
        {"split-brain", "unfair-grant"},
    ),
    "notified-only": mutant(
        faulty_read_write_locks.NotifiedOnlyLock,
        "a holder leaves a watch once and from then on waits for its event: it misses a request "
        "that was there before, and every one after a change of connection, which takes the "
        "watch along",
        {"missed-revocation"},
        printed="L 3.7",
    ),
    "persistent-node": mutant(
        with_contests(faulty_contests.PersistentNode),
        "the nodes are persistent: they outlive their holders and sessions",
        {"deadlock", "orphan-node"},
    ),
    "keeps-place": mutant(
        with_writer(variant(WriteContest, faulty_contests.KeepsPlace)),
        "a writer whose session ended creates its node anew under the old name, before those who "
        "have been let in meanwhile",
        {"double-grant"},
    ),
    "watches-first": mutant(
        with_contests(faulty_contests.WatchesFirst),
        "watches the first of those in the way in place of the nearest: every release wakes all "
        "who wait",
        {"herd"},
    ),
    "first-session-only": mutant(
        with_writer(variant(WriteContest, faulty_contests.FirstSessionOnly)),
        "the writing side remembers that its session is lost, and not that the client has a new "
        "one: it never contends again",
        {"stuck-waiter"},
    ),
    "counts-writes": mutant(
        variant(ReadWriteLock, writer=variant(WriteLock, faulty_contenders.CountsItsOwnGrants)),
        "a writer's token is how often this client has been one",
        {"token-regression"},
    ),
    "believes-for-good": mutant(
        with_sides(faulty_contenders.BelievesForGood),
        "goes on believing that it holds while suspended, and after LOST",
        {"unaware-holder"},
    ),
    "never-held": mutant(
        with_sides(faulty_contenders.NeverBelieves),
        "held is always false: a holder does nothing with the lock",
        {"unbelieving-holder"},
    ),
    **wrong_timeouts(with_sides),
}
