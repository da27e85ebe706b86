"""The tables of the store of nights, in SQL, and how an older file becomes a newer one.

``PRAGMA user_version`` of a file is the version of its tables. A new file is made as version 1 and
then takes every step of ``MIGRATIONS``, so the steps are always in use.
docs/reference/nights-store.md describes the tables for people.

Runs that have night, subject, role, name, kind and versions in common are a *batch*. Their counts
and sums are kept beside their rows, so that rates and figures stay exact when rows are thinned out.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

APPLICATION_ID: Final = 0x52554D50
"""``RUMP``: by it a store is told from other files of SQLite."""

VERSION_1: Final = """
CREATE TABLE nights (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    began REAL NOT NULL,
    ended REAL,
    budget REAL NOT NULL,
    seconds REAL NOT NULL,
    seed INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    branch TEXT NOT NULL,
    revision TEXT NOT NULL,
    versions TEXT NOT NULL,
    asked TEXT NOT NULL,
    headline TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    counts TEXT NOT NULL,
    troubles TEXT NOT NULL,
    shard TEXT NOT NULL,
    thinned INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE subjects (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    thing TEXT NOT NULL
);
CREATE TABLE version_sets (
    id INTEGER PRIMARY KEY,
    versions TEXT NOT NULL UNIQUE
);
CREATE TABLE batches (
    id INTEGER PRIMARY KEY,
    night_id INTEGER NOT NULL REFERENCES nights (id),
    subject_id INTEGER NOT NULL REFERENCES subjects (id),
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    version_set_id INTEGER NOT NULL REFERENCES version_sets (id),
    last_at REAL NOT NULL,
    UNIQUE (night_id, subject_id, role, name, kind, version_set_id)
);
CREATE INDEX batches_by_subject ON batches (subject_id, role);
CREATE INDEX batches_by_versions ON batches (version_set_id);
CREATE TABLE outcomes (
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    outcome TEXT NOT NULL,
    runs INTEGER NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (batch_id, outcome)
) WITHOUT ROWID;
CREATE TABLE figure_sums (
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    figure TEXT NOT NULL,
    count INTEGER NOT NULL,
    total REAL NOT NULL,
    squares REAL NOT NULL,
    PRIMARY KEY (batch_id, figure)
) WITHOUT ROWID;
CREATE TABLE failures (
    id INTEGER PRIMARY KEY,
    identifier TEXT NOT NULL UNIQUE,
    workload TEXT NOT NULL,
    recipe TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    blamed TEXT NOT NULL,
    kept_case TEXT,
    shrunk INTEGER NOT NULL,
    first_night TEXT NOT NULL,
    last_night TEXT NOT NULL,
    first_seen REAL NOT NULL,
    last_seen REAL NOT NULL,
    runs INTEGER NOT NULL
);
CREATE TABLE sightings (
    failure_id INTEGER NOT NULL REFERENCES failures (id),
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    runs INTEGER NOT NULL,
    PRIMARY KEY (failure_id, batch_id)
) WITHOUT ROWID;
CREATE INDEX sightings_by_batch ON sightings (batch_id);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    seed INTEGER NOT NULL,
    outcome TEXT,
    why TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    at REAL NOT NULL,
    seconds REAL NOT NULL,
    cpu_seconds REAL NOT NULL,
    virtual_seconds REAL NOT NULL,
    operations INTEGER NOT NULL,
    digest TEXT,
    figures TEXT NOT NULL,
    faults TEXT NOT NULL
);
CREATE INDEX runs_by_batch ON runs (batch_id);
CREATE TABLE run_failures (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    failure_id INTEGER NOT NULL REFERENCES failures (id),
    PRIMARY KEY (run_id, failure_id)
) WITHOUT ROWID;
CREATE INDEX run_failures_by_failure ON run_failures (failure_id);
CREATE TABLE sources (
    night_id INTEGER NOT NULL REFERENCES nights (id),
    subject_id INTEGER NOT NULL REFERENCES subjects (id),
    source TEXT NOT NULL,
    PRIMARY KEY (night_id, subject_id)
) WITHOUT ROWID;
"""
"""The tables of the first version. It never changes: what is new goes into a migration."""

MIGRATIONS: Final[Mapping[int, str]] = {
    1: "ALTER TABLE runs ADD COLUMN found TEXT NOT NULL DEFAULT ''",
    2: "ALTER TABLE nights ADD COLUMN document TEXT NOT NULL DEFAULT ''",
    3: "ALTER TABLE failures ADD COLUMN looks TEXT NOT NULL DEFAULT '[]'",
}
"""Version of a file -> the SQL by which it becomes the next version."""


def newest() -> int:
    """The version that this program writes."""
    return max(MIGRATIONS, default=0) + 1


def steps(version: int, until: int | None = None) -> list[tuple[int, str]]:
    """What brings a file up to date, in order: the version that each step makes, and its SQL.

    Args:
        version: the file's; 0 is an empty file.
        until: the version to reach; None: the newest.
    """
    every = {0: VERSION_1, **MIGRATIONS}
    last = newest() if until is None else until
    return [(before + 1, every[before]) for before in range(version, last)]


OBJECTS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
"""A query of everything that a file declares."""

Objects = dict[tuple[str, str], tuple[str, str]]
"""What a file declares: type and name -> its table, and its SQL with single spaces."""


@cache
def objects(version: int) -> Objects:
    """What a file of a version declares, and nothing else. Files are made by the same steps."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for _, sql in steps(0, version):
            connection.executescript(sql)
        return as_objects(connection.execute(OBJECTS))


def as_objects(rows: Iterable[tuple[Any, ...]]) -> Objects:
    """What `OBJECTS` found."""
    return {
        (str(kind), str(name)): (str(table), " ".join(str(sql).split()))
        for kind, name, table, sql in rows
    }
