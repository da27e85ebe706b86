"""Partitioners."""

from collections.abc import Mapping
from typing import Any, Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contests
from rumpus.recipes.contests.faulty_contenders import HalvesTimeout
from rumpus.recipes.partitioner import faulty_partitioners
from rumpus.recipes.partitioner.kazoo_partitioner import KazooPartitioner
from rumpus.recipes.partitioner.member_partitioner import Partitioner

PARTITIONERS: Final[Mapping[str, CatalogueEntry[Any]]] = {
    "partitioner": sound(Partitioner),
    "kazoo": sound(KazooPartitioner),
    "no-lock": mutant(
        variant(Partitioner, _contest=faulty_partitioners.NoLine),
        "takes the share that its list of members gives it at once, although the list may be "
        "stale and others have not let go yet",
        {"shared-partition"},
    ),
    "evicting": mutant(
        variant(Partitioner, _contest=faulty_partitioners.Evicting),
        "removes the lock of the former owner instead of waiting for it: the owner goes on",
        {"shared-partition"},
    ),
    "unnoticed-change": mutant(
        faulty_partitioners.UnnoticedChangePartitioner,
        "looks at the members when it takes its share and never while it holds it: what is no "
        "longer its own is kept, and whoever came later waits for ever",
        {"stuck-waiter"},
    ),
    "persistent-node": mutant(
        variant(Partitioner, _contest=faulty_contests.PersistentNode),
        "the locks of the parts are persistent: they outlive their owners",
        {"deadlock", "orphan-node"},
    ),
    "counts-shares": mutant(
        faulty_partitioners.CountsSharesPartitioner,
        "a part's token is how often this member has taken a share",
        {"token-regression"},
    ),
    "believes-for-good": mutant(
        faulty_partitioners.BelievesForGoodPartitioner,
        "goes on believing that it owns its share while suspended, and after LOST",
        {"unaware-holder"},
    ),
    "never-held": mutant(
        faulty_partitioners.NeverHeldPartitioner,
        "held is always false: a member does nothing with its share",
        {"unbelieving-holder"},
    ),
    "gives-up": mutant(
        faulty_partitioners.GivesUpPartitioner,
        "acquire says that the share is complete when its time is up, though others have not let "
        "go of parts of it",
        {"partial-share"},
    ),
    "halves-timeout": mutant(
        variant(Partitioner, HalvesTimeout),
        "acquire gives up after half of its timeout",
        {"early-timeout"},
    ),
    "stays-listed": mutant(
        faulty_partitioners.StaysListedPartitioner,
        "lets go of its share when it leaves, and stays on the list of members: nobody takes "
        "what it would get",
        {"unowned-partition"},
    ),
}
