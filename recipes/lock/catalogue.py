"""The catalogue of locks: the sound ones, and mutants with one known mistake each."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contenders, faulty_contests
from rumpus.recipes.contests.common_mutants import (
    SORTS_BY_NAME,
    WAITS_FOR_ITSELF,
    wrong_timeouts,
)
from rumpus.recipes.lock import faulty_locks, published_locks
from rumpus.recipes.lock.contest_lock import ContestLock, FairLock, UnfairLock
from rumpus.recipes.lock.delayed_lock import DelayedLock
from rumpus.recipes.lock.fenced_lock import FencedLock
from rumpus.recipes.lock.kazoo_bare_lock import KazooBareLock
from rumpus.recipes.lock.kazoo_lease import KazooLease
from rumpus.recipes.lock.kazoo_lock import KazooLock
from rumpus.recipes.lock.sequencer import SequencerLock
from rumpus.recipes.lock.validity_lock import ValidContest, ValidityLock

LOCKS: Final[Mapping[str, CatalogueEntry[ContestLock]]] = {
    "fair": sound(FairLock),
    "unfair": sound(UnfairLock),
    "validity": sound(ValidityLock),
    "fenced": sound(FencedLock),
    "lock-delay": sound(DelayedLock),
    "sequencer": sound(SequencerLock),
    "kazoo": sound(KazooLock),
    "kazoo-bare": sound(KazooBareLock),
    "kazoo-lease": sound(KazooLease),
    "persistent-node": mutant(
        variant(FairLock, contest=faulty_contests.PersistentNode),
        "the node is persistent: it outlives its holder and its session",
        {"deadlock", "orphan-node"},
    ),
    "no-recheck": mutant(
        variant(FairLock, contest=faulty_contests.NoRecheck),
        "takes the lock when its predecessor vanishes, without looking whether it is first: the "
        "predecessor may have been a waiter that gave up or died",
        {"split-brain"},
    ),
    "watch-first": mutant(
        variant(FairLock, contest=variant(faulty_contests.NoRecheck, faulty_contests.WatchesFirst)),
        "all waiters watch the first node, and take the lock when it vanishes, without looking",
        {"herd", "split-brain"},
    ),
    "release-by-path": mutant(
        variant(UnfairLock, contest=faulty_contests.ReleaseByPath),
        "release deletes the node by path, whoever's it is: a holder whose session has expired "
        "frees the lock of the next one",
        {"split-brain"},
        printed="G 7",
    ),
    "no-lookup": mutant(
        variant(FairLock, contest=faulty_contests.NoLookup),
        "does not look for its node after a lost reply: it creates a second one and queues "
        "behind the first, which nobody removes while its session lives",
        {"deadlock", "orphan-node"},
        printed="L 3.5",
    ),
    "keeps-place": mutant(
        variant(FairLock, contest=faulty_contests.KeepsPlace),
        "a client whose session ended creates its node anew under the old name, to keep its "
        "place in the line: the lock has passed on meanwhile",
        {"double-grant"},
    ),
    "sorts-by-name": mutant(
        variant(FairLock, contest=faulty_contests.SortsByName),
        SORTS_BY_NAME,
        {"split-brain", "unfair-grant"},
    ),
    "never-held": mutant(
        variant(FairLock, faulty_contenders.NeverBelieves),
        "held is always false: a client that is granted it does nothing with it",
        {"unbelieving-holder"},
    ),
    "refuses-reentry": mutant(
        variant(FairLock, faulty_locks.WaitsForItself),
        WAITS_FOR_ITSELF,
        {"refused-reentry"},
    ),
    **wrong_timeouts(partial(variant, FairLock)),
    "countdown": mutant(
        variant(
            ValidityLock, contest=variant(ValidContest, _validity_class=faulty_locks.Countdown)
        ),
        "a thread counts down what is left of the window: in a process that is frozen nobody "
        "counts",
        {"stale-belief"},
    ),
    "counts-from-now": mutant(
        variant(
            ValidityLock, contest=variant(ValidContest, _validity_class=faulty_locks.WhileConnected)
        ),
        "counts the session's whole timeout from now, as long as the connection stands: a "
        "process that was frozen finds it standing",
        {"stale-belief"},
    ),
    "local-counter": mutant(
        faulty_locks.LocalCounterLock,
        "the token is a counter in the client: each client counts by itself",
        {"token-regression"},
    ),
    "memory-fence": mutant(
        variant(FencedLock, _fence_class=faulty_locks.MemoryOfOne),
        "each client remembers the highest token that it has written itself: it knows nothing of "
        "other clients' tokens",
        {"stale-action"},
    ),
    "look-then-write": mutant(
        variant(FencedLock, _fence_class=faulty_locks.LookThenWrite),
        "compares its token when it begins to write, and then writes without a version: a higher "
        "token may have been written since",
        {"stale-action"},
    ),
    "refuses-equal": mutant(
        variant(FencedLock, _fence_class=faulty_locks.AlsoEqual),
        "the fence compares with <= in place of <: who holds is refused at the second write",
        {"refused-sequencer"},
    ),
    "delay-after-release": mutant(
        variant(DelayedLock, contest=faulty_locks.AfterRelease),
        "release removes its node and leaves the mark: every release looks like a failure",
        {"stuck-waiter"},
    ),
    "delay-since-taken": mutant(
        variant(DelayedLock, contest=faulty_locks.SinceTaken),
        "counts the delay from when the lock was taken, as if it were a lease, not from when its "
        "holder was seen to have failed",
        {"early-grant"},
    ),
    "verified-by-path": mutant(
        variant(SequencerLock, verifier=faulty_locks.ByPath),
        "verifies by the lock's path only: a sequencer stands as long as anybody holds the lock",
        {"stale-sequencer"},
    ),
    "verified-once": mutant(
        variant(SequencerLock, verifier=faulty_locks.Remembering),
        "remembers the answer for each sequencer, and does not ask again",
        {"stale-sequencer"},
    ),
    "trusts-its-map": mutant(
        published_locks.TrustsItsMapLock,
        "a thread that stands in the map of holders is let in again, and believes, without a "
        "look at its session: it may have ended",
        {"unaware-holder"},
        printed="C internalLock",
    ),
    "watches-parent": mutant(
        published_locks.WatchesParentLock,
        "all waiters watch the children of the parent: every release wakes all of them, and so "
        "does every other lock that has its node there",
        {"herd"},
        printed="C temporary node",
    ),
}
