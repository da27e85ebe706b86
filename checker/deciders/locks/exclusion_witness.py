"""The witness of a lock's history that is refused, and its description.

A forgotten operation keeps its place in the order of its process, but may have taken effect at any
time, or never (`checker.deciders.locks.process_levels`). The conflict that the decider found names
some holds. Their operations are forgotten one after the other as long as a contradiction is left. A
contradiction has one of four shapes, and the witness is minimal because a smaller one has none:

- too much is held at a time between the last beginning and the first end of some cores;
- from the call to the return of an acquire (or release) other processes hold so much that there is
  no room for it;
- a hold whose core may be empty has no room between its acquire and its end;
- the operations of one process contradict each other whatever the other processes do.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.decision import Decision, refused
from rumpus.checker.deciders.locks.hold_loads import Loads, Pulse
from rumpus.checker.deciders.locks.holds_table import HoldsTable, LockRows
from rumpus.checker.deciders.locks.process_levels import Levels, Moment, Step
from rumpus.checker.deciders.locks.process_walk import Nesting
from rumpus.checker.deciders.minimal_rows import MOST, minimise
from rumpus.checker.deciders.operation_table import NEVER, OK, OperationTable
from rumpus.checker.deciders.values import MISSING, Ints
from rumpus.checker.deciders.wording import at, between, who

FEW = 40
"""In witnesses of up to so many operations each is tested for whether there is room for it."""

TOLD = 6
"""The most holds that a description lists."""

_LONG_AGO = -(2**62)


@dataclass(frozen=True)
class Lock:
    """A kind of lock.

    Attributes:
        capacity: the total weight that may be held at once.
        nesting: what one process can hold at a time.
        weight: the weight that each row acquires or releases; None for 1.
        share: a weight in words: ``2 permits``; "" for all of the lock.
        crowd: an excess of weight in words: ``6 of 5 permits were held``; None to name the
            holders instead.
    """

    capacity: int
    nesting: Nesting
    weight: Ints | None = None
    share: Callable[[int], str] = lambda _: ""
    crowd: Callable[[int], str] | None = None


class Conflict(NamedTuple):
    """The violation that a decider found; one of the fields is set.

    Attributes:
        orphan: row of an acknowledged release by a process that did not hold as much.
        again: two acquires of one process that did not release in between.
        overload: a time just after which too much was held.
        together: acquires in one session that were not released.
        pulse: a hold for which there is no room.
    """

    orphan: int | None = None
    again: tuple[int, int] | None = None
    overload: int | None = None
    together: tuple[int, ...] = ()
    pulse: Pulse | None = None


class _Shape(NamedTuple):
    """A shape of contradiction: at each of some times too much is held.

    Attributes:
        moments: for each time, its place in the order of each process.
        pivots: rows that must not be forgotten for it to apply.
        evidence: sessions, each with a time at which it must be known to have lived.
    """

    moments: Sequence[dict[int, Moment]]
    pivots: tuple[int, ...] = ()
    evidence: tuple[tuple[int, int], ...] = ()


def explain(
    table: OperationTable,
    lock: Lock,
    lock_rows: LockRows,
    holds: HoldsTable,
    conflict: Conflict,
) -> Decision:
    """The refusal of a history, with its witness.

    Args:
        table: the operations of one lock.
        lock: its kind.
        lock_rows: which of them acquire and release.
        holds: the holds of the lock.
        conflict: the violation that the decider found.
    """
    return _Explanation(table, lock, lock_rows, holds).of(conflict)


class _Explanation:
    def __init__(
        self, table: OperationTable, lock: Lock, lock_rows: LockRows, holds: HoldsTable
    ) -> None:
        self.table = table
        self.lock = lock
        self.acquires, self.releases, _ = lock_rows
        self.holds = holds
        self.levels: dict[int, Levels] = {}
        self.shapes: list[_Shape] = []
        self.candidates: list[int] = []
        self.guards: list[int] = []
        self.involved = np.zeros(0, dtype=np.int64)
        self.exact = True

    def of(self, conflict: Conflict) -> Decision:
        if conflict.orphan is not None:
            words = self._orphan(conflict.orphan)
        elif conflict.again is not None:
            words = self._again(*conflict.again)
        elif conflict.overload is not None:
            words = self._overload(conflict.overload)
        elif conflict.pulse is not None:
            words = self._pulse(conflict.pulse)
        else:
            words = self._together(conflict.together)
        if self.shapes:
            self._add_shapes_of_guards()
        rows = sorted(set(self.candidates))
        self.exact &= self.holds.doubtful.isdisjoint(self.table.process[rows].tolist())
        self.exact &= not self._share_a_session(rows) or not self.shapes
        minimal = self.exact and len(rows) <= MOST
        if minimal and self.shapes:
            # A contradiction may have none of the four shapes.
            minimal = self._contradicts(rows)
            if minimal:
                rows, _ = minimise(rows[::-1], self._contradicts)
        return refused(rows, words, minimal=minimal)

    def _add_shapes_of_guards(self) -> None:
        """Add shapes for operations that show that a hold had not ended: they may have no room."""
        processes = self.table.process[self.holds.acquire[self.involved]]
        rows = set(self.guards)
        if len(self.candidates) <= FEW:
            rows |= set(self.candidates)
        for row in sorted(rows):
            if not (self.acquires[row] or self.releases[row]):
                continue
            if self.table.outcome[row] == OK:
                others = self.involved[processes != self.table.process[row]]
                self._around(row, self._sessions(others), acquires=bool(self.acquires[row]))

    # Contradictions.

    def _contradicts(self, rows: Iterable[int]) -> bool:
        known = set(rows)
        anywhere = Moment(_LONG_AGO, NEVER)
        if any(levels.least(known, anywhere) is None for levels in self.levels.values()):
            return True
        return any(
            known.issuperset(shape.pivots)
            and all(self._lived(known, *each) for each in shape.evidence)
            and all(self._too_much(known, moments) for moments in shape.moments)
            for shape in self.shapes
        )

    def _too_much(self, known: set[int], moments: dict[int, Moment]) -> bool:
        total = 0
        for process, moment in moments.items():
            least = self.levels[process].least(known, moment)
            if least is None:
                return True
            total += least
        return total > self.lock.capacity

    def _lived(self, known: set[int], session: int, time: int) -> bool:
        """Whether operations that are not forgotten show that a session lived at a time."""
        return any(
            self.table.outcome[row] == OK
            and self.table.call[row] >= time
            and (
                self._session(row) == session
                or any(
                    self._session(acquire) == session and known.issuperset(within)
                    for acquire, within in self._ends_holds_of(row)
                )
            )
            for row in known
        )

    def _session(self, row: int) -> int:
        """The number of a row's session in its column; `MISSING` if it has none."""
        return int(self.table.field("session").numbers[row])

    def _share_a_session(self, rows: Sequence[int]) -> bool:
        """Whether several holds share a session, so that one may show that it lived."""
        nests = self.holds.nesting.intersection(self.table.process[rows].tolist())
        if nests and any(self._session(row) != MISSING for row in rows):
            return True
        users = {(self._session(row), int(self.table.process[row])) for row in rows}
        sessions = [session for session, _ in users if session != MISSING]
        return len(sessions) > len(set(sessions))

    def _ends_holds_of(self, row: int) -> list[tuple[int, list[int]]]:
        """The acquires of the holds that a release ended, each with the rows that show it."""
        levels = self.levels.get(int(self.table.process[row]))
        steps = levels.steps if levels else ()
        return [
            (acquire, [acquire, *(s.row for s in steps if s.acquires and acquire < s.row < row)])
            for acquire in self.holds.acquire[self.holds.release == row].tolist()
        ]

    # The five conflicts.

    def _overload(self, time: int) -> str:
        holds = self.holds
        crowd = np.flatnonzero((holds.start <= time) & (holds.end > time))
        crowd = self._needed(crowd, lambda left: int(holds.weight[left].sum()))
        begin, end = int(holds.start[crowd].max()), int(holds.end[crowd].min())
        self._take(crowd)
        sessions = self._sessions(crowd)
        self._evidence(sessions, end)
        moment = Moment(begin, end)
        lived = tuple((session, end) for session in sessions)
        self.shapes.append(_Shape([dict.fromkeys(self.levels, moment)], evidence=lived))
        if self.lock.nesting is Nesting.NONE and len(self.levels) == 1:
            return self._outlived(crowd)
        last = crowd[int(np.argmax(holds.start[crowd]))]
        others = self._sessions(crowd[crowd != last])
        self._around(int(holds.acquire[last]), others, acquires=True)
        first = crowd[int(np.argmin(holds.end[crowd]))]
        if holds.released[first]:
            others = self._sessions(crowd[crowd != first])
            self._around(int(holds.release[first]), others, acquires=False)
        total = int(holds.weight[crowd].sum())
        when = (
            between(self.table, begin, end) if end != NEVER else f"from {at(self.table, begin)} on"
        )
        told = self._tell(crowd, begin, end)
        if self.lock.crowd is not None:
            return f"{self.lock.crowd(total)} {when}: {told}"
        names = [f"{who(self.table, int(holds.acquire[each]))}" for each in crowd]
        return f"{' and '.join(names)} both held it {when}: {told}"

    def _outlived(self, crowd: Ints) -> str:
        """A process acquired again while the session of its first hold still lived."""
        first, second = (int(self.holds.acquire[each]) for each in crowd)
        table = self.table
        time = int(self.holds.end[crowd[0]])
        self.candidates = [first, second]
        self.shapes = []
        self.guards = []
        self._evidence([self._session(first)], int(self.holds.start[crowd[1]]) + 1)
        return (
            f"{who(table, first)}'s {table.function(first)} returned at "
            f"{at(table, int(table.returned[first]))}, and so did its {table.function(second)} at "
            f"{at(table, int(table.returned[second]), time)}, without a release in between; "
            f"session {table.field('session')[first]} of the first still lived at "
            f"{at(table, time, int(table.returned[second]))}"
        )

    def _again(self, first: int, second: int) -> str:
        # No other row is needed: later releases of the process came after both.
        self.candidates += [first, second]
        table = self.table
        times = [int(table.returned[row]) for row in (first, second)]
        return (
            f"{who(table, first)}'s {table.function(first)} returned at {at(table, *times)}, and "
            f"so did its {table.function(second)} at {at(table, *reversed(times))}, without a "
            "release in between"
        )

    def _pulse(self, pulse: Pulse) -> str:
        holds = self.holds
        near = np.flatnonzero(
            (holds.start < holds.end) & (holds.start <= pulse.high) & (holds.end >= pulse.low)
        )
        near = self._needed(near, lambda left: self._least_load(left, pulse) + pulse.weight)
        process = int(self.table.process[pulse.row])
        own = np.flatnonzero((holds.acquire == pulse.row) & (holds.start >= holds.end))
        self._take(near, pulse.high)
        if len(own) and self.lock.nesting is Nesting.NONE and set(self.levels) == {process}:
            return self._outlived(np.concatenate((near, own)))
        self.involved = np.concatenate((near, own))
        self._steps_of(process, self._begin_of(pulse.row))
        self.candidates.append(pulse.row)
        acquires = bool(self.acquires[pulse.row])
        sessions = self._sessions(near)
        self._evidence(sessions, pulse.high + 1)
        self._around(pulse.row, sessions, acquires=acquires)
        when = between(self.table, pulse.low, pulse.high)
        if acquires and len(own):
            mine = self._sessions(own[:1])
            release = int(holds.release[own[0]])
            self._guard(own[0])
            self._evidence(mine, pulse.low)
            within = Moment(pulse.low - 1, pulse.low, since=pulse.row)
            lived = tuple((session, pulse.low) for session in mine)
            self._throughout(pulse.low, pulse.high, process, within, lived, sessions)
            if release >= 0 and holds.released[own[0]]:
                self._around(release, sessions, acquires=False)
        name = self.table.function(pulse.row)
        return (
            f"{who(self.table, pulse.row)} must have held it{self._share(pulse.weight)} at some "
            f"moment {when}, when its {name} took effect, and there was no room: "
            f"{self._tell(near, pulse.low, pulse.high)}"
        )

    def _orphan(self, row: int) -> str:
        table = self.table
        process = int(table.process[row])
        own = np.flatnonzero((table.process == process) & (self.acquires | self.releases))
        own = own[: int(np.searchsorted(own, row)) + 1]
        recent = own[-2 * MOST :]
        earlier = bool(self.acquires[own[: -2 * MOST]].any())
        self.levels[process] = self._levels(recent, earlier=earlier)
        self.shapes.append(_Shape([{process: Moment(_LONG_AGO, NEVER)}]))
        if len(self._sessions_of(recent)) > 1:
            # A forgotten acquire could belong to any of the sessions.
            self.exact = False
            self.candidates += recent.tolist()
        else:
            self.candidates += self._suffix(recent)
        before = own[-2] if len(own) > 1 else None
        why = "it had acquired nothing"
        if before is not None:
            what = "answered" if table.outcome[before] == OK else "was called"
            time = table.returned[before] if table.outcome[before] == OK else table.call[before]
            why = (
                f"it held nothing, or not so much, after its {table.function(int(before))} "
                f"{what} at {at(table, int(time))}"
            )
        return (
            f"{who(table, row)}'s {table.function(row)} at {at(table, int(table.call[row]))} was "
            f"acknowledged, and {why}"
        )

    def _suffix(self, rows: Ints) -> list[int]:
        """The last operations of a process that contradict each other."""
        count = 1
        while count < len(rows) and not self._contradicts(rows[-count:].tolist()):
            count *= 2
        return [int(row) for row in rows[-count:]]

    def _together(self, acquires: Sequence[int]) -> str:
        names = " and ".join(
            f"{who(self.table, row)} (at {at(self.table, int(self.table.returned[row]))})"
            for row in acquires
        )
        session = self.table.field("session")[acquires[0]]
        self.candidates += acquires
        for row in acquires:
            later = np.flatnonzero(self.table.process[row + 1 :] == self.table.process[row])
            own = [int(each) + row + 1 for each in later]
            guards = [each for each in own if self.acquires[each] or self.releases[each]]
            self.candidates += guards[:2]
            self.exact &= not guards
        return (
            f"{names} acquired it in the same session {session}, which still lived at the later "
            "acquire, and nobody released it"
        )

    # Holds and their operations.

    def _needed(self, places: Ints, load: Callable[[Ints], int]) -> Ints:
        """A minimal set of holds that exceed the capacity; the first to end are dropped first."""
        if len(places) > MOST:
            self.exact = False
            return places
        order = places[np.argsort(self.holds.end[places], kind="stable")].tolist()
        kept, _ = minimise(order, lambda some: load(np.array(some, np.int64)) > self.lock.capacity)
        left = np.array(kept, np.int64)
        return left[np.lexsort((self.holds.acquire[left], self.holds.start[left]))]

    def _least_load(self, places: Ints, pulse: Pulse) -> int:
        start, end = self.holds.start[places], self.holds.end[places]
        weight = self.holds.weight[places]
        times = self._edges(pulse.low, pulse.high, places)
        return int(Loads(start, end, weight, self.lock.capacity).at(times).min())

    def _edges(self, low: int, high: int, places: Ints) -> Ints:
        """Times from low to high at which the load of some holds can be lowest."""
        ends = self.holds.end[places]
        inside = ends[(ends > low) & (ends < high)]
        return np.unique(np.concatenate(([low, high], inside)))

    def _take(self, places: Ints, until: int = MISSING) -> None:
        """Add the operations of holds, up to some time, to the candidates for the witness."""
        table = self.table
        self.involved = places
        self.candidates += [int(row) for row in self.holds.acquire[places]]
        processes = table.process[self.holds.acquire[places]]
        for process in np.unique(processes).tolist():
            rows = self.holds.acquire[places[processes == process]]
            self._steps_of(process, int(rows.min()))
        for place in places:
            self._guard(place)
        if self.lock.nesting is not Nesting.NONE and self.holds.nesting:
            for process in np.unique(processes).tolist():
                if process in self.holds.nesting:
                    self._take_all(process, places, until)

    def _take_all(self, process: int, places: Ints, until: int) -> None:
        """Add all operations of a process that has several holds at once, while they last."""
        last = max(until, int(self.holds.start[places].max()))
        first = int(self.holds.acquire[places].min())
        steps = [step for step in self.levels[process].steps if step.row >= first]
        after = [at for at, step in enumerate(steps) if step.call > last]
        count = after[0] + len(self.holds.weight[places]) + 8 if after else len(steps)
        rows = [step.row for step in steps[:count]]
        self.candidates += rows
        self.guards += rows

    def _steps_of(self, process: int, first: int) -> None:
        """Collect the operations of a process from a row on."""
        if process in self.levels:
            first = min(first, self.levels[process].steps[0].row)
        own = (self.table.process == process) & (self.acquires | self.releases)
        rows = np.flatnonzero(own)
        begin = max(0, int(np.searchsorted(rows, first)) - FEW)
        earlier = rows[:begin]
        rows = rows[begin : begin + 2 * MOST]
        if self.lock.nesting is Nesting.COUNTED and self.lock.weight is not None and begin:
            # What it held before can only be a multiple of what it acquires.
            self.exact &= len(np.unique(self.lock.weight[rows])) == 1
        self.levels[process] = self._levels(rows, earlier=bool(self.acquires[earlier].any()))

    def _levels(self, rows: Ints, *, earlier: bool) -> Levels:
        table = self.table
        weight = self.lock.weight
        steps = [
            Step(
                row=row,
                acquires=bool(self.acquires[row]),
                outcome=int(table.outcome[row]),
                weight=1 if weight is None else int(weight[row]),
                call=int(table.call[row]),
                returned=int(table.returned[row]),
                session=self._session(row),
            )
            for row in rows.tolist()
        ]
        return Levels(steps, self.lock.nesting, self.lock.capacity, earlier=earlier)

    def _begin_of(self, row: int) -> int:
        """The first row of its process that matters for a row."""
        if self.acquires[row]:
            return row
        own = (self.table.process[:row] == self.table.process[row]) & self.acquires[:row]
        rows = np.flatnonzero(own)
        return int(rows[-1]) if len(rows) else row

    def _guard(self, place: int) -> None:
        """Add what shows that a hold had not ended: its release, or its process's next rows."""
        row = int(self.holds.acquire[place])
        following = [s.row for s in self.levels[int(self.table.process[row])].steps if s.row > row]
        release = int(self.holds.release[place])
        if release >= 0:
            self.candidates.append(release)
        else:
            doubtful = int(self.table.process[row]) in self.holds.doubtful
            following = following if doubtful else following[:2]
            self.candidates += following
            self.guards += following

    def _sessions(self, places: Ints) -> list[int]:
        """Sessions in which some holds were acquired."""
        return self._sessions_of(self.holds.acquire[places])

    def _sessions_of(self, rows: Ints) -> list[int]:
        return sorted({self._session(int(row)) for row in rows} - {MISSING})

    def _evidence(self, sessions: Iterable[int], time: int) -> None:
        """The last operations that show that sessions lived."""
        table = self.table
        for session in sessions:
            if self._lived(set(self.candidates), session, time):
                continue
            named = (table.field("session").numbers == session) & (table.outcome == OK)
            named &= table.call >= time
            rows = np.flatnonzero(named & ~self.acquires)
            if len(rows):
                self.candidates.append(int(rows[-1]))
                continue
            holds = self.holds
            own = table.field("session").numbers[holds.acquire] == session
            released = np.flatnonzero(own & holds.released & (holds.end >= time))[-1:]
            for place in released:
                self.candidates += [int(holds.acquire[place]), int(holds.release[place])]
            if not len(released):
                self.candidates += np.flatnonzero(named)[-1:].tolist()
            # Another process has a hold in this session, which may be a further conflict.
            self.exact = False

    # The shapes of contradictions.

    def _around(self, row: int, sessions: Sequence[int], *, acquires: bool) -> None:
        """There is no room for one operation from its call to its return."""
        low, high = int(self.table.call[row]), int(self.table.returned[row])
        process = int(self.table.process[row])
        own = Moment(low - 1, high + 1, **{"after" if acquires else "before": row})
        lived = tuple((session, high + 1) for session in sessions)
        self._throughout(low, high, process, own, (), sessions, lived=lived, pivots=(row,))

    def _throughout(
        self,
        low: int,
        high: int,
        process: int,
        own: Moment,
        mine: tuple[tuple[int, int], ...],
        sessions: Sequence[int],
        *,
        lived: tuple[tuple[int, int], ...] | None = None,
        pivots: tuple[int, ...] = (),
    ) -> None:
        """From low to high other processes hold so much that there is no room for one hold."""
        ends = sorted(
            {low, high}
            | {
                time
                for levels in self.levels.values()
                for step in levels.steps
                for time in (step.call, step.returned)
                if low < time < high
            }
        )
        moments = [
            {each: own if each == process else Moment(time - 1, time + 1) for each in self.levels}
            for time in ends
        ]
        others = lived if lived is not None else tuple((session, high + 1) for session in sessions)
        self.shapes.append(_Shape(moments, pivots, (*mine, *others)))

    # Descriptions.

    def _share(self, weight: int) -> str:
        share = self.lock.share(weight)
        return f" ({share})" if share else ""

    def _tell(self, places: Ints, low: int, high: int) -> str:
        """The holders, what they held, and from when to when."""
        table, holds = self.table, self.holds
        parts = []
        for place in places[:TOLD]:
            acquire, release = int(holds.acquire[place]), int(holds.release[place])
            start, end = int(holds.start[place]), int(holds.end[place])
            if end == NEVER:
                until = "on, and never released it"
            elif release >= 0 and end == table.call[release]:
                until = (
                    f"to the call of its {table.function(release)} at "
                    f"{at(table, end, start, low, high)}"
                )
            elif self._session(acquire) != MISSING:
                until = (
                    f"to {at(table, end, start, low, high)}, when its session "
                    f"{table.field('session')[acquire]} was last known to live"
                )
            else:
                until = f"to {at(table, end, start, low, high)}"
            parts.append(
                f"{who(table, acquire)}{self._share(int(holds.weight[place]))} from the return of "
                f"its {table.function(acquire)} at {at(table, start, end, low, high)} {until}"
            )
        if len(places) > TOLD:
            parts.append(f"and {len(places) - TOLD} more")
        return "; ".join(parts)
