"""A long page of wrapped, indented lines, for a console."""

import re
from collections.abc import Iterator
from typing import Final

from rich.console import Console, ConsoleOptions
from rich.segment import Segment

Piece = str | tuple[str, str]
"""Text, or text and its style."""

_WORD: Final = re.compile(r"\S+")


class Page:
    """Collects lines, and is printed at once: rich takes a millisecond for each line by itself.

    A line that is too long goes on below itself, with the same indent. Words are not cut.
    """

    def __init__(self) -> None:
        self._lines: list[tuple[int, list[tuple[str, str]]]] = []

    def say(self, indent: int, *pieces: Piece) -> None:
        """Add a line of pieces, so many columns from the left."""
        styled = [(piece, "") if isinstance(piece, str) else piece for piece in pieces]
        self._lines.append((indent, styled))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """All lines."""
        for indent, pieces in self._lines:
            plain = "".join(text for text, _ in pieces)
            for start, end in _rows(plain, options.max_width - indent):
                yield Segment(" " * indent)
                at = 0
                for text, style in pieces:
                    if shown := text[max(start - at, 0) : max(end - at, 0)]:
                        yield Segment(shown, console.get_style(style) if style else None)
                    at += len(text)
                yield Segment.line()


def _rows(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Where the rows of a text begin and end."""
    start, end = 0, -1
    for word in _WORD.finditer(text):
        if end >= 0 and word.end() - start > width:
            yield start, end
            end = -1
        if end < 0:
            start = word.start()
        end = word.end()
    if end >= 0:
        yield start, end
