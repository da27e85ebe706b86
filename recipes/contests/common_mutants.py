"""Mutants that several catalogues have, with the same names, mistakes and expected anomalies."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, variant
from rumpus.recipes.contests import faulty_contenders, faulty_contests
from rumpus.recipes.contests.faulty_calls import DeafCall, EndlessCall, HastyCall

Kind = TypeVar("Kind")

IGNORES_TIMEOUT: Final = "ignores its timeout and waits for ever"

RESTS_AFTER_TIMEOUT: Final = "rests for some seconds before it tells that it got no answer in time"

HALVES_TIMEOUT: Final = "gives up after half of its timeout"

WAITS_FOR_ITSELF: Final = (
    "a thread that holds the lock and acquires it again waits for itself, until its timeout"
)

FIRST_SESSION: Final = (
    "uses the client's first session only: once that has expired every call fails, although the "
    "client has a new session"
)


class Mistake(NamedTuple):
    """A faulty class, its mistake in words, and the anomalies by which it is detected."""

    faulty: type[Any]
    mistake: str
    expected: set[str]


_CONTEST_MISTAKES: Final[Mapping[str, Mistake]] = {
    "persistent-node": Mistake(
        faulty_contests.PersistentNode,
        "the contender's node is persistent: it outlives its session",
        {"deadlock", "orphan-node"},
    ),
    "keeps-place": Mistake(
        faulty_contests.KeepsPlace,
        "a contender whose session ended creates its node again under the old name, to keep its "
        "place in the queue, although others have been granted it meanwhile",
        {"double-grant"},
    ),
    "sorts-by-name": Mistake(
        faulty_contests.SortsByName,
        "sorts the nodes by their whole names, which begin with a random mark, not by their "
        "sequence numbers",
        {"split-brain", "unfair-grant"},
    ),
    "denies-release": Mistake(
        faulty_contests.DeniesRelease,
        "a release says that nothing was held, although it has just removed the node",
        {"false-release"},
    ),
    "first-session-only": Mistake(
        faulty_contests.FirstSessionOnly,
        "contends in the client's first session only: once that is lost it never contends again, "
        "although the client has a new session",
        {"stuck-waiter"},
    ),
    "watches-first": Mistake(
        faulty_contests.WatchesFirst,
        "every waiter watches the first node in the queue instead of the next lower one: each "
        "release wakes all waiters",
        {"herd"},
    ),
}

_CONTENDER_MISTAKES: Final[Mapping[str, Mistake]] = {
    "believes-for-good": Mistake(
        faulty_contenders.BelievesForGood,
        "held stays true while the connection is suspended and after the session is lost",
        {"unaware-holder"},
    ),
    "believes-until-lost": Mistake(
        faulty_contenders.BelievesUntilLost,
        "held stays true while the connection is suspended, until the session is lost",
        {"disconnected-belief"},
    ),
    "never-held": Mistake(
        faulty_contenders.NeverBelieves,
        "held is always false: a client that was granted it does nothing with it",
        {"unbelieving-holder"},
    ),
}

_ANSWER_MISTAKES: Final[Mapping[str, Mistake]] = {
    "releases-nothing": Mistake(
        faulty_contenders.ReleasesNothing,
        "a release of what was lost, or was never granted, says nothing of it",
        {"unheld-release"},
    ),
    "enters-what-was-lost": Mistake(
        faulty_contenders.EntersWhatWasLost,
        "who was granted it enters again, although the session has ended since",
        {"false-reentry"},
    ),
}


def contest_mutants(
    recipe_with: Callable[[type[Any]], type[Kind]], *names: str
) -> dict[str, CatalogueEntry[Kind]]:
    """Mutants of a recipe whose contest has a mistake.

    Args:
        recipe_with: given a class of ``faulty_contests``, makes the recipe with that contest.
        names: which mutants.

    Raises:
        KeyError: there is no mutant of that name.
    """
    return _mutants(_CONTEST_MISTAKES, recipe_with, names)


def contender_mutants(
    recipe_with: Callable[[type[Any]], type[Kind]], *names: str
) -> dict[str, CatalogueEntry[Kind]]:
    """Mutants of a recipe with an ``acquire``: those named, and those with a wrong timeout.

    Args:
        recipe_with: given a class of ``faulty_contenders``, makes the recipe with that mistake.
        names: which mutants besides.

    Raises:
        KeyError: there is no mutant of that name.
    """
    return _mutants(_CONTENDER_MISTAKES, recipe_with, names) | wrong_timeouts(
        recipe_with(faulty_contenders.IgnoresTimeout), recipe_with(faulty_contenders.HalvesTimeout)
    )


def answer_mutants(
    recipe_with: Callable[[type[Any]], type[Kind]], *names: str
) -> dict[str, CatalogueEntry[Kind]]:
    """Mutants of a recipe that answers wrongly what was held; arguments as for the others."""
    return _mutants(_ANSWER_MISTAKES, recipe_with, names)


def call_mutants(recipe: type[Kind]) -> dict[str, CatalogueEntry[Kind]]:
    """Mutants of a recipe that waits in a ``RetryingCall``, its ``_call_class``."""
    deaf = mutant(
        variant(recipe, _call_class=DeafCall),
        "waits for the event of its watch and does not read again after a reconnect, although "
        "kazoo drops watches with their connection: the event never comes",
        {"stuck-waiter"},
    )
    return {"sleeps-through": deaf} | wrong_timeouts(
        variant(recipe, _call_class=EndlessCall), variant(recipe, _call_class=HastyCall)
    )


def wrong_timeouts(ignores: type[Kind], halves: type[Kind]) -> dict[str, CatalogueEntry[Kind]]:
    """Mutants that do not keep to the timeout of their waiting calls.

    Args:
        ignores: waits for ever.
        halves: gives up after half of the timeout.
    """
    return {
        "ignores-timeout": mutant(ignores, IGNORES_TIMEOUT, {"overdue-call"}),
        "halves-timeout": mutant(halves, HALVES_TIMEOUT, {"early-timeout"}),
    }


def _mutants(
    mistakes: Mapping[str, Mistake],
    recipe_with: Callable[[type[Any]], type[Kind]],
    names: tuple[str, ...],
) -> dict[str, CatalogueEntry[Kind]]:
    return {
        name: mutant(recipe_with(faulty), mistake, expected)
        for name in names
        for faulty, mistake, expected in [mistakes[name]]
    }
