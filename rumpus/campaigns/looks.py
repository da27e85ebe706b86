"""The ways in which a flaw shows, and whether a failure of a run shows one that is known."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from rumpus.results.fingerprint import Fingerprint
from rumpus.results.likeness import likeness
from rumpus.results.traits import Traits

MOST_LOOKS: Final = 12
"""Of more looks of one failure the later ones are counted, and not kept."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A broken promise of a run.

    Attributes:
        seed: the run's.
        fingerprint: of the anomaly, before it is shrunk.
        kinds: the kinds of fault of the run, each once.
        traits: the signs of its cause; None if they are not known.
    """

    seed: int
    fingerprint: Fingerprint
    kinds: tuple[str, ...]
    traits: Traits | None = None


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which a flaw shows.

    Attributes:
        fingerprint: of the first failure that looks like this, before it is shrunk.
        why: why it was taken for one that was known, in words; empty for the first look.
        traits: its signs; None if they are not known.
    """

    fingerprint: Fingerprint
    why: str = ""
    traits: Traits | None = None


class Taken(NamedTuple):
    """That a failure is taken for a known one: how likely that is, and why in words."""

    odds: float
    why: str


def taken_for(looks: Sequence[Look], failure: Failure) -> Taken | None:
    """Whether a failure has the same cause as one with these looks, by the signs; None if not.

    Args:
        looks: of the known failure.
        failure: of a run of the same recipe.
    """
    if failure.traits is None:
        return None
    alike = [
        (likeness(look.traits, failure.traits), look) for look in looks if look.traits is not None
    ]
    if not alike:
        return None
    best, look = max(alike, key=lambda each: each[0].odds)
    return Taken(best.odds, f"like {look.fingerprint}: {best.why}") if best.one else None


def look_of(fingerprint: Fingerprint) -> str:
    """A fingerprint as ``Traits.calls_of`` names it."""
    return f"{fingerprint.kind} of {', '.join(fingerprint.operations)}"


def beside(failure: Failure) -> Iterator[tuple[str, str]]:
    """What its run has shown by the same call, then what about the same znode; and why in words.

    Two clients that hang at different lines may wait for one znode. So of the same znode only
    anomalies of different kinds belong together.
    """
    if failure.traits is not None:
        for look in failure.traits.calls_of:
            yield look, f"the same call shows {look}"
        for look in failure.traits.znodes_of:
            if not look.startswith(f"{failure.fingerprint.kind} of "):
                yield look, f"in one run about the same znode as {look}"


def with_look(looks: tuple[Look, ...], failure: Failure, why: str) -> tuple[Look, ...]:
    """The looks of a failure, with that of one that was taken for it if it is a new one."""
    known = any(look.fingerprint == failure.fingerprint for look in looks)
    if known or len(looks) >= MOST_LOOKS:
        return looks
    return (*looks, Look(fingerprint=failure.fingerprint, why=why, traits=failure.traits))


def looks_of_both(
    one: tuple[Look, ...], other: tuple[Look, ...], why: str = ""
) -> tuple[Look, ...]:
    """The looks of two failures that have turned out to be one, and why they have."""
    known = {look.fingerprint for look in one}
    new = (
        msgspec.structs.replace(look, why=look.why or why)
        for look in other
        if look.fingerprint not in known
    )
    return (*one, *new)[:MOST_LOOKS]


def explains(known: Fingerprint, failure: Failure) -> bool:
    """Whether a known failure explains one of a run: same anomaly, and its faults were there.

    Args:
        known: the failure that is known, with the faults that it needs.
        failure: of a run.
    """
    return known.resembles(failure.fingerprint) and set(known.faults) <= set(failure.kinds)
