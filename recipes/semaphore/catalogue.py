"""Semaphores."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contenders, faulty_contests
from rumpus.recipes.contests.common_mutants import SORTS_BY_NAME, wrong_timeouts
from rumpus.recipes.semaphore import faulty_semaphores
from rumpus.recipes.semaphore.contest_semaphore import Semaphore, SemaphoreContest
from rumpus.recipes.semaphore.kazoo_semaphore import KazooSemaphore

SEMAPHORES: Final[Mapping[str, CatalogueEntry[Semaphore]]] = {
    "fair": sound(Semaphore),
    "kazoo": sound(KazooSemaphore),
    "counts-all": mutant(
        variant(Semaphore, contest=faulty_semaphores.CountsAll),
        "counts the nodes instead of looking at its place among them: with more who want in than "
        "may, all wait for each other, though permits are free",
        {"herd", "stuck-waiter"},
    ),
    "counts-first": mutant(
        variant(Semaphore, contest=faulty_semaphores.CountsFirst),
        "counts the leases and creates its own if there are few enough: others who have counted "
        "at the same time do so too",
        {"double-grant", "split-brain"},
    ),
    "watches-one": mutant(
        variant(Semaphore, contest=faulty_semaphores.WatchesOne),
        "watches only the node that is as many places ahead as there are permits (as Curator's "
        "lock with several leases did): when another holder goes it is not told",
        {"stuck-waiter"},
        printed="C getsTheLock",
    ),
    "no-lookup": mutant(
        variant(Semaphore, contest=variant(SemaphoreContest, faulty_contests.NoLookup)),
        "does not look for its node after a lost reply: it creates a second one, and the first "
        "keeps a permit while its session lives",
        {"deadlock", "orphan-node"},
    ),
    "release-by-place": mutant(
        variant(Semaphore, contest=faulty_semaphores.ReleaseByPlace),
        "release removes the first node in line, taking it for its own: with several permits the "
        "holder who lets go need not be the first who came",
        {"deadlock", "orphan-node"},
    ),
    "sorts-by-name": mutant(
        variant(Semaphore, contest=variant(SemaphoreContest, faulty_contests.SortsByName)),
        SORTS_BY_NAME,
        {"split-brain", "unfair-grant"},
    ),
    "believes-for-good": mutant(
        variant(Semaphore, faulty_contenders.BelievesForGood),
        "goes on believing that it holds while suspended, and after LOST",
        {"unaware-holder"},
    ),
    "never-held": mutant(
        variant(Semaphore, faulty_contenders.NeverBelieves),
        "held is always false: a holder does nothing with its permit",
        {"unbelieving-holder"},
    ),
    **wrong_timeouts(partial(variant, Semaphore)),
}
