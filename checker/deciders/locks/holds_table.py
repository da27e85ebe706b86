"""Holds of a lock in columns: every acquire with the release that ended it, in O(n).

A hold is known from its acquire's return on, at the latest, and until its release is called, at
least: this is its **core**. A release ends what its process acquired last and still holds
(operations of a process take effect in their order). Holds and releases of unknown outcome:

- a release of unknown outcome may have taken effect from its call on: the core is the same;
- an acquire of unknown outcome may never have happened, and is left out (``maybe``), unless an
  acknowledged release followed: that proves a hold that stood when the release took effect, and
  need not have lasted (``cleanups``);
- an operation of unknown outcome retires its process, but for one clean-up release after an
  acquire. Of a process that goes on all the same only what it held until then is certain; why is
  said in ``doubts``, and who finds no violation must not conclude that there is none.

**Sessions** expire for good. A hold whose acquire tells its session can have ended at any time
after the last call of an acknowledged operation of that session: one that tells the session
itself, or the release of a hold of that session. If that is before the acquire's return, the
hold need not have lasted either. A process works in one session at a time: what it releases is
of the session in which it acquired last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumpus.checker.deciders.locks.acquire_release_pairs import (
    Sequences,
    by_process,
)
from rumpus.checker.deciders.locks.process_walk import Nesting, Pairs
from rumpus.checker.deciders.operation_table import (
    INFO,
    MISSING,
    OK,
    Flags,
    Ints,
    OperationTable,
    Values,
)
from rumpus.checker.deciders.wording import who

ACQUIRES = ("acquire", "lock", "campaign")
"""Names of the operation that begins a hold."""

RELEASES = ("release", "unlock", "resign")
"""Names of the operation that ends one."""

TRY = "try_acquire"
"""An acquire that does not wait."""

IGNORED = ("work", "lead", "inspect")
"""What else recorded runs do: it tells nothing but that a session lived, where it names one."""


@dataclass(frozen=True, eq=False)
class HoldsTable:
    """The holds of one lock, one a row.

    Attributes:
        acquire: row of the acknowledged acquire.
        release: row of the release that ended it or may have; -1 if there is none.
        released: whether that release was acknowledged.
        weight: how much is held.
        session: number of its session; -1 if it cannot expire.
        start: when its acquire returned.
        end: until when it was certainly held: the core is what lies between, and empty unless
            ``start < end``. `NEVER` for one that lasts to the end.
        earliest: when an empty core can have been held first.
        cleanups: rows of acknowledged releases after an acquire of unknown outcome.
        cleanup_acquires: rows of these acquires.
        cleanup_weight: how much they prove to have been held.
        maybe: rows of acquires of unknown outcome that nothing proves.
        orphans: rows of acknowledged releases by who held nothing, or less.
        again: pairs of acquires in one process that cannot both have been granted: it had not
            released, nor can the hold have expired.
        nesting: processes that held more than once at a time.
        doubtful: processes of which not everything is known that can be.
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
    acquires: Flags,
    releases: Flags,
    nesting: Nesting = Nesting.NONE,
    weight: Ints | None = None,
) -> HoldsTable:
    """Pair acquires and releases.

    Args:
        table: the operations of one lock.
        acquires: rows that acquire, or may have.
        releases: rows that release, or may have.
        nesting: what a process can hold at a time.
        weight: how much a row acquires or releases; 1 if not given.

    Raises:
        WrongOperations: a process calls something while its last operation is still open.
    """
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
            # It can enter again what it holds in an old session, and that ends nothing.
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
"""What `dense_sessions` gives for a table that tells of none."""


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
    # Rows are in order of call, and of several that are assigned the last one stays.
    alive[session[rows]] = table.call[rows]
    known = own >= 0
    np.maximum.at(alive, own[known], table.call[release[known]])
    return alive


def granted(
    table: OperationTable, acquire: Sequence[str] = (), release: Sequence[str] = ()
) -> tuple[Flags, Flags, Ints]:
    """Rows that acquire or may have, that release or may have, and refused tries.

    A `TRY` that failed without an error, or answered False, found the lock held; an acquire
    that answered False did nothing.

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
    return acquires, happened & table.is_f(*RELEASES, *release), np.flatnonzero(busy)


def _is_false(values: Values) -> Flags:
    """Where a value is False."""
    assert values.objects is not None
    places = [at for at, value in enumerate(values.objects) if value is False]
    found: Flags = np.isin(values.numbers, places)
    return found
