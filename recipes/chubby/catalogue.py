"""Chubby's interface."""

from collections.abc import Mapping
from typing import Any, Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.chubby import faulty_chubby
from rumpus.recipes.chubby.file_lock import (
    ExclusiveContest,
    ExclusiveSide,
    FileLock,
    SharedContest,
    SharedSide,
)
from rumpus.recipes.chubby.handle import Handle
from rumpus.recipes.chubby.library import Chubby
from rumpus.recipes.contests.common_mutants import contest_mutants, wrong_timeouts
from rumpus.recipes.contests.faulty_contenders import HalvesTimeout, IgnoresTimeout


def with_handle(**parts: type[Any]) -> type[Chubby]:
    """A library whose handles have other parts."""
    return variant(Chubby, handle_class=variant(Handle, **parts))


def with_sides(mistake: type[Any]) -> type[Chubby]:
    """A library whose locks have the same mistake in both modes."""
    return with_handle(
        _lock_class=variant(
            FileLock, reader=variant(SharedSide, mistake), writer=variant(ExclusiveSide, mistake)
        )
    )


def with_contests(mistake: type[Any]) -> type[Chubby]:
    """A library whose contenders for a lock make the same mistake in both modes."""
    return with_handle(
        _lock_class=variant(
            FileLock,
            reader=variant(SharedSide, contest=variant(SharedContest, mistake)),
            writer=variant(ExclusiveSide, contest=variant(ExclusiveContest, mistake)),
        )
    )


CHUBBY: Final[Mapping[str, CatalogueEntry[Chubby]]] = {
    "library": sound(Chubby),
    "same-lock-generation": mutant(
        with_contests(faulty_chubby.SameGeneration),
        "the lock generation does not grow when the lock is taken: a server cannot tell an earlier "
        "holder's sequencer from the present one's",
        {"generation-regression", "stale-request"},
    ),
    "sequencer-by-name": mutant(
        variant(Chubby, storage_class=faulty_chubby.ByLockName),
        "the storage server accepts every sequencer that names its lock, of whatever generation",
        {"stale-request"},
    ),
    "verified-by-lock": mutant(
        with_handle(_verifier_class=faulty_chubby.ByHolderOfLock),
        "a sequencer counts as valid while anybody holds the lock that it names",
        {"stale-sequencer"},
    ),
    "compares-czxid": mutant(
        with_handle(_verifier_class=faulty_chubby.ByCreation),
        "compares the lock generation with the czxid of the holder's znode, as for the lock that "
        "takes the czxid for a generation: no sequencer is ever valid",
        {"refused-sequencer"},
    ),
    "no-invalidation": mutant(
        with_handle(_change_class=faulty_chubby.NotInvalidated),
        "a change does not wait until other clients have dropped their cached copies",
        {"stale-read"},
    ),
    "cached-in-jeopardy": mutant(
        with_handle(_cache_class=faulty_chubby.CachedInJeopardy),
        "in jeopardy the cache is not emptied, and calls are answered from it",
        {"jeopardy-call"},
    ),
    "renews-itself": mutant(
        variant(Chubby, lease_class=faulty_chubby.RenewsItself),
        "a session that has expired goes on in the client's next one, with its handles",
        {"expired-handle"},
    ),
    "no-generation-check": mutant(
        variant(Chubby, handle_class=faulty_chubby.UncheckedHandle),
        "set_contents ignores the generation that the caller expects",
        {"lost-update"},
    ),
    "any-instance": mutant(
        variant(Chubby, handle_class=faulty_chubby.AnyInstance),
        "a handle of a file that was deleted is one of the file that was created after that",
        {"expired-handle"},
    ),
    "any-mode": mutant(
        variant(Chubby, handle_class=faulty_chubby.AnyMode),
        "calls do not look what the handle was opened for: a reader takes the lock",
        {"unauthorised-access"},
    ),
    "keeps-lock": mutant(
        variant(Chubby, handle_class=faulty_chubby.KeepsLock),
        "closing a handle does not release its lock",
        {"deadlock", "stuck-waiter", "orphan-node"},
    ),
    "safe-not-told": mutant(
        variant(Chubby, handle_class=faulty_chubby.SafeNotTold),
        "tells of jeopardy, and not that the session is safe again",
        {"missed-event"},
    ),
    "conflict-not-told": mutant(
        with_handle(_events_class=faulty_chubby.ConflictsNotTold),
        "a holder is not told that others wait for the lock",
        {"missed-event"},
    ),
    "failovers-told-twice": mutant(
        with_handle(_events_class=faulty_chubby.FailoversToldTwice),
        "tells of each failover twice",
        {"false-event"},
    ),
    "early-event": mutant(
        with_handle(_events_class=faulty_chubby.EarlyEvents),
        "delivers the event when a change is announced, before it can be read",
        {"early-event"},
    ),
    "deaf-events": mutant(
        with_handle(_events_class=faulty_chubby.DeafEvents),
        "waits for the event of its watch, which is lost with the connection, and does not look "
        "again after a reconnect",
        {"missed-event"},
    ),
    "lock-told-late": mutant(
        with_handle(_events_class=faulty_chubby.LockToldLate),
        "tells of a grant by the generation of the one before",
        {"missed-event"},
    ),
    "lock-told-once": mutant(
        with_handle(_events_class=faulty_chubby.LockToldOnce),
        "watches the lock until it has told of a grant, and does not set the watch again",
        {"missed-event"},
    ),
    "children-not-told": mutant(
        with_handle(_events_class=faulty_chubby.ChildrenNotWatched),
        "watches the file, and not its children",
        {"missed-event"},
    ),
    "no-lock-delay": mutant(
        with_contests(faulty_chubby.NoLockDelay),
        "takes the lock at once after its holder has failed",
        {"early-grant"},
    ),
    "delay-after-release": mutant(
        with_contests(faulty_chubby.DelayAfterRelease),
        "release leaves the holder in the table: every release is taken for a failure",
        {"stuck-waiter"},
    ),
    "shared-beside-writer": mutant(
        with_handle(
            _lock_class=variant(
                FileLock, reader=variant(SharedSide, contest=faulty_chubby.BesideWriters)
            )
        ),
        "a client that asks for shared mode waits for nobody, so it holds beside a writer",
        {"split-brain"},
    ),
    **contest_mutants(with_contests, "persistent-node"),
    **wrong_timeouts(with_sides(IgnoresTimeout), with_sides(HalvesTimeout)),
    "never-held": mutant(
        variant(Chubby, handle_class=faulty_chubby.NeverHeldHandle),
        "a holder is never certain that it holds",
        {"unbelieving-holder"},
    ),
    "held-for-good": mutant(
        variant(Chubby, handle_class=faulty_chubby.HeldForGoodHandle),
        "a holder is certain that it holds until it releases, in jeopardy and after its session "
        "has expired",
        {"unaware-holder", "stale-belief"},
    ),
}
