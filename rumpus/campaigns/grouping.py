"""Groups failures that are one, and says why."""

from collections.abc import Mapping
from typing import Final

import msgspec

from rumpus.campaigns.rulings import Rulings
from rumpus.campaigns.triage import Traced
from rumpus.results.fingerprint import Fingerprint
from rumpus.results.likeness import likeness
from rumpus.results.traits import Traits

UNKNOWN: Final = {
    "stays": "it is there with all changes",
    "rare": "too few runs show it",
    "not reproduced": "its own run does not show it any more",
    "unknown": "its own run cannot be judged",
    "unperformed": "its own run cannot be performed",
    "untried": "no change could be tried",
}
"""State of a failure whose cause is not known -> why not."""


class Group(msgspec.Struct, kw_only=True):
    """Failures that are one.

    Attributes:
        cause: the change that removes them; empty if none is known.
        cases: their names.
        why: for each of them why it is here.
    """

    cause: str
    cases: list[str] = msgspec.field(default_factory=list)
    why: list[str] = msgspec.field(default_factory=list)

    def add(self, case: str, why: str) -> None:
        """Add a failure."""
        self.cases.append(case)
        self.why.append(why)


def grouped(
    failures: Mapping[str, tuple[Fingerprint, Traced]], rulings: Rulings | None = None
) -> list[Group]:
    """Failures that are one, together: by a ruling, else by the change, else by how they look.

    One whose cause is not known is with those that are alike in its signs, or have the same kind,
    operations and faults, and whose cause is not known either.

    Args:
        failures: name of a case -> its fingerprint, and what is known of its cause.
        rulings: what a person has decided.
    """
    rulings = rulings or Rulings()
    found: dict[object, Group] = {}
    unknown: dict[Fingerprint, Traits | None] = {}
    for name, (fingerprint, traced) in failures.items():
        one = next((each for each in rulings.one if name in each.cases), None)
        apart = next((each for each in rulings.apart if name in each.cases), None)
        key: object
        if one is not None:
            key, cause, why = one, _best(traced)[0], f"one with others by a ruling: {one.why}"
        elif apart is not None:
            key, cause, why = name, _best(traced)[0], f"apart from others by a ruling: {apart.why}"
        elif traced.causes:
            cause, why = _best(traced)
            key = ("change", cause)
        else:
            like = _like(unknown, traced.traits)
            key, cause, why = fingerprint, "", f"{UNKNOWN[traced.state]}; it is a {fingerprint}"
            if fingerprint not in unknown and like is not None:
                key, why = like[0], f"{why}, like {like[0]}: {like[1]}"
            unknown.setdefault(key, traced.traits)
        group = found.setdefault(key, Group(cause=cause))
        group.cause = group.cause or cause
        group.add(name, why)
    return list(found.values())


def _like(
    unknown: Mapping[Fingerprint, Traits | None], traits: Traits | None
) -> tuple[Fingerprint, str] | None:
    """The failure that is most like one in the signs of its cause, and why; None if none is."""
    if traits is None:
        return None
    alike = [(likeness(each, traits), name) for name, each in unknown.items() if each is not None]
    best, name = max(alike, key=lambda each: each[0].odds, default=(None, None))
    return (name, best.why) if best is not None and name is not None and best.one else None


def _best(traced: Traced) -> tuple[str, str]:
    """The likeliest cause, and why; empty if none is known."""
    if not traced.causes:
        return "", ""
    best, *others = traced.causes
    more = f"; it could also be {', '.join(each.change for each in others)}" if others else ""
    return best.change, f"{best}{more}"
