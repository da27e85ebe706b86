"""What is written into the store of nights: functions that work inside a transaction."""

import sqlite3
from typing import Final

from rumpus.nights.memory.evidence import Moments
from rumpus.nights.memory.store_rows import NOT_PERFORMED, RUN, compact, run_values, thing_of
from rumpus.nights.records import FailureRow, RunRow

_NIGHT: Final = (
    "UPDATE failures SET runs = runs + 1, "
    "first_seen = CASE first_night WHEN '' THEN ?1 ELSE first_seen END, "
    "first_night = CASE first_night WHEN '' THEN ?2 ELSE first_night END, "
    "last_seen = ?1, last_night = ?2 WHERE id = ?3"
)


def note_failure(connection: sqlite3.Connection, failure: FailureRow) -> None:
    """Note a failure, or what is new of one that is there."""
    case = None if failure.case is None else failure.case.to_json().decode()
    connection.execute(
        "INSERT INTO failures VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, 0, 0, ?) "
        "ON CONFLICT (identifier) DO UPDATE SET blamed = excluded.blamed, "
        "shrunk = CASE WHEN excluded.kept_case IS NULL THEN shrunk ELSE excluded.shrunk END, "
        "kept_case = COALESCE(excluded.kept_case, kept_case), "
        "looks = CASE WHEN length(excluded.looks) > length(looks) THEN excluded.looks "
        "ELSE looks END",
        [
            failure.id,
            failure.workload,
            failure.recipe,
            compact(failure.fingerprint),
            failure.blamed,
            case,
            failure.shrunk,
            failure.first_night,
            failure.first_seen,
            compact(failure.looks),
        ],
    )


def failure_number(connection: sqlite3.Connection, identifier: str) -> int:
    """The key of a failure in the tables.

    Raises:
        ValueError: there is none.
    """
    query = "SELECT id FROM failures WHERE identifier = ?"
    for (number,) in connection.execute(query, [identifier]):
        return int(number)
    raise ValueError(f"the failure {identifier} has not been noted")


def subject_number(connection: sqlite3.Connection, key: str) -> int:
    """The key of a subject in the tables, in which it is put if it is new."""
    connection.execute(
        "INSERT INTO subjects (key, thing) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [key, thing_of(key)],
    )
    ((number,),) = connection.execute("SELECT id FROM subjects WHERE key = ?", [key])
    return int(number)


def batch_number(connection: sqlite3.Connection, night: int, run: RunRow) -> int:
    """The key of a run's batch in the tables, in which it is put if it is new."""
    versions = compact(run.versions)
    connection.execute(
        "INSERT INTO version_sets (versions) VALUES (?) ON CONFLICT DO NOTHING", [versions]
    )
    query = "SELECT id FROM version_sets WHERE versions = ?"
    ((version_set,),) = connection.execute(query, [versions])
    subject = subject_number(connection, run.subject)
    common = [night, subject, run.role, run.name, run.kind, version_set]
    connection.execute(
        "INSERT INTO batches VALUES (NULL, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET last_at = MAX(last_at, excluded.last_at)",
        [*common, run.at],
    )
    query = (
        "SELECT id FROM batches WHERE (night_id, subject_id, role, name, kind, version_set_id) "
        "= (?, ?, ?, ?, ?, ?)"
    )
    ((number,),) = connection.execute(query, common)
    return int(number)


def note_run(connection: sqlite3.Connection, number: int, night: str, run: RunRow) -> None:
    """Note a run, count it, and note that its failures were seen.

    Args:
        connection: to the file, in a transaction.
        number: the key of the night in the tables.
        night: its name.
        run: the run.

    Raises:
        ValueError: a failure has not been noted.
    """
    failures = [failure_number(connection, name) for name in sorted(set(run.failures))]
    batch = batch_number(connection, number, run)
    values = [batch, *run_values(run)]
    marks = ", ".join("?" * len(values))
    noted = connection.execute(
        f"INSERT INTO runs (batch_id, {RUN}) VALUES ({marks})",  # noqa: S608 - names of columns
        values,
    )
    connection.execute(
        "INSERT INTO outcomes VALUES (?, ?, 1, ?) "
        "ON CONFLICT DO UPDATE SET runs = runs + 1, seconds = seconds + excluded.seconds",
        [batch, run.outcome or NOT_PERFORMED, run.seconds],
    )
    sums = {name: Moments.of([value]) for name, value in run.figures.items()}
    connection.executemany(
        "INSERT INTO figure_sums VALUES (?, ?, 1, ?, ?) ON CONFLICT DO UPDATE SET "
        "count = count + 1, total = total + excluded.total, squares = squares + excluded.squares",
        [(batch, name, each.total, each.squares) for name, each in sums.items() if each.count],
    )
    for failure in failures:
        connection.execute("INSERT INTO run_failures VALUES (?, ?)", [noted.lastrowid, failure])
        connection.execute(
            "INSERT INTO sightings VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET runs = runs + 1",
            [failure, batch],
        )
        connection.execute(_NIGHT, [run.at, night, failure])


def join_failures(connection: sqlite3.Connection, old: int, new: int) -> None:
    """Make two failures one: all that was seen of the old one was seen of the new one.

    Runs that showed both are counted once, as far as their rows are kept.

    Args:
        connection: to the file, in a transaction.
        old: the key of a failure in the tables; it is removed.
        new: likewise, of what it becomes.
    """
    both = connection.execute(
        "SELECT runs.batch_id, COUNT(*) FROM run_failures a "
        "JOIN run_failures b ON b.run_id = a.run_id AND b.failure_id = ? "
        "JOIN runs ON runs.id = a.run_id WHERE a.failure_id = ? GROUP BY runs.batch_id",
        [new, old],
    ).fetchall()
    connection.execute(
        "INSERT INTO sightings SELECT ?, batch_id, runs FROM sightings WHERE failure_id = ? "
        "ON CONFLICT DO UPDATE SET runs = runs + excluded.runs",
        [new, old],
    )
    connection.executemany(
        "UPDATE sightings SET runs = runs - ? WHERE failure_id = ? AND batch_id = ?",
        [(count, new, batch) for batch, count in both],
    )
    connection.execute(
        "INSERT OR IGNORE INTO run_failures SELECT run_id, ? FROM run_failures "
        "WHERE failure_id = ?",
        [new, old],
    )
    for table in ("run_failures", "sightings"):
        connection.execute(f"DELETE FROM {table} WHERE failure_id = ?", [old])  # noqa: S608
    query = (
        "SELECT first_night, first_seen, last_night, last_seen, runs FROM failures "
        "WHERE id IN (?, ?)"
    )
    seen = [row for row in connection.execute(query, [old, new]) if row[0]]
    if seen:
        first = min(seen, key=lambda row: row[1])
        last = max(seen, key=lambda row: row[3])
        runs = sum(row[4] for row in seen) - sum(count for _, count in both)
        connection.execute(
            "UPDATE failures SET first_night = ?, first_seen = ?, last_night = ?, last_seen = ?, "
            "runs = ? WHERE id = ?",
            [*first[:2], *last[2:4], runs, new],
        )
    connection.execute("DELETE FROM failures WHERE id = ?", [old])
