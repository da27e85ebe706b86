"""How likely two failures have one cause, by the signs of it that their runs show.

Each sign is a set of words, and two failures are as alike in it as these sets are: the share of
words that both have (P. Jaccard, The distribution of the flora in the alpine zone, 1912). A sign
weighs as much as it is more frequent between failures of one cause than between others, in the
logarithm of odds, as in the linkage of records (I. P. Fellegi, A. B. Sunter, A Theory for Record
Linkage, 1969); and once more if it is quite the same. The weights were estimated on failures of one
kind whose cause is known, of which a third was held out: ``python -m benchmarks.fingerprints
--fit`` estimates them again.

Other signs that ``Traits`` has got no weight beside these: faults (nearly all flaws are shown by
several), sessions, servers, znodes, the story, and all lines that the calls went through. Nor does
the kind of the anomaly: it is in its description.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
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
        weight: in the logarithm of odds, for two failures that have all of it in common.
        same: what is added if they are quite the same in it.
    """

    said: str
    words: Callable[[Traits], frozenset[str]]
    weight: float
    same: float


def _standing(traits: Traits) -> frozenset[str]:
    """In which call its clients were, and what each had sent last."""
    return frozenset(_stood(told) for told in traits.standing if told.startswith("one "))


def _stood(told: str) -> str:
    call, _, sent = told.removeprefix("one ").partition(": ")
    words = sent.split()
    return f"{call}, having sent {words[-1]}" if words else call


SIGNS: Final[Mapping[str, Sign]] = {
    "words": Sign("described alike", lambda each: frozenset(each.words.split()), 2.58, 0.73),
    "requests": Sign("the requests are", lambda each: frozenset(each.requests), 1.0, 0.0),
    "places": Sign("clients stood at", lambda each: frozenset(each.places), 1.46, 0.0),
    "standing": Sign("clients were", _standing, 0.84, 0.0),
}
"""What is compared, by name."""

BIAS: Final = -3.85
"""The logarithm of odds for two failures that have nothing in common."""

CUT: Final = 1.75
"""From which logarithm of odds on two failures are taken for one.

A new flaw that is taken for a known one is not looked at. So this is as high as the precision that
is wanted, 0.98 of pairs, asked for on the failures that were not held out.
"""


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
    told = {
        name: SIGNS[name].weight * share + SIGNS[name].same * same
        for name, (share, same) in alike.items()
    }
    by_weight = sorted(told, key=lambda name: -told[name])
    both = {name: _words(one)[name] & _words(other)[name] for name in by_weight}
    reasons = [_reason(name, both[name], alike[name]) for name in by_weight if both[name]]
    return Likeness(BIAS + sum(told.values()), ", ".join(reasons[:MOST_REASONS]))


def shares(one: Traits, other: Traits) -> dict[str, tuple[float, float]]:
    """Sign -> how alike two failures are in it, from 0 to 1, and 1 if they are the same in it."""
    found = {}
    for name, words in _words(one).items():
        others = _words(other)[name]
        if words or others:
            found[name] = len(words & others) / len(words | others), float(words == others)
        else:
            found[name] = _NEITHER, _NEITHER
    return found


@lru_cache(maxsize=1 << 12)
def _words(traits: Traits) -> Mapping[str, frozenset[str]]:
    return {name: sign.words(traits) for name, sign in SIGNS.items()}


def _reason(name: str, both: frozenset[str], alike: tuple[float, float]) -> str:
    """What two failures have in common, in words."""
    share, same = alike
    if name == "words":
        return SIGNS[name].said if same == 1 else f"{share:.0%} of the words that describe them"
    told = sorted(both, key=lambda words: (-len(words), words))[:MOST_WORDS]
    return f"{SIGNS[name].said} {'; '.join(told)}"
