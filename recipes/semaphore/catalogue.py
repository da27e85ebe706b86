"""Semaphores."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contests
from rumpus.recipes.contests.common_mutants import (
    answer_mutants,
    contender_mutants,
    contest_mutants,
)
from rumpus.recipes.semaphore import faulty_semaphores
from rumpus.recipes.semaphore.contest_semaphore import Semaphore, SemaphoreContest
from rumpus.recipes.semaphore.kazoo_bare_semaphore import KazooBareSemaphore
from rumpus.recipes.semaphore.kazoo_multi_lease import KazooMultiLease
from rumpus.recipes.semaphore.kazoo_semaphore import KazooSemaphore


def with_contest(contest: type[SemaphoreContest]) -> type[Semaphore]:
    """A semaphore whose contenders contend in another way."""
    return variant(Semaphore, contest=contest)


SEMAPHORES: Final[Mapping[str, CatalogueEntry[Semaphore]]] = {
    "fair": sound(Semaphore),
    "kazoo": sound(KazooSemaphore),
    "kazoo-bare": sound(KazooBareSemaphore),
    "kazoo-multi-lease": sound(KazooMultiLease),
    "counts-all": mutant(
        with_contest(faulty_semaphores.CountsAll),
        "counts the nodes instead of looking at its place among them: with more contenders than "
        "permits all wait for each other, although permits are free",
        {"herd", "stuck-waiter"},
    ),
    "counts-first": mutant(
        with_contest(faulty_semaphores.CountsFirst),
        "counts the leases and creates its own if there are few enough: clients that count at the "
        "same time all do so",
        {"double-grant", "split-brain"},
    ),
    "watches-one": mutant(
        with_contest(faulty_semaphores.WatchesOne),
        "watches only the node that is as many places ahead as there are permits, as Curator's "
        "lock with several leases did: it gets no event when another holder releases",
        {"stuck-waiter"},
        printed="C getsTheLock",
    ),
    "no-lookup": mutant(
        with_contest(variant(SemaphoreContest, faulty_contests.NoLookup)),
        "does not look for its node after a lost reply: it creates a second one, and the first one "
        "takes up a permit while its session lives",
        {"deadlock", "orphan-node"},
    ),
    "release-by-place": mutant(
        with_contest(faulty_semaphores.ReleaseByPlace),
        "release removes the first node in the queue as if it were its own: with several permits "
        "it may be another holder's",
        {"deadlock", "orphan-node"},
    ),
    **contest_mutants(
        lambda mistake: with_contest(variant(SemaphoreContest, mistake)),
        "sorts-by-name",
        "denies-release",
    ),
    **answer_mutants(partial(variant, Semaphore), "releases-nothing"),
    **contender_mutants(
        partial(variant, Semaphore), "believes-for-good", "never-held", "believes-until-lost"
    ),
}
