"""Partitioners."""

from collections.abc import Mapping
from typing import Any, Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.common_mutants import (
    HALVES_TIMEOUT,
    RESTS_AFTER_TIMEOUT,
    contest_mutants,
)
from rumpus.recipes.contests.faulty_contenders import HalvesTimeout
from rumpus.recipes.partitioner import faulty_partitioners
from rumpus.recipes.partitioner.kazoo_partitioner import KazooPartitioner
from rumpus.recipes.partitioner.member_partitioner import Partitioner

PARTITIONERS: Final[Mapping[str, CatalogueEntry[Any]]] = {
    "partitioner": sound(Partitioner),
    "kazoo": sound(KazooPartitioner),
    "no-lock": mutant(
        variant(Partitioner, _contest=faulty_partitioners.NoLine),
        "takes the parts that its list of members gives it at once, although the list may be stale "
        "and their former owners have not released them yet",
        {"shared-partition"},
    ),
    "evicting": mutant(
        variant(Partitioner, _contest=faulty_partitioners.Evicting),
        "deletes the former owner's lock node instead of waiting for it: the former owner goes on",
        {"shared-partition"},
    ),
    "unnoticed-change": mutant(
        faulty_partitioners.UnnoticedChangePartitioner,
        "reads the members only when it acquires: it keeps parts that belong to new members now, "
        "which wait for ever",
        {"stuck-waiter"},
    ),
    **contest_mutants(lambda contest: variant(Partitioner, _contest=contest), "persistent-node"),
    "counts-shares": mutant(
        faulty_partitioners.CountsSharesPartitioner,
        "a part's token counts how often this member has acquired",
        {"token-regression"},
    ),
    "believes-for-good": mutant(
        faulty_partitioners.BelievesForGoodPartitioner,
        "held stays true while the connection is suspended and after the session is lost",
        {"unaware-holder", "disconnected-belief"},
    ),
    "never-held": mutant(
        faulty_partitioners.NeverHeldPartitioner,
        "held is always false: a member does nothing with its parts",
        {"unbelieving-holder"},
    ),
    "gives-up": mutant(
        faulty_partitioners.GivesUpPartitioner,
        "acquire returns true when its time is up, although other members have not released some "
        "of its parts yet",
        {"partial-share"},
    ),
    "halves-timeout": mutant(
        variant(Partitioner, HalvesTimeout), HALVES_TIMEOUT, {"early-timeout"}
    ),
    "rests-after-timeout": mutant(
        faulty_partitioners.RestsAfterTimeoutPartitioner, RESTS_AFTER_TIMEOUT, {"overdue-call"}
    ),
    "hasty": mutant(
        faulty_partitioners.HastyKazooPartitioner,
        "kazoo's partitioner with a time boundary of 0: it shares out the set anew at each change, "
        "and not only when the members are stable",
        {"hasty-share"},
    ),
    "stays-listed": mutant(
        faulty_partitioners.StaysListedPartitioner,
        "releases its parts when it leaves, but stays on the list of members: nobody takes the "
        "parts that belong to it",
        {"unowned-partition"},
    ),
}
