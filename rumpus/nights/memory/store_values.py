"""Which values the counts and sums in the store of nights can have.

Whoever sends a store decides what stands in it, and statistics of counts without bounds take
without bounds. SQLite keeps a text, or infinity, in a column of whole numbers. So what the tables
have is checked before anything is computed of it; rows that are told one by one are checked as
they are read (``store_rows``).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from rumpus.nights.memory.store_file import StoreFile, damaged

MOST_RUNS: Final = 10_000_000
"""How many runs of a kind a night has at most, and so how many values a figure."""

_FARTHEST: Final = 750
"""No positive number has a natural logarithm that is farther from 0."""

_LATEST_S: Final = 253_402_300_799
"""The end of the year 9999, in seconds since the epoch."""

_LONGEST_S: Final = 10**12


def _is_text(column: str) -> str:
    return f"typeof({column}) = 'text'"


def _is_count(column: str) -> str:
    return f"typeof({column}) = 'integer' AND {column} BETWEEN 0 AND {MOST_RUNS}"


def _is_real(column: str, least: str, most: str) -> str:
    return f"typeof({column}) = 'real' AND {column} BETWEEN {least} AND {most}"


_COUNTS: Final = f"counts are whole numbers from 0 to {MOST_RUNS:,}"

_SOUND: Final[Mapping[str, tuple[Sequence[str], str]]] = {
    "nights": ([_is_text("document")], "documents are text"),
    "subjects": ([_is_text("key"), _is_text("thing")], "keys are text"),
    "sources": ([_is_text("source")], "digests are text"),
    "batches": (
        [
            *map(_is_text, ("role", "name", "kind")),
            _is_real("last_at", "0", f"{_LATEST_S}"),
        ],
        "names are text, and times are before the year 10000",
    ),
    "outcomes": (
        [_is_text("outcome"), _is_count("runs"), _is_real("seconds", "0", f"{_LONGEST_S}")],
        f"outcomes are text, {_COUNTS}, and seconds are at most 10^12",
    ),
    "failures": (
        [_is_text("identifier"), "typeof(kept_case) IN ('null', 'text')"],
        "names and cases are text",
    ),
    "sightings": ([_is_count("runs")], _COUNTS),
    "figure_sums": (
        [
            _is_text("figure"),
            _is_count("count"),
            _is_real("total", f"-{_FARTHEST} * count", f"{_FARTHEST} * count"),
            _is_real("squares", "0", f"{_FARTHEST**2} * count"),
        ],
        f"{_COUNTS}, and sums are those of so many logarithms",
    ),
}
"""Table -> what is true of each of its rows, in SQL, and in words."""


def check_values(file: StoreFile) -> None:
    """Refuse a store whose counts and sums no program has written.

    Raises:
        UnreadableRun: a row has a value that it cannot have.
        StoreError: the store cannot be read.
    """
    for table, (sound, words) in _SOUND.items():
        if file.rows(f"SELECT 1 FROM {table} WHERE NOT ({' AND '.join(sound)}) LIMIT 1"):  # noqa: S608
            raise damaged(file.path, f"a row of the table {table} has another value: {words}")
