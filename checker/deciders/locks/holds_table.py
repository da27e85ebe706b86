"""The holds of a lock as columns: each acquire with the release that ended it, in O(n).

A hold certainly lasts from the return of its acquire to the call of its release: this is its
**core**. A release ends the last hold of its process (operations of a process take effect in their
order). Operations of unknown outcome:

- a release of unknown outcome may have taken effect at any time after its call: the core is the
  same;
- an acquire of unknown outcome may never have taken effect, and is left out (``maybe``), unless an
  acknowledged release followed. That release proves a hold, but its core may be empty
  (``cleanups``);
- a process ends with an operation of unknown outcome, except for one clean-up release after an
  acquire. If a process continues nevertheless, only its holds until then are certain; ``doubts``
  says why, and then the absence of a violation proves nothing.

**Sessions** do not come back after they expire. A hold whose acquire names its session can have
ended at any time after the last call of an acknowledged operation of that session: one that names
the session, or the release of a hold of that session. If that is before the acquire's return, the
core is empty too. A process uses one session at a time: its releases belong to the session in which
it acquired last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.locks.acquire_release_pairs import (
    Sequences,
    by_process,
)
from rumpus.checker.deciders.locks.process_walk import Nesting, Pairs
from rumpus.checker.deciders.operation_table import INFO, OK, OperationTable
from rumpus.checker.deciders.typed_values import FALSE
from rumpus.checker.deciders.values import MISSING, Flags, Ints, Values
from rumpus.checker.deciders.wording import who

ACQUIRES = ("acquire", "lock", "campaign")
"""Names of the operation that begins a hold."""

RELEASES = ("release", "unlock", "resign")
"""Names of the operation that ends one."""

TRY = "try_acquire"
"""An acquire that does not wait."""

IGNORED = ("work", "lead", "inspect")
"""Other functions of recorded runs. If they name a session they show that it lived."""


class LockRows(NamedTuple):
    """The rows of a table that concern a lock.

    Attributes:
        acquires: mask of the rows that acquired it, or may have.
        releases: mask of the rows that released it, or may have.
        refused_tries: rows of tries that were refused, in ascending order.
    """

    acquires: Flags
    releases: Flags
    refused_tries: Ints


@dataclass(frozen=True, eq=False)
class HoldsTable:
    """The holds of one lock, one a row.

    Attributes:
        acquire: row of the acknowledged acquire.
        release: row of the release that ended it, or may have; -1 if there is none.
        released: whether that release was acknowledged.
        weight: how much is held.
        session: number of its session; -1 if it cannot expire.
        start: when its acquire returned.
        end: until when it was certainly held; the core is empty unless ``start < end``. `NEVER`
            for one that lasts to the end.
        earliest: the earliest time of a hold with an empty core.
        cleanups: rows of acknowledged releases after an acquire of unknown outcome.
        cleanup_acquires: rows of these acquires.
        cleanup_weight: how much they prove to have been held.
        maybe: rows of acquires of unknown outcome without such a release.
        orphans: rows of acknowledged releases by a process that held nothing, or less.
        again: pairs of acquires in one process that cannot both have been granted: it had not
            released, nor can the hold have expired.
        nesting: processes that had several holds at a time.
        doubtful: processes whose holds are not known completely.
        doubts: why the absence of a violation would prove nothing.
    """

    acquire: Ints
    release: Ints
    released: Flags
    weight: Ints
    session: Ints
    start: Ints
    end: Ints
    earliest: Ints
    cleanups: Ints
    cleanup_acquires: Ints
    cleanup_weight: Ints
    maybe: Ints
    orphans: Ints
    again: tuple[tuple[int, int], ...] = ()
    nesting: frozenset[int] = frozenset()
    doubtful: frozenset[int] = frozenset()
    doubts: tuple[str, ...] = ()


def extract_holds(
    table: OperationTable,
    lock_rows: LockRows,
    nesting: Nesting = Nesting.NONE,
    weight: Ints | None = None,
) -> HoldsTable:
    """Pair acquires and releases.

    Args:
        table: the operations of one lock.
        lock_rows: which of them acquire and release.
        nesting: what a process can hold at a time.
        weight: how much a row acquires or releases; 1 if not given.

    Raises:
        WrongOperations: a process calls something while its last operation is still open.
    """
    acquires, releases, _ = lock_rows
    concerned = acquires | releases
    if concerned.all():
        rows, changes = by_process(table.process)
    else:
        rows = np.flatnonzero(concerned)
        order, changes = by_process(table.process[rows])
        rows = rows[order]
    sequences = Sequences(table, rows, changes, acquires[rows], nesting, weight)
    session = dense_sessions(table)
    if nesting is Nesting.OUTERMOST:
        sequences.leave_inner(session)
    pairs = sequences.pair()
    return _with_times(table, pairs, session)


def _joined(pieces: list[Ints]) -> Ints:
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)


def _with_times(table: OperationTable, pairs: Pairs, session: Ints) -> HoldsTable:
    acquire, release = _joined(pairs.acquire), _joined(pairs.release)
    start, end = _joined(pairs.start), _joined(pairs.end)
    released = (table.outcome[release] == OK) & (release >= 0)
    own = np.broadcast_to(NONE, len(acquire)) if session is NO_SESSIONS else session[acquire]
    expiring = np.flatnonzero((own >= 0) & ~released)
    if len(expiring):
        inner = np.array(pairs.inner, dtype=np.int64).reshape(-1, 2)
        alive = last_evidence(
            table,
            session,
            np.concatenate((own[released], session[inner[:, 0]])),
            np.concatenate((release[released], inner[:, 1])),
        )
        end[expiring] = np.minimum(end[expiring], alive[own[expiring]])
        for held, row in pairs.superseded:
            # The hold in the old session did not end with the acquire in the new one.
            if alive[session[held]] > table.call[row]:
                end[acquire == held] = np.minimum(end[acquire == held], table.call[row])
                pairs.doubtful.add(int(table.process[row]))
                pairs.doubts.append(f"{who(table, row)} holds in two sessions at once")
    earliest = start
    if (end <= start).any():
        earliest = np.maximum(table.call[acquire], np.minimum(start, end))
    return HoldsTable(
        acquire=acquire,
        release=release,
        released=released,
        weight=_joined(pairs.weight),
        session=own,
        start=start,
        end=end,
        earliest=earliest,
        cleanups=_joined(pairs.cleanups),
        cleanup_acquires=_joined(pairs.cleanup_acquires),
        cleanup_weight=_joined(pairs.cleanup_weight),
        maybe=np.sort(_joined(pairs.maybe)),
        orphans=np.sort(np.array(pairs.orphans, dtype=np.int64)),
        again=tuple(pairs.again),
        nesting=frozenset(pairs.nesting),
        doubtful=frozenset(pairs.doubtful),
        doubts=tuple(pairs.doubts),
    )


NONE = np.int64(-1)
"""The session of a hold that has none."""

NO_SESSIONS = np.zeros(0, dtype=np.int64)
"""The result of `dense_sessions` for a table without sessions."""


def dense_sessions(table: OperationTable) -> Ints:
    """The number of each row's session, from 0; -1 where it has none."""
    column = table.fields.get("session")
    if column is None or not column.present.any():
        return NO_SESSIONS
    numbers = column.numbers
    if column.objects is None:
        _, dense = np.unique(numbers, return_inverse=True)
        numbers = np.where(column.present, dense.reshape(-1), -1)
    return np.where(column.present, numbers, -1)


def last_evidence(table: OperationTable, session: Ints, own: Ints, release: Ints) -> Ints:
    """Until when each session certainly lived.

    Args:
        table: the operations.
        session: of every row (`dense_sessions`).
        own: sessions of holds whose release was acknowledged.
        release: the rows of those releases.
    """
    alive = np.full(int(session.max()) + 1, MISSING)
    rows = np.flatnonzero((session >= 0) & (table.outcome == OK))
    # Rows are in order of call, and the last assignment counts.
    alive[session[rows]] = table.call[rows]
    known = own >= 0
    np.maximum.at(alive, own[known], table.call[release[known]])
    return alive


def granted(
    table: OperationTable, acquire: Sequence[str] = (), release: Sequence[str] = ()
) -> LockRows:
    """Find the rows that acquire and release.

    A `TRY` that failed without an error, or answered False, was refused: the lock was held. An
    acquire that answered False has no effect.

    Args:
        table: the operations of one lock.
        acquire: further names of acquires.
        release: further names of releases.
    """
    happened = (table.outcome == OK) | (table.outcome == INFO)
    acquires = happened & table.is_f(*ACQUIRES, TRY, *acquire)
    tries = table.is_f(TRY)
    no = _is_false(table.result) if table.result.objects is not None else None
    busy = tries & table.refused
    if no is not None:
        busy |= tries & (table.outcome == OK) & no
        acquires &= ~no
    releases = happened & table.is_f(*RELEASES, *release)
    return LockRows(acquires, releases, np.flatnonzero(busy))


def _is_false(values: Values) -> Flags:
    """Where a value is False."""
    assert values.objects is not None
    places = [at for at, value in enumerate(values.objects) if value is FALSE]
    found: Flags = np.isin(values.numbers, places)
    return found
