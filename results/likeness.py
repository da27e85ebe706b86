"""How likely two failures have one cause, by the signs of it that their runs show.

Each sign is a set of words, and two failures are as alike in it as these sets are: the share of
words that both have (P. Jaccard, The distribution of the flora in the alpine zone, 1912). The
weights say how much more frequent that is between failures of one cause than between others, as
logarithms of odds (I. P. Fellegi, A. B. Sunter, A Theory for Record Linkage, 1969). They were
estimated on failures whose cause is known, of which a third was held out:
``python -m benchmarks.fingerprints`` estimates them again, and measures what comes of them.

The faults have no weight: nearly all flaws are shown by several.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from rumpus.results.traits import Traits

MOST_REASONS: Final = 3
"""How many signs are named."""

MOST_WORDS: Final = 2
"""How many words are told of a sign."""

_NEITHER: Final = 0.5
"""How alike two failures are in a sign that neither has."""


class Sign(NamedTuple):
    """What is compared.

    Attributes:
        said: what a failure has in it, in words.
        words: the set of words of a failure.
        weight: in the logarithm of odds, for two failures that are the same in it.
    """

    said: str
    words: Callable[[Traits], frozenset[str]]
    weight: float


def _requests(traits: Traits) -> frozenset[str]:
    """The requests of each cited call, and pairs of requests that follow each other."""
    found: set[str] = set()
    for told in traits.requests:
        call, _, sent = told.partition(": ")
        words = sent.split()
        found |= {f"{call} sends {word}" for word in words}
        found |= {f"{call} sends {a}, {b}" for a, b in pairwise(words)}
    return frozenset(found)


def _standing(traits: Traits) -> frozenset[str]:
    """In which call its clients were, and what each had sent last."""
    return frozenset(_stood(told) for told in traits.standing if told.startswith("one "))


def _stood(told: str) -> str:
    call, _, sent = told.removeprefix("one ").partition(": ")
    words = sent.split()
    return f"{call}, having sent {words[-1]}" if words else call


SIGNS: Final[Mapping[str, Sign]] = {
    "kind": Sign("the kind", lambda each: frozenset([each.kind]), 1.6),
    "words": Sign("the description", lambda each: frozenset(each.words.split()), 0.6),
    "requests": Sign("the requests", _requests, 0.8),
    "lines": Sign("lines of the recipe", lambda each: frozenset(each.lines), 0.6),
    "places": Sign("where clients stood", lambda each: frozenset(each.places), 1.8),
    "standing": Sign("what clients were at", _standing, 0.8),
    "sessions": Sign("what became of sessions", lambda each: frozenset(each.sessions), 0.8),
    "znodes": Sign("what became of znodes", lambda each: frozenset(each.znodes), 0.8),
    "story": Sign("the story", lambda each: frozenset(each.story), 0.6),
}
"""What is compared, by name."""

BIAS: Final = -4.6
"""The logarithm of odds for two failures that have nothing in common."""

CUT: Final = 0.8
"""From which logarithm of odds on two failures are taken for one."""


class Likeness(NamedTuple):
    """How alike two failures are.

    Attributes:
        odds: logarithm of the odds that they have one cause.
        why: what they have in common that says so most, in words.
    """

    odds: float
    why: str

    @property
    def one(self) -> bool:
        """Whether they are taken for one."""
        return self.odds >= CUT


def likeness(one: Traits, other: Traits) -> Likeness:
    """How likely two failures of the same recipe have one cause."""
    alike = shares(one, other)
    odds = BIAS + sum(SIGNS[name].weight * share for name, share in alike.items())
    return Likeness(odds, ", ".join(_reasons(one, other, alike)))


def shares(one: Traits, other: Traits) -> dict[str, float]:
    """Sign -> how alike two failures are in it, from 0 to 1."""
    others = dict(_words(other))
    return {name: _share(words, others[name]) for name, words in _words(one)}


@lru_cache(maxsize=1 << 12)
def _words(traits: Traits) -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((name, sign.words(traits)) for name, sign in SIGNS.items())


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    if not one and not other:
        return _NEITHER
    return len(one & other) / len(one | other)


def _reasons(one: Traits, other: Traits, alike: Mapping[str, float]) -> Iterator[str]:
    """The signs that say most, with what both failures have in them."""
    others = dict(_words(other))
    both = {name: words & others[name] for name, words in _words(one)}
    by_weight = sorted(alike, key=lambda name: -SIGNS[name].weight * alike[name])
    for name in [each for each in by_weight if both[each]][:MOST_REASONS]:
        if name in ("kind", "words"):
            yield (
                f"{SIGNS[name].said} is the same"
                if alike[name] == 1
                else (f"{SIGNS[name].said} is {alike[name]:.0%} the same")
            )
            continue
        told = "; ".join(sorted(both[name], key=lambda words: (-len(words), words))[:MOST_WORDS])
        yield f"{SIGNS[name].said} ({told})"
