"""Mutants that the catalogues of all contests have, with the same mistakes in the same words."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant
from rumpus.recipes.contests import faulty_contenders

Kind = TypeVar("Kind")

SORTS_BY_NAME: Final = (
    "sorts the nodes by their whole names, which begin with a random mark, not by their "
    "sequence numbers"
)

WAITS_FOR_ITSELF: Final = (
    "a thread that holds the lock and asks for it again waits until its timeout, for itself"
)


def wrong_timeouts(
    recipe_with: Callable[[type[Any]], type[Kind]],
) -> dict[str, CatalogueEntry[Kind]]:
    """Mutants whose ``acquire`` does not respect its timeout.

    Args:
        recipe_with: given a class of ``faulty_contenders``, makes the recipe with that mistake.
    """
    return {
        "ignores-timeout": mutant(
            recipe_with(faulty_contenders.IgnoresTimeout),
            "acquire takes a timeout and waits for ever",
            {"overdue-call"},
        ),
        "halves-timeout": mutant(
            recipe_with(faulty_contenders.HalvesTimeout),
            "acquire gives up after half of its timeout",
            {"early-timeout"},
        ),
    }
