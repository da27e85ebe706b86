"""The rows of runs that the store of nights keeps, read back."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from rumpus.nights.memory.store_file import StoreFile
from rumpus.nights.memory.store_keys import keyed, keyed_versions
from rumpus.nights.memory.store_rows import RUN, run_of
from rumpus.nights.records import RunRow

_TABLES = (
    "runs r JOIN batches b ON b.id = r.batch_id JOIN nights ON nights.id = b.night_id "
    "JOIN subjects ON subjects.id = b.subject_id "
    "JOIN version_sets ON version_sets.id = b.version_set_id"
)


def runs_where(file: StoreFile, which: str, values: Sequence[Any]) -> list[RunRow]:
    """The runs that a condition is true of, in the order in which they were noted.

    Args:
        file: the store's.
        which: the condition, in SQL, on `runs r`, `batches b`, `nights` or `version_sets`.
        values: of its question marks.
    """
    shown: dict[int, list[str]] = defaultdict(list)
    for run, failure in file.rows(
        "SELECT x.run_id, f.identifier FROM run_failures x "  # noqa: S608 - written here
        f"JOIN failures f ON f.id = x.failure_id WHERE x.run_id IN (SELECT r.id FROM {_TABLES} "
        f"WHERE {which}) ORDER BY f.identifier",
        values,
    ):
        shown[run].append(failure)
    subjects, versions = keyed(file, "subjects", "key"), keyed_versions(file)
    own = ", ".join(f"r.{each.strip()}" for each in RUN.split(","))
    rows = file.rows(
        "SELECT r.id, b.role, b.subject_id, b.name, b.kind, b.version_set_id, "  # noqa: S608
        f"{own} FROM {_TABLES} WHERE {which} ORDER BY r.id",
        values,
    )
    return [
        run_of(
            {
                "role": role,
                "subject": subjects[subject],
                "name": name,
                "kind": kind,
                "versions": versions[version_set],
            },
            row,
            tuple(shown[number]),
        )
        for number, role, subject, name, kind, version_set, *row in rows
    ]
