"""Texts taken apart into the pieces of which they were put together.

If no piece begins another (a *prefix code*), there is at most one way to take a text apart, from
left to right: among the pieces in alphabetical order, the only one that can begin the rest of the
text is the last that is not above it (whatever stands between the two begins with that piece too).

**Cost**: for a text of m pieces m times the logarithm of the number of pieces.

Source: Sardinas and Patterson 1953 for codes that can be taken apart in general.
"""

from bisect import bisect_right
from collections.abc import Collection, Hashable, Sequence
from typing import NamedTuple

MOST_WORK = 10**8
"""Characters compared before a text is given up: very long pieces among many short ones."""


class Apart(NamedTuple):
    """A text taken apart.

    Attributes:
        pieces: the pieces, as far as they go.
        ends: where each of them ends.
        left: where a rest begins that begins with no piece; None if there is no rest.
    """

    pieces: list[Hashable]
    ends: list[int]
    left: int | None


class TooLong(ValueError):  # noqa: N818 - reads as the state it names
    """To take a text apart would take too long."""


class StringPieces:
    """Pieces of strings.

    Args:
        pieces: strings, none of them empty.

    Raises:
        ValueError: one piece begins another.
    """

    def __init__(self, pieces: Collection[str]) -> None:
        self._sorted = sorted(set(pieces))
        for one, other in zip(self._sorted, self._sorted[1:], strict=False):
            if other.startswith(one):
                raise ValueError(f"the piece {one!r} begins the piece {other!r}")
        self._longest = max(map(len, self._sorted), default=0)

    def first(self, text: str, at: int = 0) -> str | None:
        """The piece that stands in a text at a place."""
        place = bisect_right(self._sorted, text[at : at + self._longest]) - 1
        if place < 0 or not text.startswith(self._sorted[place], at):
            return None
        return self._sorted[place]

    def apart(self, text: str, at: int = 0) -> Apart:
        """A text taken apart, from a place on.

        Raises:
            TooLong: it would take more than `MOST_WORK`.
        """
        pieces: list[Hashable] = []
        ends: list[int] = []
        while at < len(text):
            if len(pieces) * self._longest > MOST_WORK:
                raise TooLong("pieces are too long, and too many")
            piece = self.first(text, at)
            if piece is None:
                return Apart(pieces, ends, at)
            at += len(piece)
            pieces.append(piece)
            ends.append(at)
        return Apart(pieces, ends, None)


class ListPieces:
    """Pieces of lists: their elements.

    Args:
        pieces: the elements that were appended.
    """

    def __init__(self, pieces: Collection[Hashable]) -> None:
        self._known = frozenset(pieces)

    def apart(self, text: Sequence[Hashable], at: int = 0) -> Apart:
        """A list taken apart, from a place on."""
        places = range(at, len(text))
        left = next((place for place in places if text[place] not in self._known), None)
        pieces = list(text[at:left])
        return Apart(pieces, list(range(at + 1, at + 1 + len(pieces))), left)
