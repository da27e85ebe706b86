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
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from checker.operation_table import (
    INFO,
    MISSING,
    NEVER,
    OK,
    Ints,
    OperationTable,
    Values,
    WrongOperations,
)
from checker.wording import who

ACQUIRES = ("acquire", "lock", "campaign")
"""Names of the operation that begins a hold."""

RELEASES = ("release", "unlock", "resign")
"""Names of the operation that ends one."""

TRY = "try_acquire"
"""An acquire that does not wait."""

IGNORED = ("work", "lead", "inspect")
"""What else recorded runs do: it tells nothing but that a session lived, where it names one."""

Flags = NDArray[np.bool_]


class Nesting(Enum):
    """What a process can hold at a time, and what its release ends.

    ``NONE``: one hold. ``COUNTED``: several, and a release ends as much as it says of the last
    ones. ``WHOLE``: several, and a release ends the last one of its weight (of any, if that is
    0). ``OUTERMOST``: one, which it may enter again, and must release as often.
    """

    NONE = "none"
    COUNTED = "counted"
    WHOLE = "whole"
    OUTERMOST = "outermost"


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


@dataclass
class _Pairs:
    """Acquires with their releases as they are found, in pieces."""

    acquire: list[Ints] = field(default_factory=list)
    release: list[Ints] = field(default_factory=list)
    weight: list[Ints] = field(default_factory=list)
    until: list[Ints] = field(default_factory=list)
    cleanups: list[Ints] = field(default_factory=list)
    cleanup_acquires: list[Ints] = field(default_factory=list)
    cleanup_weight: list[Ints] = field(default_factory=list)
    maybe: list[Ints] = field(default_factory=list)
    orphans: list[int] = field(default_factory=list)
    inner: list[tuple[int, int]] = field(default_factory=list)
    superseded: list[tuple[int, int]] = field(default_factory=list)
    again: list[tuple[int, int]] = field(default_factory=list)
    nesting: set[int] = field(default_factory=set)
    doubtful: set[int] = field(default_factory=set)
    doubts: list[str] = field(default_factory=list)


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
    rows = np.flatnonzero(acquires | releases)
    rows = rows[_by_process(table.process[rows])]
    process = table.process[rows]
    changes = process[1:] != process[:-1]
    _must_be_sequential(table, rows, changes)
    sequences = _Sequences(table, rows, changes, acquires[rows], nesting, weight)
    session = dense_sessions(table)
    if nesting is Nesting.OUTERMOST:
        sequences.leave_inner(session)
    pairs = sequences.pair()
    return _with_times(table, pairs, session)


def _by_process(process: Ints) -> Ints:
    """Stable order by process."""
    if not len(process):
        return np.zeros(0, dtype=np.int64)
    low = int(process.min())
    span = int(process.max()) - low
    if span < 1 << 16:
        # numpy sorts 16 bits by radix, and 64 by merging, five times as long.
        return np.argsort((process - low).astype(np.uint16), kind="stable")
    if span < 1 << 32:
        order = np.argsort(((process - low) & 0xFFFF).astype(np.uint16), kind="stable")
        return order[np.argsort(((process[order] - low) >> 16).astype(np.uint16), kind="stable")]
    return np.argsort(process, kind="stable")


def _must_be_sequential(table: OperationTable, rows: Ints, changes: Flags) -> None:
    returned = table.returned[rows[:-1]]
    overlap = (returned > table.call[rows[1:]]) & (returned != NEVER) & ~changes
    if overlap.any():
        row = int(rows[int(np.argmax(overlap)) + 1])
        raise WrongOperations(
            f"{who(table, row)} calls {table.function(row)} (operation {int(table.index[row])}) "
            "while its last operation is still open"
        )


class _Sequences:
    """The operations of each process in their order, one process after the other.

    Nearly all processes acquire and release in turns: those are paired at once. The others are
    gone through one operation at a time.
    """

    def __init__(
        self,
        table: OperationTable,
        rows: Ints,
        changes: Flags,
        acquires: Flags,
        nesting: Nesting,
        weight: Ints | None,
    ) -> None:
        self.table = table
        self.rows = rows
        self.acquires = acquires
        self.first = np.concatenate(([True], changes))[: len(rows)]
        self.last = np.concatenate((changes, [True]))[: len(rows)]
        self.unknown = table.outcome[rows] == INFO
        self.weight = weight
        self.nesting = nesting
        self.odd = np.zeros(len(rows), dtype=np.bool_)
        self.pairs = _Pairs()

    def leave_inner(self, session: Ints) -> None:
        """Leave out what a process acquires and releases within a hold of its own."""
        steps = np.where(self.acquires, 1, -1)
        steps[self.unknown] = 0
        depth = np.cumsum(steps)
        group = np.cumsum(self.first) - 1
        begins = np.flatnonzero(self.first)
        depth -= (depth[begins] - steps[begins])[group]
        before = depth - steps
        odd = (depth < 0) | (self.unknown & (~self.last | (before > self._one(self.acquires))))
        inner = self.acquires & (depth > 1)
        if inner.any():
            outer = np.maximum.accumulate(
                np.where(self.acquires & (depth == 1), np.arange(len(depth)), 0)
            )
            if session is not NO_SESSIONS:
                own = session[self.rows]
                odd |= inner & (own != own[outer])
                self.odd = self._whole_groups(odd)
                freed = ~self.acquires & ~self.unknown & (depth > 0) & ~self.odd
                self.pairs.inner += zip(
                    self.rows[outer[freed]].tolist(), self.rows[freed].tolist(), strict=True
                )
            self.pairs.nesting |= set(self.table.process[self.rows[inner]].tolist())
        self.odd = self._whole_groups(odd)
        outer_pair = depth == np.where(self.acquires, 1, 0)
        kept = self.odd | self.unknown | outer_pair
        self._keep(kept)

    @staticmethod
    def _one(acquires: Flags) -> Ints:
        """How deep one may be in: an unknown acquire not at all, an unknown release once."""
        return np.where(acquires, 0, 1)

    def _whole_groups(self, odd: Flags) -> Flags:
        if not odd.any():
            return odd
        group = np.cumsum(self.first) - 1
        marked = np.zeros(int(group[-1]) + 1, dtype=np.bool_)
        marked[group[odd]] = True
        whole: Flags = marked[group]
        return whole

    def _keep(self, kept: Flags) -> None:
        group = (np.cumsum(self.first) - 1)[kept]
        self.rows, self.acquires = self.rows[kept], self.acquires[kept]
        self.unknown, self.odd = self.unknown[kept], self.odd[kept]
        changes = group[1:] != group[:-1]
        self.first = np.concatenate(([True], changes))[: len(group)]
        self.last = np.concatenate((changes, [True]))[: len(group)]

    def pair(self) -> _Pairs:
        """All pairs."""
        if not len(self.rows):
            return self.pairs
        second = np.concatenate(([False], self.acquires[:-1] & ~self.acquires[1:])) & ~self.first
        # Whoever acquires follows a release or begins; whoever releases follows an acquire.
        odd = self.acquires != (self.first | ~np.concatenate(([False], self.acquires[:-1])))
        odd |= ~self.acquires & ~second
        if self.unknown.any():
            ends = self.last | np.concatenate((second[1:] & self.last[1:], [False]))
            odd |= self.unknown & ~np.where(self.acquires, ends, self.last)
        if self.weight is not None:
            own = self.weight[self.rows]
            before = np.concatenate(([0], own[:-1]))
            odd |= second & (own != before) & ~((self.nesting is Nesting.WHOLE) & (own == 0))
        odd = self._whole_groups(odd | self.odd)
        if odd.any():
            self._walk_all(odd)
            self._pair_turns(second & ~odd, self.acquires & ~odd)
        else:
            self._pair_turns(second, self.acquires)
        return self.pairs

    def _pair_turns(self, second: Flags, acquires: Flags) -> None:
        """Processes that acquire and release in turns; ``second`` are the releases."""
        at = np.flatnonzero(second)
        lonely = np.flatnonzero(acquires & self.last)
        acquire = self.rows[np.concatenate((at - 1, lonely))]
        release = np.concatenate((self.rows[at], np.full(len(lonely), -1)))
        if self.unknown.any():
            unproven = self.table.outcome[acquire] == INFO
            proven = unproven & (release >= 0)
            proven[proven] = self.table.outcome[release[proven]] == OK
            self.pairs.cleanups.append(release[proven])
            self.pairs.cleanup_acquires.append(acquire[proven])
            self.pairs.cleanup_weight.append(self._weights(acquire[proven]))
            self.pairs.maybe.append(acquire[unproven & ~proven])
            acquire, release = acquire[~unproven], release[~unproven]
        self.pairs.acquire.append(acquire)
        self.pairs.release.append(release)
        self.pairs.weight.append(self._weights(acquire))
        self.pairs.until.append(np.full(len(acquire), NEVER))

    def _weights(self, rows: Ints) -> Ints:
        return np.ones(len(rows), dtype=np.int64) if self.weight is None else self.weight[rows]

    def _walk_all(self, odd: Flags) -> None:
        at = np.flatnonzero(odd)
        starts = at[self.first[at]].tolist()
        ends = (at[self.last[at]] + 1).tolist()
        walk = _Walk(self.table, self.pairs, self.nesting)
        for start, end in zip(starts, ends, strict=True):
            rows = self.rows[start:end]
            walk.process(
                rows.tolist(),
                self.acquires[start:end].tolist(),
                self.unknown[start:end].tolist(),
                self._weights(rows).tolist(),
            )
        walk.finish()


class _Walk:
    """Goes through the operations of a process one at a time, with a stack of what it holds."""

    def __init__(self, table: OperationTable, pairs: _Pairs, nesting: Nesting) -> None:
        self.table = table
        self.sessions = table.field("session")
        self.pairs = pairs
        self.nesting = nesting
        self.found: list[tuple[int, int, int, int]] = []
        self.cleanups: list[tuple[int, int, int]] = []
        self.maybe: list[int] = []
        self.stack: list[tuple[int, int]] = []

    def process(
        self, rows: list[int], acquires: list[bool], unknown: list[bool], weights: list[int]
    ) -> None:
        """One process, from its first operation to its last."""
        self.stack = []
        operations = list(zip(rows, acquires, unknown, weights, strict=True))
        for at, (row, acquire, open_, weight) in enumerate(operations):
            after = operations[at + 1 :]
            if open_ and (acquire or after):
                self._unknown(row, weight, after, acquire=acquire)
                return
            if acquire:
                if self.stack and not self._acquires_within(row):
                    return
                self.stack.append((row, weight))
            elif not self._release(row, weight) and not open_:
                self.pairs.orphans.append(row)
        self._end(-1, NEVER)

    def finish(self) -> None:
        """Hand over what was found."""
        found = np.array(self.found, dtype=np.int64).reshape(-1, 4)
        for name, column in zip(("acquire", "release", "weight", "until"), found.T, strict=True):
            getattr(self.pairs, name).append(column)
        cleanups = np.array(self.cleanups, dtype=np.int64).reshape(-1, 3)
        self.pairs.cleanups.append(cleanups[:, 0])
        self.pairs.cleanup_acquires.append(cleanups[:, 1])
        self.pairs.cleanup_weight.append(cleanups[:, 2])
        self.pairs.maybe.append(np.array(self.maybe, dtype=np.int64))

    def _acquires_within(self, row: int) -> bool:
        """Acquire within a hold; False if it cannot be told what that means."""
        held = self.stack[-1][0]
        before, now = (int(self.sessions.numbers[each]) for each in (held, row))
        if MISSING not in (before, now) and before != now:
            self._end(-1, NEVER)
            if self.nesting is Nesting.OUTERMOST:
                self.pairs.superseded.append((self.stack[0][0], row))
            self.stack = []
        elif self.nesting is Nesting.NONE:
            self.stack = []
            self.found.append((held, -1, 1, NEVER))
            if before in (MISSING, now):
                self.pairs.again.append((held, row))
        elif before != now:
            self._doubt(row, "holds in a session and without one")
            return False
        else:
            self.pairs.nesting.add(int(self.table.process[row]))
        return True

    def _unknown(
        self,
        row: int,
        weight: int,
        after: list[tuple[int, bool, bool, int]],
        *,
        acquire: bool,
    ) -> None:
        """An unknown acquire, or an unknown release after which its process goes on."""
        cleans_up = acquire and len(after) == 1 and not after[0][1]
        if acquire and not after:
            self.maybe.append(row)
            self._end(-1, NEVER)
        elif not cleans_up:
            self._doubt(row, "goes on")
        elif self.stack and any(self.sessions.numbers[held] != MISSING for held, _ in self.stack):
            self._doubt(row, "may have released something else")
        else:
            release, _, open_, freed = after[0]
            self.maybe.append(row)
            if self._release(release, freed) or open_:
                self._end(-1, NEVER)
            elif self.stack or (freed < weight and self.nesting is Nesting.COUNTED):
                self._doubt(row, "released only part of what it may have held")
            elif freed not in (weight, 0):
                self.pairs.orphans.append(release)
            else:
                self.maybe.pop()
                self.cleanups.append((release, row, weight))

    def _release(self, row: int, weight: int) -> bool:
        """Take it off the stack; False, and nothing is taken, if there is not enough."""
        if self.nesting is Nesting.OUTERMOST:
            if not self.stack:
                return False
            acquire, _ = self.stack.pop()
            if not self.stack:
                self.found.append((acquire, row, 1, NEVER))
            elif self.table.outcome[row] == OK:
                self.pairs.inner.append((self.stack[0][0], row))
            return True
        if self.nesting is Nesting.WHOLE:
            places = [at for at, (_, own) in enumerate(self.stack) if weight in (0, own)]
            if not places:
                return False
            acquire, own = self.stack.pop(places[-1])
            self.found.append((acquire, row, own, NEVER))
            return True
        if weight > sum(own for _, own in self.stack):
            return False
        while weight:
            acquire, own = self.stack.pop()
            if own > weight:
                self.stack.append((acquire, own - weight))
            self.found.append((acquire, row, min(own, weight), NEVER))
            weight -= min(own, weight)
        return True

    def _end(self, release: int, until: int) -> None:
        """What still stands at the end stands on."""
        for acquire, weight in self.stack[:1] if self.nesting is Nesting.OUTERMOST else self.stack:
            self.found.append((acquire, release, weight, until))

    def _doubt(self, row: int, what: str) -> None:
        """From a row on nothing is certain of this process."""
        self._end(-1, int(self.table.call[row]))
        unknown = " after its outcome stayed unknown" if self.table.outcome[row] == INFO else ""
        self.pairs.doubtful.add(int(self.table.process[row]))
        self.pairs.doubts.append(
            f"{who(self.table, row)} {what}{unknown}: its {self.table.function(row)} "
            f"(operation {int(self.table.index[row])})"
        )


def _joined(pieces: list[Ints]) -> Ints:
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)


def _with_times(table: OperationTable, pairs: _Pairs, session: Ints) -> HoldsTable:
    acquire, release = _joined(pairs.acquire), _joined(pairs.release)
    end = np.where(release < 0, NEVER, table.call[release])
    open_ = np.flatnonzero(release < 0)
    if len(open_):
        end[open_] = _joined(pairs.until)[open_]
    released = np.ones(len(acquire), dtype=np.bool_)
    if len(open_) or (table.outcome[release] != OK).any():
        released = (release >= 0) & (table.outcome[release] == OK)
    start = table.returned[acquire]
    own = np.full(len(acquire), -1) if session is NO_SESSIONS else session[acquire]
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
