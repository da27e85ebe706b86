"""The one reader of TOML: bounded in size, nesting, keys and numbers before it is parsed.

The parser of Python's library has no bounds: it recurses for each bracket, keeps a table for each
part of a dotted key, and for each part the whole key until there. So a file of 40 KB can take
gigabytes. One linear look at the text comes first.
"""

import re
import tomllib
from pathlib import Path
from typing import Any, Final

from rumpus.results.untrusted_file import read_regular
from rumpus.usage_error import UsageError

LARGEST: Final = 1 << 20
"""The most bytes of a file."""
DEEPEST: Final = 64
"""The deepest nesting of arrays and inline tables."""
MOST_PARTS: Final = 32
"""The most parts of a key, as in ``a.b.c``."""
MOST_DOTS: Final = 50_000
"""The most dots in all keys and numbers of a file."""
LONGEST_WORD: Final = 1_000
"""The most characters of a number, or of a key without quotes."""

_TOKEN: Final = re.compile(r"\"\"\"|'''|[\"'#.\[\]{}=,:\n]|[\w+-]+")
_ENDS: Final = {
    '"': re.compile(r"\\.|[\"\n]", re.DOTALL),
    "'": re.compile(r"['\n]"),
    '"""': re.compile(r"\\.|\"{3,5}", re.DOTALL),
    "'''": re.compile(r"'{3,5}"),
    "#": re.compile(r"\n"),
}
"""What ends a string or a comment, and what is escaped in it, by how it begins."""


def read_toml(path: Path, doing: str, largest: int = LARGEST) -> dict[str, Any]:
    """The content of a TOML file.

    Args:
        path: the file.
        doing: what is tried, for messages: "read the rulings".
        largest: how many bytes it may have.

    Raises:
        UsageError: it is not TOML, or is nested or long as no such file is.
        UnreadableRun: it is not there, no regular file, too large, or cannot be read.
    """
    raw = read_regular(path, doing, largest)
    try:
        text = raw.decode()
        if why := _unfit(text):
            raise UsageError(f"{path}: {why}")
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also of what is no number or date
        raise UsageError(f"{path}: not TOML: {error}") from error


def _unfit(text: str) -> str:
    """Why a text is not given to the parser; empty if it is."""
    depth = parts = dots = place = 0
    while found := _TOKEN.search(text, place):
        mark, place = found[0], found.end()
        if mark in _ENDS:
            place = _after(text, mark, place)
        elif mark == ".":
            parts, dots = parts + 1, dots + 1
            if parts >= MOST_PARTS:
                return f"line {_line(text, place)}: a key of more than {MOST_PARTS} parts"
            if dots > MOST_DOTS:
                return f"it has more than {MOST_DOTS:,} dotted keys"
        elif len(mark) > LONGEST_WORD:
            what = f"a number or a key of more than {LONGEST_WORD:,} characters"
            return f"line {_line(text, place)}: {what}"
        elif mark in "[]{}=,:\n":
            parts = 0
            depth += (mark in "[{") - (mark in "]}")
            if depth > DEEPEST:
                return f"line {_line(text, place)}: nested more than {DEEPEST} deep"
    return ""


def _after(text: str, opening: str, place: int) -> int:
    """Where a string, or a comment, ends."""
    while found := _ENDS[opening].search(text, place):
        place = found.end()
        if not found[0].startswith("\\"):
            # The end of a comment is the end of its line, and counts as that.
            return place - (opening == "#")
    return len(text)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
