"""The store of nights as plain data, and one with other rows."""

import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from rumpus.nights.memory.store import Store
from tests.rumpus.nights.conftest import FAIR, failure, night, run

Rows = dict[str, list[dict[str, Any]]]


@cache
def example() -> tuple[bytes, Rows]:
    """A store as a file, and its rows, by table and column."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "nights.sqlite"
        with Store.opened(path, write=True) as store:
            store.begin_night(night(1))
            store.note_failure(failure())
            store.note_run(night(1).name, run())
            store.note_run(night(1).name, run(outcome="violation", failures=(failure().id,)))
            store.note_source(night(1).name, FAIR, "abc")
        with closing(sqlite3.connect(path)) as file:
            file.row_factory = sqlite3.Row
            rows = {
                table: [dict(row) for row in file.execute(f"SELECT * FROM {table}")]
                for table in _tables(file)
            }
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            file.execute("PRAGMA journal_mode=DELETE")
        return path.read_bytes(), rows


def _tables(file: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    return [str(name) for (name,) in file.execute(query)]


def written(store: bytes, rows: Rows, path: Path) -> bool:
    """Write a store with other rows; whether a database may have them."""
    path.write_bytes(store)
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA foreign_keys = OFF")
        for table in _tables(file):
            file.execute(f"DELETE FROM {table}")
            of_table = rows.get(table)
            for row in of_table if isinstance(of_table, list) else ():
                if not isinstance(row, dict):
                    return False
                marks = ", ".join("?" * len(row))
                try:
                    file.execute(
                        f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})",
                        list(row.values()),
                    )
                except (sqlite3.Error, OverflowError, UnicodeEncodeError):
                    return False
        file.commit()
    return True


def read_all(path: Path) -> None:
    """Read all that the store tells."""
    with Store.opened(path) as store:
        for each in store.nights():
            store.runs(each.name)
        for known in store.failures():
            store.case_text(known.id)
            store.sightings(known.id)
        store.rates(figures=True)
        store.versions()
        store.subjects_last()
        store.canary_past()
