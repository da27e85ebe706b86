"""What many rows of the store of nights have in common, read once and by its key.

A query that joins it to each row would find a long text as often as there are rows: of a file of
one megabyte that can be gigabytes, in Python and in what SQLite sorts.
"""

from typing import Any, Literal, TypeVar

from rumpus.nights.memory.store_file import StoreFile
from rumpus.nights.memory.store_rows import DamagedRow, from_json

V = TypeVar("V")


class Keyed(dict[int, V]):
    """Values by the keys of their rows.

    Raises:
        DamagedRow: when asked for a key that no row has.
    """

    def __missing__(self, key: int) -> V:
        raise DamagedRow(f"a row names row {key} of another table, which is not there")


def keyed(file: StoreFile, table: Literal["nights", "subjects"], column: str) -> Keyed[Any]:
    """A column of a table."""
    return Keyed(file.rows(f"SELECT id, {column} FROM {table}"))  # noqa: S608 - written here


def keyed_versions(file: StoreFile) -> Keyed[dict[str, str]]:
    """The sets of versions."""
    rows = file.rows("SELECT id, versions FROM version_sets")
    return Keyed((number, from_json(versions, dict[str, str])) for number, versions in rows)
