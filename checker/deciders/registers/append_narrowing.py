"""Bounds of the times at which appends, puts and reads took effect, where pieces are repeated.

Where each piece is written once, the reads determine everything (`append_eras`). Where a piece is
written several times, a read does not show which of the operations it observes; mostly the times
do. This module *narrows* a history: it raises calls, lowers returns, and finds operations of
unknown outcome that certainly took effect. The narrowed history has the same linearizations,
because each bound follows from the history alone:

1. **Roots.** A read shows a put, or the beginning, and pieces appended since. A put can be the root
   of a read if it wrote what the read begins with, was called before the read returned, and was not
   *superseded*: no other put lies, from call to return, between the two. After the root no piece
   stands more often than it was appended. A read without a root is a contradiction. A read with one
   root belongs to the *era* of that root. A read with several roots is *loose*: it bounds nothing.
2. **Places.** Each read of an era is a prefix of its longest read, as nothing was put in between.
   So the era has one order: the root, the reads that show nothing more, the first append (place
   1), the reads that show only that, and so on. An operation cannot take effect before the latest
   call of those before it, nor after the earliest return of those after it.
3. **Candidates.** The operation at a place is one of the appends of its piece whose times allow
   it, and which is not certainly at another place. No candidate is a contradiction. A single
   candidate certainly took effect there, and narrows its neighbours in turn. Of several, the
   earliest call and the latest return bound the place.
4. **Lone operations.** An acknowledged append that is a candidate for no place, and whose piece no
   loose read shows, is shown by no read. So is an acknowledged put that is the root of no read.
   It takes effect between two eras, or after the last read of one: inside an era a read would
   show it.
5. **Zones.** The operations of an era are contiguous (`zones`), and eras and lone operations
   follow each other. Between the first return and the last call of an era there are only its own
   operations; all others precede it or follow it, which bounds their times.

If there is no contradiction, the narrowed history is searched (`append_search`). The cost of the
search depends on how many operations are open at once; in a narrowed history these are few.

**Cost**: near-linear in the total length of the texts, for each of at most `MOST_ROUNDS` rounds; a
piece that was appended k times and is shown k times costs k squared. Beyond the budget it stops.

Source: that reads show the order of appends: Kingsbury and Alvaro, Elle, VLDB 2020, section 3;
zones: Gibbons and Korach, Testing shared memories, SIAM J. Comput. 1997, section 4.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from rumpus.checker.deciders.decision import Budget
from rumpus.checker.deciders.forgetting import Contradiction
from rumpus.checker.deciders.operation_table import NEVER, OK, OperationTable
from rumpus.checker.deciders.registers.append_eras import (
    BEGINNING,
    AppendedValue,
    before,
    out_of_order,
    overlapping_eras,
    short,
    told,
    two_orders,
)
from rumpus.checker.deciders.registers.pieces import TooLong
from rumpus.checker.deciders.registers.zones import contradicting_clusters
from rumpus.checker.deciders.values import MISSING
from rumpus.checker.linearizability.search_steps import SearchStep

MOST_ROUNDS = 8
"""The most rounds in which bounds are propagated; the search decides what is left."""

_ENTRY_BYTES, _LIST_BYTES = 8, 64
_READ_ENTRIES = 16  # as many entries of a list take as much as a `_Read`

Bound = tuple[int, int]
"""A time, and the row of the operation that it comes from; -1 for none."""
EARLIEST: Bound = (MISSING, -1)
LATEST: Bound = (NEVER, -1)


class Shown(NamedTuple):
    """What reads show of an era.

    Attributes:
        pieces: after its root.
        text: all of it.
        ends: where the root ends in the text, and each piece.
    """

    pieces: list[Any]
    text: Any
    ends: list[int]

    def at(self, place: int) -> Any:
        """The text up to a place."""
        return self.text[: self.ends[place]]


class Narrowed(NamedTuple):
    """A narrowed history.

    Its operations are ``root`` of an era; ``place``, ``get`` and ``close`` in an era; ``lose`` for
    an operation that no read can show; ``put``, ``append`` and ``read`` for those whose era is
    not known. An era is named by the row of its root. The argument of ``root`` and ``close`` is
    the era, that of ``place`` the era and the place; the result of ``get`` is the era and how many
    of its places the read shows. The others are as in the history. Call and return are bounds of
    the time at which an operation took effect.

    Attributes:
        settled: whether the era of each read and the operation at each place are known; then
            there is a linearization, and there are no parts.
        parts: the operations; those left out took no effect, or need not have.
        eras: what is shown of each.
        loose: what the reads show of which it is not known to which era they belong.
    """

    settled: bool
    parts: Sequence[SearchStep] = ()
    eras: Mapping[int, Shown] = MappingProxyType({})
    loose: Sequence[Any] = ()


class _Read(NamedTuple):
    """A read, if it belongs to a root: the pieces after the root, and where they end."""

    row: int
    put: int
    text: Any
    pieces: list[Any]
    ends: list[int]


@dataclass
class _Era:
    """A root and what is shown after it.

    Attributes:
        put: row of the root, or `BEGINNING`.
        longest: row of a read that shows all of it.
        candidates: for each place, the appends that may have taken it.
        reads: the reads, and how many places each shows.
        first_return, last_call: of the reads, by how many places they show.
        least, most: bounds of the root and of each place.
        start, end: bounds of the whole.
    """

    put: int
    longest: int
    candidates: list[list[int]]
    reads: list[tuple[int, int]] = field(default_factory=list)
    first_return: list[Bound] = field(default_factory=list)
    last_call: list[Bound] = field(default_factory=list)
    least: list[Bound] = field(default_factory=list)
    most: list[Bound] = field(default_factory=list)
    start: Bound = EARLIEST
    end: Bound = LATEST

    def begins(self) -> Bound:
        """The latest call of all operations."""
        return max(self.least[-1], self.last_call[-1])

    def ends(self) -> Bound:
        """The earliest return of all operations; before everything for the beginning."""
        return EARLIEST if self.put == BEGINNING else self.most[0]


class _Contradicted(Exception):  # noqa: N818 - reads as the state it names
    """The history has a contradiction."""

    def __init__(self, contradiction: Contradiction) -> None:
        super().__init__()
        self.contradiction = contradiction


def narrow(table: OperationTable, initial: Any, budget: Budget) -> Narrowed | Contradiction:
    """The narrowed history, or a contradiction.

    Args:
        table: operations on one value, in any order.
        initial: the value before everything, a string or a tuple.
        budget: for the narrowing.

    Raises:
        Undecidable: the reads cannot be split into pieces in one way only.
        TooLong: to split the texts would take too long, or the budget is spent.
    """
    try:
        return _Narrowing(table, initial, budget).narrowed()
    except _Contradicted as found:
        return found.contradiction


class _Narrowing:
    """The bounds that are known so far."""

    def __init__(self, table: OperationTable, initial: Any, budget: Budget) -> None:
        self.table = table
        self.budget = budget
        self.kept = 0
        self.value = value = AppendedValue(table, initial)
        self.call: list[int] = table.call.tolist()
        self.returned: list[int] = table.returned.tolist()
        self.outcome: list[int] = table.outcome.tolist()
        self.put_rows: dict[Any, list[int]] = defaultdict(list)
        for row, text in value.puts.items():
            self.put_rows[text].append(row)
        self.append_rows: dict[Any, list[int]] = defaultdict(list)
        for row, piece in value.appends.items():
            self.append_rows[piece].append(row)
        self.first_call = {
            piece: min(self.call[row] for row in rows) for piece, rows in self.append_rows.items()
        }
        self.taken: dict[int, tuple[int, int]] = {}
        self.loose_roots: set[int] = set()
        self.loose_pieces: set[Hashable] = set()
        self.options = self._options()
        self.undecided = list(self.options)
        self.eras: dict[int, _Era] = {}
        self.lone: list[int] = []
        self.lone_bounds: list[tuple[int, int]] = []
        self._gather()
        for _ in range(MOST_ROUNDS):
            known = len(self.taken), self.lone_bounds
            self._propagate()
            self.lone = self._lone()
            self.lone_bounds = [(self.call[row], self.returned[row]) for row in self.lone]
            self._keep_apart()
            if self._settle_roots():
                self._gather()
            elif known == (len(self.taken), self.lone_bounds):
                break

    def _keep(self, entries: int) -> None:
        """Count the memory of one more list.

        Raises:
            TooLong: the budget is spent.
        """
        self.kept += _LIST_BYTES + _ENTRY_BYTES * entries
        most = self.budget.bytes
        if self.budget.spent or (most is not None and self.kept > most):
            raise TooLong("too many operations can have taken the places that reads show")

    @property
    def settled(self) -> bool:
        """Whether the era of each read and the operation at each place are known."""
        places = sum(len(era.candidates) for era in self.eras.values())
        return not self.undecided and len(self.taken) == places

    def narrowed(self) -> Narrowed:
        """The narrowed history, by the bounds known so far."""
        if self.settled:
            return Narrowed(settled=True)
        parts: list[SearchStep] = []
        eras: dict[int, Shown] = {}
        for put, era in self.eras.items():
            longest = self.options[era.longest][0]
            root = len(longest.text) - sum(map(self._length, longest.pieces))
            eras[put] = Shown(longest.pieces, longest.text, [root, *longest.ends])
            if put != BEGINNING:
                low, high = era.least[0][0], era.most[0][0]
                parts.append(SearchStep(put, "root", put, None, low, high, certain=True))
            for place, rows in enumerate(era.candidates, start=1):
                if self.taken.get(rows[0]) == (put, place):
                    low, high = era.least[place][0], era.most[place][0]
                    parts.append(
                        SearchStep(rows[0], "place", (put, place), None, low, high, certain=True)
                    )
            parts += self._reads(era)
        for row, (low, high) in zip(self.lone, self.lone_bounds, strict=True):
            parts.append(SearchStep(row, "lose", None, None, low, high, certain=True))
        known = {part.row for part in parts}
        maybe = {row for era in self.eras.values() for rows in era.candidates for row in rows}
        for f, written in (("put", self.value.puts), ("append", self.value.appends)):
            for row, text in written.items():
                if row in known or not (
                    row in maybe or row in self.loose_roots or text in self.loose_pieces
                ):
                    continue
                certain = self.outcome[row] == OK
                parts.append(
                    SearchStep(row, f, text, None, self.call[row], self.returned[row], certain)
                )
        loose = [self.options[row][0].text for row in self.undecided]
        for row, text in zip(self.undecided, loose, strict=True):
            parts.append(
                SearchStep(
                    row, "read", None, text, self.call[row], self.returned[row], certain=True
                )
            )
        return Narrowed(settled=False, parts=parts, eras=eras, loose=loose)

    def _reads(self, era: _Era) -> Iterator[SearchStep]:
        """The reads of an era; of those that show all of it the one called last closes it."""
        whole = len(era.candidates)
        _, closing = era.last_call[whole]
        for row, shown in era.reads:
            above = era.most[shown + 1] if shown < whole else era.end
            low = max(self.call[row], era.least[shown][0])
            high = min(self.returned[row], above[0])
            if row == closing:
                yield SearchStep(row, "close", era.put, None, low, high, certain=True)
            else:
                yield SearchStep(row, "get", None, (era.put, shown), low, high, certain=True)

    def _options(self) -> dict[int, list[_Read]]:
        """The possible roots of each read."""
        superseded = self._superseded()
        options: dict[int, list[_Read]] = {}
        for text, rows in self.value.read.items():
            pieces, ends = self._apart(text)
            after = [(pieces, ends), (pieces[1:], ends[1:])]
            roots = [
                (since, superseded[put][0], put, *after[skipped])
                for put, skipped, since in self._roots(text, pieces)
            ]
            for row in rows:
                self._keep(_READ_ENTRIES * len(roots))
                call, returned = self.call[row], self.returned[row]
                options[row] = [
                    _Read(row, put, text, after, ends_after)
                    for since, until, put, after, ends_after in roots
                    if since <= returned and until >= call
                ]
                if not options[row]:
                    raise _Contradicted(self._without_root(row, pieces, superseded))
        return options

    def _gather(self) -> None:
        """Add each read with one root to the era of that root."""
        shown: dict[int, list[_Read]] = defaultdict(list)
        for row in self.undecided:
            if len(self.options[row]) == 1:
                read = self.options[row][0]
                shown[read.put].append(read)
        self.undecided = [row for row in self.undecided if len(self.options[row]) > 1]
        for put, reads in shown.items():
            known = (
                [self.options[row][0] for row, _ in self.eras[put].reads]
                if put in self.eras
                else []
            )
            self.eras[put] = self._era(put, [*known, *reads])
        loose = [read for row in self.undecided for read in self.options[row]]
        self.loose_roots = {read.put for read in loose}
        apart = {id(read.pieces): read.pieces for read in loose}
        self.loose_pieces = {piece for pieces in apart.values() for piece in pieces}

    def _settle_roots(self) -> bool:
        """Drop roots that the eras and their zones exclude; whether any was dropped."""
        if not self.undecided:
            return False
        zones = sorted(
            (era.ends()[0], era.begins()[0], put)
            for put, era in self.eras.items()
            if era.ends()[0] < era.begins()[0]
        )
        starts = [zone[0] for zone in zones]
        dropped = False
        for row in self.undecided:
            self._keep(0)
            left = [read for read in self.options[row] if self._fits(read, zones, starts)]
            if not left:
                puts = [read.put for read in self.options[row]]
                raise _Contradicted(self._without_matching_root(row, puts))
            dropped |= len(left) < len(self.options[row])
            self.options[row] = left
        return dropped

    def _fits(
        self, read: _Read, zones: Sequence[tuple[int, int, int]], starts: Sequence[int]
    ) -> bool:
        """Whether a read may belong to a root, by its era's bounds and the other eras' zones."""
        call, returned = self.call[read.row], self.returned[read.row]
        end = min(returned, self.returned[read.put] if read.put != BEGINNING else MISSING)
        begin = max(call, self.call[read.put] if read.put != BEGINNING else MISSING)
        era = self.eras.get(read.put)
        if era is not None:
            shown = len(read.pieces)
            longest = self.options[era.longest][0].pieces
            both = min(shown, len(longest))
            if longest[:both] != read.pieces[:both] or returned < era.least[both][0]:
                return False
            if shown < len(longest) and call > era.most[shown + 1][0]:
                return False
            if call > era.end[0]:
                return False
            end, begin = min(end, era.ends()[0]), max(begin, era.begins()[0])
        last = bisect_left(starts, begin) - 1
        if last >= 0 and zones[last][2] == read.put:
            last -= 1
        return last < 0 or zones[last][1] <= end

    def _without_matching_root(self, row: int, puts: Sequence[int]) -> Contradiction:
        """None of several roots of a read agrees with the other reads."""
        rows = [row, *puts, *(self.eras[put].longest for put in puts if put in self.eras)]

        def words(table: OperationTable) -> str:
            return (
                f"{told(table, row)}: neither the beginning nor any put that it can begin with "
                "goes with what the other reads show"
            )

        return Contradiction(_known(rows), words)

    def _apart(self, text: Any) -> tuple[list[Any], list[int]]:
        """The pieces of a text, and where each ends; of a list without the initial ones."""
        initial = self.value.initial
        if isinstance(initial, str):
            apart = self.value.pieces.apart(text)
        elif text[: len(initial)] == initial:
            apart = self.value.pieces.apart(text, len(initial))
        else:
            raise _Contradicted(self.value.alone(text, f"it began with {short(initial)}"))
        if apart.left is not None:
            rest = short(text[apart.left : apart.left + 30])
            why = f"nobody wrote what stands there at {apart.left}, {rest}"
            raise _Contradicted(self.value.alone(text, why))
        return apart.pieces, apart.ends

    def _superseded(self) -> dict[int, Bound]:
        """For each possible root, the first return of a put that was called after its return."""
        known = [row for row in self.value.puts if self.outcome[row] == OK]
        known.sort(key=self.call.__getitem__)
        calls = [self.call[row] for row in known]
        first: list[Bound] = [LATEST] * (len(known) + 1)
        for at in range(len(known) - 1, -1, -1):
            first[at] = min(first[at + 1], (self.returned[known[at]], known[at]))
        found = {
            row: first[bisect_left(calls, self.returned[row] + 1)]
            if self.returned[row] < NEVER
            else LATEST
            for row in self.value.puts
        }
        found[BEGINNING] = first[0]
        return found

    def _roots(self, text: Any, pieces: list[Any]) -> Iterator[tuple[int, int, int]]:
        """Possible roots of a text: each root, the pieces that it takes, and the latest call."""
        initial = self.value.initial
        strings = isinstance(initial, str)
        skipped = 1 if strings and initial else 0
        calls = [self.first_call.get(piece, NEVER) for piece in pieces]
        more = {
            piece: times - len(self.append_rows.get(piece, ()))
            for piece, times in Counter(pieces).items()
        }
        if too_many := [piece for piece in pieces if more[piece] > 0]:
            first = pieces[0]
            rooted = strings and (first == initial or first in self.put_rows)
            if not rooted or more[first] > 1 or {*too_many} != {first}:
                raise _Contradicted(self._too_often(text, too_many[-1], pieces))
        if (skipped and pieces and pieces[0] == initial) or not (skipped or too_many):
            yield BEGINNING, skipped, max(calls[skipped:], default=MISSING)
        if strings and text:
            appended = max(calls[1:], default=MISSING)
            for put in self.put_rows.get(pieces[0], ()):
                yield put, 1, max(appended, self.call[put])

    def _too_often(self, text: Any, piece: Any, pieces: list[Any]) -> Contradiction:
        """A piece that a read shows more often than it was appended."""
        times, appended = pieces.count(piece), len(self.append_rows.get(piece, ()))
        return self.value.alone(
            text, f"{short(piece)} stands there {times} times, and was appended {appended} times"
        )

    def _without_root(
        self, row: int, pieces: list[Any], superseded: dict[int, Bound]
    ) -> Contradiction:
        """A read has no possible root."""
        puts = self.put_rows.get(pieces[0], []) if pieces else []
        roots = [put for put in (BEGINNING, *puts) if superseded[put][0] < self.call[row]]
        late = [
            min((self.call[other], other) for other in self.append_rows[piece])[1]
            for piece in pieces
            if self.returned[row] < self.first_call.get(piece, MISSING)
        ]
        replaced = [superseded[put][1] for put in roots]
        rows = [row, *puts, *replaced, *late]

        def words(table: OperationTable) -> str:
            if late:
                return f"{before(table, row, late[0])}, which it shows"
            if replaced and not puts:
                return (
                    f"{before(table, replaced[0], row)}, which shows nothing of it; and what was "
                    "replaced by a put does not come back"
                )
            return (
                f"{told(table, row)}: no put, nor the beginning, can have been followed by that "
                "before it returned and not have been replaced before it was called"
            )

        return Contradiction(_known(rows), words)

    def _era(self, put: int, reads: Sequence[_Read]) -> _Era:
        """An era from its reads."""
        row, _, longest, pieces, ends = max(reads, key=lambda read: len(read.text))
        fits = {text: longest[: len(text)] == text for text in {read.text for read in reads}}
        root = len(longest) if not pieces else ends[0] - self._length(pieces[0])
        places = {root: 0, **{end: place for place, end in enumerate(ends, start=1)}}
        era = _Era(put, row, [])
        for piece in pieces:
            self._keep(len(self.append_rows[piece]))
            era.candidates.append(self.append_rows[piece][:])
        era.first_return = [LATEST] * (len(pieces) + 1)
        era.last_call = [EARLIEST] * (len(pieces) + 1)
        for other, _, text, _, _ in reads:
            if not fits[text]:
                raise _Contradicted(two_orders(row, other))
            shown = places[len(text)]
            era.reads.append((other, shown))
            era.first_return[shown] = min(era.first_return[shown], (self.returned[other], other))
            era.last_call[shown] = max(era.last_call[shown], (self.call[other], other))
        return era

    def _length(self, piece: Any) -> int:
        return len(piece) if isinstance(self.value.initial, str) else 1

    def _propagate(self) -> None:
        """Propagate bounds until nothing changes, at most `MOST_ROUNDS` times."""
        for _ in range(MOST_ROUNDS):
            changed = False
            for era in self.eras.values():
                changed |= self._bound(era)
            if not changed:
                return

    def _bound(self, era: _Era) -> bool:
        """Update the bounds of an era; whether a place lost candidates or has its only one."""
        call, returned = self.call, self.returned
        least = era.start if era.put == BEGINNING else max(era.start, (call[era.put], era.put))
        era.least = [least]
        for place, rows in enumerate(era.candidates):
            least = max(least, era.last_call[place], min((call[row], row) for row in rows))
            era.least.append(least)
        most = era.end
        era.most = []
        for place in range(len(era.candidates), 0, -1):
            rows = era.candidates[place - 1]
            most = min(most, era.first_return[place], max((returned[row], row) for row in rows))
            era.most.append(most)
        most = min(most, era.first_return[0])
        era.most.append(most if era.put == BEGINNING else min(most, (returned[era.put], era.put)))
        era.most.reverse()
        changed = False
        for place, (low, high) in enumerate(zip(era.least, era.most, strict=True)):
            if low[0] > high[0]:
                raise _Contradicted(self._wrong_order(era, low[1], high[1]))
            if not place:
                continue
            rows = era.candidates[place - 1]
            here = (era.put, place)
            self._keep(0)
            if len(rows) == 1 and self.taken.get(rows[0]) == here:
                continue
            left = [
                row
                for row in rows
                if call[row] <= high[0]
                and returned[row] >= low[0]
                and self.taken.get(row, here) == here
            ]
            if not left:
                raise _Contradicted(self._without_candidate(era, place, rows))
            if len(left) < len(rows):
                era.candidates[place - 1] = left
                changed = True
            if len(left) == 1:
                self.taken[left[0]] = here
                changed = True
        return changed

    def _wrong_order(self, era: _Era, late: int, early: int) -> Contradiction:
        """Two operations whose times forbid the order of their era."""
        members = {era.put, *(row for row, _ in era.reads)}
        members.update(row for rows in era.candidates for row in rows)
        if {late, early} <= members:
            return out_of_order(late, early, era.longest)
        return Contradiction(
            [era.longest, late, early],
            lambda table: (
                f"{before(table, early, late)}; but what {told(table, era.longest)} shows allows "
                "only the other order"
            ),
        )

    def _without_candidate(self, era: _Era, place: int, rows: Sequence[int]) -> Contradiction:
        """A place has no candidate."""
        piece = self.value.appends[rows[0]]
        bounds = [era.least[place][1], era.most[place][1]]
        reads = {self.eras[self.taken[row][0]].longest for row in rows if row in self.taken}
        known = _known([era.longest, *bounds, *self.append_rows[piece], *reads, era.put])

        def words(table: OperationTable) -> str:
            return (
                f"{told(table, era.longest)}: no append of {short(piece)} can have come between "
                "what it shows before that and what it shows after it"
            )

        return Contradiction(known, words)

    def _lone(self) -> list[int]:
        """Acknowledged operations that no read can show."""
        shown = {row for era in self.eras.values() for rows in era.candidates for row in rows}
        shown |= set(self.eras) | self.loose_roots
        return [
            row
            for row in (*self.value.puts, *self.value.appends)
            if self.outcome[row] == OK
            and row not in shown
            and self.value.appends.get(row) not in self.loose_pieces
        ]

    def _keep_apart(self) -> None:
        """Bound eras and lone operations by the zones of eras.

        Raises:
            _Contradicted: two of them overlap.
        """
        eras = list(self.eras.values())
        ends: list[Bound] = [era.ends() for era in eras]
        begins: list[Bound] = [era.begins() for era in eras]
        ends += [(self.returned[row], row) for row in self.lone]
        begins += [(self.call[row], row) for row in self.lone]
        pair = contradicting_clusters(
            np.array([end for end, _ in ends], dtype=np.int64),
            np.array([begin for begin, _ in begins], dtype=np.int64),
        )
        if pair is not None:
            raise _Contradicted(self._overlapping(*pair, ends, begins))
        forward = [k for k in range(len(eras)) if ends[k][0] < begins[k][0]]
        forward.sort(key=lambda k: ends[k][0])
        starts = [ends[k][0] for k in forward]
        stops = [begins[k][0] for k in forward]
        for k, (end, begin) in enumerate(zip(ends, begins, strict=True)):
            # Zones that begin before this one's last call come before it, those that stop after
            # its first return after it; zones are apart, and this one is none of them.
            last = bisect_left(starts, begin[0]) - 1
            first = bisect_left(stops, end[0] + 1)
            while last >= 0 and forward[last] == k:
                last -= 1
            while first < len(forward) and forward[first] == k:
                first += 1
            after = begins[forward[last]] if last >= 0 else EARLIEST
            until = ends[forward[first]] if first < len(forward) else LATEST
            if k < len(eras):
                eras[k].start = max(eras[k].start, after)
                eras[k].end = min(eras[k].end, until)
            else:
                low, high = self.lone_bounds[k - len(eras)]
                self.lone_bounds[k - len(eras)] = (max(low, after[0]), min(high, until[0]))

    def _overlapping(
        self, one: int, other: int, ends: Sequence[Bound], begins: Sequence[Bound]
    ) -> Contradiction:
        """Two eras or lone operations each of which must precede the other."""
        first, second = sorted((one, other), key=lambda k: ends[k][0])
        known = list(self.eras.values())
        eras = [known[k] for k in (one, other) if k < len(known)]
        lone = [self.lone[k - len(known)] for k in (one, other) if k >= len(known)]
        rows = [era.longest for era in eras]
        rows += [bound[1] for k in (first, second) for bound in (ends[k], begins[k])]
        rows += [era.put for era in eras]

        words = partial(
            overlapping_eras,
            first=(ends[first][1], begins[first][1]),
            second=(ends[second][1], begins[second][1]),
            lone=lone[0] if lone else None,
            from_beginning=ends[first][0] == MISSING,
        )
        return Contradiction(_known(rows), words)


def _known(rows: Sequence[int]) -> list[int]:
    """Distinct rows in their order, without -1."""
    return [row for row in dict.fromkeys(rows) if row >= 0]
