"""Split a text into the pieces that were appended.

If no piece is a prefix of another (a *prefix code*), a text can be split in at most one way, from
left to right: of the sorted pieces, only the largest one that is not above the rest of the text
can be a prefix of it (every string between a prefix and the text has that prefix).

**Cost**: for a text of m pieces m times the logarithm of the number of pieces.

Source: Sardinas and Patterson 1953, for uniquely decodable codes in general.
"""

from bisect import bisect_right
from collections.abc import Collection, Hashable, Sequence
from typing import NamedTuple

MOST_WORK = 10**8
"""The most characters compared for one text (very long pieces among many short ones)."""


class Apart(NamedTuple):
    """A text split into pieces.

    Attributes:
        pieces: the pieces from the left.
        ends: the position at which each piece ends.
        left: the position of the first rest that has no piece as a prefix; None if there is none.
    """

    pieces: list[Hashable]
    ends: list[int]
    left: int | None


class TooLong(ValueError):  # noqa: N818 - reads as the state it names
    """To split a text would take too long."""


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
        """The piece at a position of a text; None if there is none."""
        place = bisect_right(self._sorted, text[at : at + self._longest]) - 1
        if place < 0 or not text.startswith(self._sorted[place], at):
            return None
        return self._sorted[place]

    def apart(self, text: str, at: int = 0) -> Apart:
        """Split a text from a position on.

        Raises:
            TooLong: it would compare more than `MOST_WORK` characters.
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
        """Split a list from a position on."""
        places = range(at, len(text))
        left = next((place for place in places if text[place] not in self._known), None)
        pieces = list(text[at:left])
        return Apart(pieces, list(range(at + 1, at + 1 + len(pieces))), left)
