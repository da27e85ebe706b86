"""How a check is declared: a function of the timeline, and beside it what it can find.

For example::

    EARLY_ENTRY = Kind("early-entry", "a client passed a barrier that was not open yet")

    @check("latches", finds=[EARLY_ENTRY], least=[Least(5, "held_up", "waiters held up")])
    def check_entries(timeline: Timeline) -> Iterator[Anomaly]:
        ...

Verdicts, ``rumpus list``, the pages of promises and ``results.json`` follow from the declaration.
A workload names its checks in ``checks``. Where one takes more arguments than the timeline, they
are given with ``functools.partial``.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar

from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

Check = Callable[[Timeline], CheckResult | Iterable[Anomaly] | None]
"""What a workload names: a function that gives what it finds, or None if it does not apply."""

Made = TypeVar("Made", bound=Callable[..., CheckResult | Iterable[Anomaly] | None])

PACKAGES: Final = ("every_run", "exclusion", "families", "znodes")
"""Folders of ``rumpus.checker`` whose modules declare checks."""


@dataclass(frozen=True)
class Least:
    """What must have happened at least for a check to mean anything.

    Args:
        number: the least count.
        stat: the count's name among the check's ``stats``; no need if its value is None (unknown).
        what: what the counted things are called in the report.
    """

    number: int
    stat: str
    what: str


@dataclass(frozen=True)
class Declaration:
    """What is known of a check besides its function; see ``check``."""

    name: str
    finds: Sequence[Kind]
    least: Sequence[Least] = ()
    unless: Sequence[str] = ()


_OF_NOBODY: Final = Declaration("", ())


def check(
    name: str,
    *,
    finds: Sequence[Kind],
    least: Sequence[Least] = (),
    unless: Sequence[str] = (),
) -> Callable[[Made], Made]:
    """Declare a check; the function stays what it is.

    Args:
        name: its name in results.
        finds: the kinds of anomaly that it can find.
        least: what must have happened, or the run is inconclusive.
        unless: names of checks; if one of them has found an anomaly this one is left out, because
            it would only say the same again.
    """

    def declare(function: Made) -> Made:
        function.__dict__["declared"] = Declaration(name, tuple(finds), tuple(least), tuple(unless))
        return function

    return declare


def declaration(function: Callable[..., Any]) -> Declaration:
    """A check's declaration; an empty one if it has none."""
    while isinstance(function, partial):
        function = function.func
    found: Declaration = getattr(function, "declared", _OF_NOBODY)
    return found


def perform(
    function: Check, timeline: Timeline, before: Sequence[CheckResult]
) -> CheckResult | None:
    """What a check finds; None if it does not apply.

    Args:
        function: the check.
        timeline: the run.
        before: what the checks before it have found.
    """
    declared = declaration(function)
    if any(each.anomalies for each in before if each.name in declared.unless):
        return None
    found = function(timeline)
    if found is None:
        return None
    if isinstance(found, CheckResult):
        result = found
    else:
        result = CheckResult(name=declared.name, anomalies=list(found))
    result.kinds = {**{kind.name: kind for kind in declared.finds}, **result.kinds}
    return result


@cache
def declared_checks() -> dict[str, Declaration]:
    """Every check of rumpus by its name. All modules of checks are imported."""
    found = {}
    for package in PACKAGES:
        for path in sorted((Path(__file__).parent / package).glob("*.py")):
            # `__import__` and not `importlib`: a simulated process has its own copies of modules.
            module = __import__(f"rumpus.checker.{package}.{path.stem}", fromlist=["declared"])
            for value in vars(module).values():
                declared = getattr(value, "declared", None)
                if isinstance(declared, Declaration):
                    found[declared.name] = declared
    return found


@cache
def all_kinds() -> dict[str, Kind]:
    """Every kind of anomaly that a check of rumpus can find, by name."""
    return {kind.name: kind for declared in declared_checks().values() for kind in declared.finds}
