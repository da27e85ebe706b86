"""Locks."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contests
from rumpus.recipes.contests.common_mutants import (
    WAITS_FOR_ITSELF,
    answer_mutants,
    contender_mutants,
    contest_mutants,
)
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.lock import faulty_locks, published_locks
from rumpus.recipes.lock.contest_lock import ContestLock, FairLock, UnfairLock
from rumpus.recipes.lock.delayed_lock import DelayedLock
from rumpus.recipes.lock.fenced_lock import FencedLock
from rumpus.recipes.lock.kazoo_bare_lock import KazooBareLock
from rumpus.recipes.lock.kazoo_lease import KazooLease
from rumpus.recipes.lock.kazoo_lock import KazooLock
from rumpus.recipes.lock.sequencer import SequencerLock
from rumpus.recipes.lock.validity_lock import ValidContest, ValidityLock
from rumpus.recipes.requests.session_validity import SessionValidity


def with_contest(contest: type[FairContest]) -> type[FairLock]:
    """A fair lock whose contenders contend in another way."""
    return variant(FairLock, contest=contest)


def with_validity(validity: type[SessionValidity]) -> type[ValidityLock]:
    """A validity lock that computes its window in another way."""
    return variant(ValidityLock, contest=variant(ValidContest, _validity_class=validity))


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
    **contest_mutants(with_contest, "persistent-node", "keeps-place", "sorts-by-name"),
    **contest_mutants(with_contest, "denies-release"),
    **answer_mutants(partial(variant, FairLock), "releases-nothing", "enters-what-was-lost"),
    "no-recheck": mutant(
        with_contest(faulty_contests.NoRecheck),
        "takes the lock when the next lower node vanishes, without looking whether it is first: "
        "that node may have been a waiter's that gave up or died",
        {"split-brain"},
    ),
    "watch-first": mutant(
        with_contest(variant(faulty_contests.NoRecheck, faulty_contests.WatchesFirst)),
        "all waiters watch the first node, and each takes the lock when it vanishes, without "
        "looking whether it is first",
        {"herd", "split-brain"},
    ),
    "release-by-path": mutant(
        variant(UnfairLock, contest=faulty_contests.ReleaseByPath),
        "release deletes the node by its path, whoever created it: a holder whose session has "
        "expired deletes the node of the next holder",
        {"split-brain"},
        printed="G 7",
    ),
    "no-lookup": mutant(
        with_contest(faulty_contests.NoLookup),
        "does not look for its node after a lost reply: it creates a second one and waits behind "
        "the first, which nobody removes while its session lives",
        {"deadlock", "orphan-node"},
        printed="L 3.5",
    ),
    "refuses-reentry": mutant(
        variant(FairLock, faulty_locks.WaitsForItself),
        WAITS_FOR_ITSELF,
        {"refused-reentry"},
    ),
    "reentrant-by-client": mutant(
        variant(FairLock, faulty_locks.ByClient),
        "re-entrance is by client and not by thread: any other thread of the holder's client walks "
        "in",
        {"split-brain"},
        options=("--usage", "threads=0.3"),
    ),
    **contender_mutants(partial(variant, FairLock), "never-held", "believes-until-lost"),
    "countdown": mutant(
        with_validity(faulty_locks.Countdown),
        "a thread counts down what is left of the window: it does not count while its process is "
        "frozen",
        {"stale-belief"},
    ),
    "counts-from-now": mutant(
        with_validity(faulty_locks.WhileConnected),
        "counts the whole session timeout from now as long as the client says that it is "
        "connected: the client of a process that was frozen says so at first",
        {"stale-belief"},
    ),
    "local-counter": mutant(
        faulty_locks.LocalCounterLock,
        "the token counts this client's own grants, and no other client's",
        {"token-regression"},
    ),
    "memory-fence": mutant(
        variant(FencedLock, _fence_class=faulty_locks.MemoryOfOne),
        "the fence compares a token only with the highest one that the same client has written: "
        "it does not see other clients' tokens",
        {"stale-action"},
    ),
    "look-then-write": mutant(
        variant(FencedLock, _fence_class=faulty_locks.LookThenWrite),
        "compares each token once, before its first write, and then writes without a version "
        "check: a higher token may have been written since",
        {"stale-action"},
    ),
    "refuses-equal": mutant(
        variant(FencedLock, _fence_class=faulty_locks.AlsoEqual),
        "the fence compares with <= in place of <: it refuses a holder's second write",
        {"refused-sequencer"},
    ),
    "delay-after-release": mutant(
        variant(DelayedLock, contest=faulty_locks.AfterRelease),
        "release removes its node and leaves the mark: waiters take every release for a failure",
        {"stuck-waiter"},
    ),
    "delay-since-taken": mutant(
        variant(DelayedLock, contest=faulty_locks.SinceTaken),
        "counts the delay from when the lock was taken, not from when its holder was seen to have "
        "failed",
        {"early-grant"},
    ),
    "verified-by-path": mutant(
        variant(SequencerLock, verifier=faulty_locks.ByPath),
        "verifies only the lock's path: a sequencer counts as valid while anybody holds the lock",
        {"stale-sequencer"},
    ),
    "verified-once": mutant(
        variant(SequencerLock, verifier=faulty_locks.Remembering),
        "asks the servers once for each sequencer, and repeats that answer",
        {"stale-sequencer"},
    ),
    "trusts-its-map": mutant(
        published_locks.TrustsItsMapLock,
        "a thread that is in the client's map of holders is granted the lock again, and believes, "
        "although its session may have ended",
        {"unaware-holder"},
        printed="C internalLock",
    ),
    "watches-parent": mutant(
        published_locks.WatchesParentLock,
        "all waiters watch the parent's children: every release wakes all of them, and so does "
        "every other lock with a node there",
        {"herd"},
        printed="C temporary node",
    ),
}
