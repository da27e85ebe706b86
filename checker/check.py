"""How a check is declared: a function of the timeline, and beside it what it can find.

For example::

    EARLY_ENTRY = Kind("early-entry", "a client passed a barrier that was not open yet")

    @check("latches", finds=[EARLY_ENTRY], least=[Least(5, "held_up", "waiters held up")])
    def check_entries(timeline: Timeline) -> CheckResult:
        ...
        return CheckResult(name="latches", anomalies=found, stats={"held_up": held_up})

Where nothing is counted, a function that yields anomalies is enough.

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

PACKAGES: Final = ("every_run", "server_promises", "exclusion", "families", "znodes")
"""Folders of ``rumpus.checker`` whose modules declare checks."""


@dataclass(frozen=True)
class Least:
    """What must have happened at least for a check to mean anything.

    Args:
        number: the least count.
        stat: the count's name among the check's ``stats``. Nothing is needed if its value is None
            (unknown), or if the check does not apply.
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
        unless: names of checks; if one of them has found any anomaly this one is left out: what it
            would say is the same, or explained by that.
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
        name = declared.name or getattr(function, "__name__", "check").strip("_")
        result = CheckResult(name=name, anomalies=list(found))
    result.kinds = {**{kind.name: kind for kind in declared.finds}, **result.kinds}
    return result


@cache
def declared_checks() -> list[Declaration]:
    """Every check of rumpus. All modules of checks are imported."""
    found: dict[int, Declaration] = {}
    for package in PACKAGES:
        for path in sorted((Path(__file__).parent / package).glob("*.py")):
            # `__import__` and not `importlib`: a simulated process has its own copies of modules.
            module = __import__(f"rumpus.checker.{package}.{path.stem}", fromlist=["declared"])
            for value in vars(module).values():
                declared = getattr(value, "declared", None)
                if isinstance(declared, Declaration):
                    found[id(declared)] = declared
    return list(found.values())


@cache
def all_kinds() -> dict[str, Kind]:
    """Every kind of anomaly that a check of rumpus can find, by name.

    Raises:
        ValueError: two checks mean different things by one name.
    """
    found: dict[str, Kind] = {}
    for kind in (kind for declared in declared_checks() for kind in declared.finds):
        if found.setdefault(kind.name, kind) != kind:
            raise ValueError(f"two checks mean different things by {kind.name}")
    return found
