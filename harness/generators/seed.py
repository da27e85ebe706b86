"""Randomness as an immutable value: to draw gives a number and the seed for the next draw.

The algorithm is SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
generators", OOPSLA 2014), as in Java's ``SplittableRandom``. Not for cryptography.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

import msgspec

T = TypeVar("T")

_WORD = (1 << 64) - 1
_GOLDEN_GAMMA = 0x9E3779B97F4A7C15


def _mix(word: int) -> int:
    """Spread a 64-bit word's information over all of its bits (Stafford's variant 13)."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)


def _mix_gamma(word: int) -> int:
    """An odd increment whose bits change often enough, from any word."""
    word = ((word ^ (word >> 33)) * 0xFF51AFD7ED558CCD) & _WORD
    word = ((word ^ (word >> 33)) * 0xC4CEB9FE1A85EC53) & _WORD
    word = (word ^ (word >> 33)) | 1
    return word ^ 0xAAAAAAAAAAAAAAAA if (word ^ (word >> 1)).bit_count() < 24 else word


class Seed(msgspec.Struct, frozen=True):
    """An immutable source of random numbers.

    Every method that draws returns what it drew and the seed to draw from next; drawing twice
    from the same seed gives the same twice.
    """

    state: int
    gamma: int = _GOLDEN_GAMMA

    def next(self) -> tuple[int, "Seed"]:
        """A whole number, uniform in ``[0, 2**64)``."""
        state = (self.state + self.gamma) & _WORD
        return _mix(state), Seed(state, self.gamma)

    def uniform(self) -> tuple[float, "Seed"]:
        """A number uniform in ``[0, 1)``."""
        word, seed = self.next()
        return (word >> 11) * 2.0**-53, seed

    def below(self, bound: int) -> tuple[int, "Seed"]:
        """A whole number, uniform in ``[0, bound)``, for bounds far below ``2**64``.

        Raises:
            ValueError: the bound is less than 1.
        """
        if bound < 1:
            raise ValueError(f"cannot draw a number below {bound}; the bound must be at least 1")
        word, seed = self.next()
        return (word * bound) >> 64, seed

    def choose(self, items: Sequence[T]) -> tuple[T, "Seed"]:
        """One of the items.

        Raises:
            ValueError: there are none.
        """
        at, seed = self.below(len(items))
        return items[at], seed

    def shuffle(self, items: Sequence[T]) -> tuple[list[T], "Seed"]:
        """The items in a random order (Fisher and Yates)."""
        shuffled = list(items)
        seed = self
        for last in range(len(shuffled) - 1, 0, -1):
            at, seed = seed.below(last + 1)
            shuffled[last], shuffled[at] = shuffled[at], shuffled[last]
        return shuffled, seed

    def split(self) -> tuple["Seed", "Seed"]:
        """Two seeds, independent of each other, to go on with instead of this one."""
        state, after = self.next()
        word = (after.state + after.gamma) & _WORD
        return Seed(word, self.gamma), Seed(state, _mix_gamma(word))

    def child(self, name: str | int) -> "Seed":
        """The seed for a named part, independent of the children with other names.

        Unlike with ``split``, the order in which parts are seeded does not matter, so that a
        new part leaves the others' numbers as they were.
        """
        text = f"{self.state}/{self.gamma}/{type(name).__name__}/{name}"
        digest = blake2b(text.encode(), digest_size=16).digest()
        return Seed(
            int.from_bytes(digest[:8], "big"), _mix_gamma(int.from_bytes(digest[8:], "big"))
        )
