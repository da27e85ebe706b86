"""Promises by short names, as ``--promise`` and a recipe's attribute ``promises`` take them."""

from collections.abc import Collection
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Final

from rumpus.checker.check import all_kinds
from rumpus.checker.nearest_name import nearest
from rumpus.recipes.promises import ANSWERS, EXCLUSION, HOLDING, LIVENESS, Promises

UNAVOIDABLE: Final = frozenset({"stale-belief", "stale-action", "fenced"})
"""What no lock without a validity window or a fence can prevent."""


def of_recipes() -> list[str]:
    """The kinds of anomaly of which a recipe can promise anything."""
    return [name for name, kind in all_kinds().items() if kind.about == "recipe"]


def everything() -> Promises:
    """Whatever can be prevented at all."""
    return Promises(
        prevents=frozenset(of_recipes()) - UNAVOIDABLE,
        notes="It does not say what it promises: whatever can be prevented at all is judged.",
    )


def common(all_promises: Collection[Promises]) -> Promises:
    """What all of these promise; ``everything`` if there are none."""
    if not all_promises:
        return everything()
    return Promises(
        prevents=reduce(and_, (each.prevents for each in all_promises)),
        notes="It does not say what it promises: what all recipes of its family promise is judged.",
    )


NAMES: Final[dict[str, frozenset[str]]] = {
    "exclusion": EXCLUSION,
    "liveness": LIVENESS,
    "fifo": frozenset({"unfair-grant"}),
    "no-herd": frozenset({"herd"}),
    "tokens": frozenset({"token-regression"}),
    "reentrant": frozenset({"refused-reentry", "false-reentry"}),
    "timeouts": frozenset({"early-timeout", "overdue-call"}),
    "answers": ANSWERS,
    "belief": HOLDING - {"early-timeout", "overdue-call"} | {"unaware-holder"},
    "validity": frozenset({"stale-belief"}),
}
"""Name -> the anomalies that are promised never to happen. Names of anomalies are names, too."""


def with_names(
    usual: Promises, names: Collection[str], kinds: Collection[str] = frozenset()
) -> Promises:
    """These promises and the named ones.

    Args:
        usual: these.
        names: those.
        kinds: the kinds of anomaly that there are besides those of rumpus.

    Raises:
        ValueError: there is no such promise.
    """
    prevents: set[str] = set(usual.prevents)
    known = [*sorted(kinds), *of_recipes()]
    for name in names:
        if name not in NAMES and name not in known:
            raise ValueError(
                f"unknown promise {name!r}; did you mean {near}?"
                if (near := nearest(name, [*NAMES, *known]))
                else f"unknown promise {name!r}; there are {', '.join(NAMES)}, and every kind of "
                "anomaly that a recipe can prevent (`rumpus list`) or that your own workload "
                "declares (`anomalies`)"
            )
        prevents |= NAMES.get(name, {name})
    return replace(
        usual,
        prevents=frozenset(prevents),
        wakeups=1 if "herd" in prevents else usual.wakeups,
        tokens=usual.tokens or "token-regression" in prevents,
        reentrant=usual.reentrant or "refused-reentry" in prevents,
    )
