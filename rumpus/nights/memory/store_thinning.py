"""Which rows of runs the store of nights keeps when nights grow old."""

import sqlite3
from typing import Final

SAMPLE: Final = 10
"""How many runs of a subject an old night keeps, beside those that failed."""

YEAR_S: Final = 365 * 86_400.0

_THINNED, _EMPTIED = 1, 2


def thin(connection: sqlite3.Connection, *, keep: int) -> None:
    """Remove rows of runs of old nights. Counts, sums of figures and failures stay, and are exact.

    The newest ``keep`` nights keep all rows. An older one keeps every run that was a violation,
    showed a failure or could not be performed, and of each subject 10 of the other runs, taken
    evenly from the first to the last. A night that began a year before the newest keeps none.

    Args:
        connection: to the file, in a transaction.
        keep: how many nights keep all rows.
    """
    nights = connection.execute(
        "SELECT id, began, thinned FROM nights ORDER BY began DESC, id DESC"
    ).fetchall()
    for place, (night, began, thinned) in enumerate(nights):
        wanted = _EMPTIED if nights[0][1] - began > YEAR_S else _THINNED if place >= keep else 0
        if wanted <= thinned:
            continue
        rows = _surplus(wanted)
        connection.execute(f"DELETE FROM run_failures WHERE run_id IN ({rows})", [night])  # noqa: S608
        connection.execute(f"DELETE FROM runs WHERE id IN ({rows})", [night])  # noqa: S608
        connection.execute("UPDATE nights SET thinned = ? WHERE id = ?", [wanted, night])


def _surplus(wanted: int) -> str:
    """The query of the runs that a night need not keep."""
    if wanted == _EMPTIED:
        return "SELECT runs.id FROM runs JOIN batches ON batches.id = batch_id WHERE night_id = ?"
    return f"""
        SELECT id FROM (
            SELECT runs.id AS id,
                ROW_NUMBER() OVER (PARTITION BY subject_id ORDER BY runs.id) AS place,
                COUNT(*) OVER (PARTITION BY subject_id) AS size
            FROM runs JOIN batches ON batches.id = batch_id
            WHERE night_id = ? AND outcome IS NOT NULL AND outcome != 'violation'
                AND runs.id NOT IN (SELECT run_id FROM run_failures)
        ) WHERE place * {SAMPLE} / size = (place - 1) * {SAMPLE} / size
    """  # noqa: S608 - a number of this module
