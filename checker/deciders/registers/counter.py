"""Counter: each read returns the sum of the additions before it.

**What is decided.** Linearizability of ``add`` and ``read``. *Exact* where all additions add the
same amount (increments by one, for example), with any number of additions of unknown outcome. With
different amounts the problem contains subset sum (which of the concurrent additions does a read
include?). There bounds refuse impossible reads, and the general search decides the rest.

**Equal amounts.** Subtract the initial value and divide by the amount. Let s(v) be the time of the
v-th addition. A read of v lies between s(v) and s(v+1), so s(v) has to lie between lo(v), the
latest call of a read below v, and hi(v), the earliest return of a read of v or more. Both increase
with v, and a history with lo(v) > hi(v) is refused: the counter went back. Assign additions to the
numbers 1, 2, ... so that the interval of each meets the window of its number. Then the times can be
put in order by exchanging them, since windows increase, and all reads fit. So the history is
linearizable iff there is such an assignment that uses every acknowledged addition, and that assigns
an addition to each number up to the largest read. The window of larger numbers begins at the last
call of a read, and there is no limit to their count.

Because the windows increase, an addition fits an interval of numbers, A to B. Such an assignment
exists iff one exists that uses every acknowledged addition, and another that uses all numbers
(Mendelsohn and Dulmage 1958). By Hall's theorem the second exists iff each read of v returned
after at least v additions had been called. (A run of numbers k+1 ... v cannot be short of
additions if 1 ... v is not: additions that surely came before a read of at most k are at most k by
the first.) The first is scheduling of unit jobs with release A and deadline B: earliest deadline
first decides it (Jackson 1955; for convex bipartite graphs Glover, Naval Research Logistics 1967).
It refuses two reads between which certainly more was added than they differ.

**Different amounts.** A read is at most all positive amounts called before it returned, plus the
negative ones acknowledged before it was called; and the other way round for at least. That is the
checker ``counter`` of Jepsen, for both signs. Where no amount is negative a read is besides not
less than one that returned before it was called.

**Numbers with a point.** Programs round their sums, and a lost addition may be smaller than that.
So amounts are added as they are written, exactly. Where the reads do not fit that, but fit sums
that were rounded at each addition, the answer is unknown.

O(n log n).
"""

import heapq
from collections.abc import Hashable
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, in_turns, searched
from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused, undecided
from rumpus.checker.deciders.operation_table import FAIL, NEVER, OK, OperationTable
from rumpus.checker.deciders.values import Ints, Values, WrongOperations
from rumpus.checker.deciders.wording import at, who
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.counter import Counter, ExactCounter

EQUAL = "additions in order"
BOUNDS = "bounds"
SHORT, SHRINKING_S = 1_000, 5.0
"""In histories of up to so many operations, so many seconds for the search of a smaller witness."""
ROUNDED = (
    "the totals are right only if numbers with a point were rounded when they were added, which "
    "may hide a lost addition: count in whole numbers of a smaller unit, such as cents"
)
LARGEST = 2**62
"""Larger sums are left to the general search, which has integers of any size."""


def decide_counter(
    table: OperationTable, initial: Hashable = None, budget: Budget | None = None
) -> Decision:
    """Whether operations are those of a counter.

    Args:
        table: the history.
        initial: the initial total; 0 if None.
        budget: of the general search, where amounts differ.

    Raises:
        WrongOperations: an amount, a total or the initial value is not a number.
    """
    initial = 0 if initial is None else initial
    if not _is_number(initial):
        raise WrongOperations(f"a counter begins with a number, not with {initial!r}")
    return in_turns(table, lambda part, share: _decide(part, initial, share), budget or Budget())


def _decide(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
    history = _history(table, initial)
    if history is None:
        return _decide_by_search(table, initial, budget)
    amounts = history.amounts
    if not len(amounts) or (amounts == amounts[0]).all():
        decision = _decide_equal(history, int(amounts[0]) if len(amounts) else 1)
        decision.algorithm = EQUAL
        return decision
    found = _out_of_bounds(history) or _went_back_or_forth(history)
    if found is None:
        return check_linearizable(Counter(initial), table, budget)
    if len(table) <= SHORT:
        left = max(0.0, min(SHRINKING_S, budget.deadline - budget.clock()))
        shown = check_linearizable(
            Counter(initial), table, Budget(left, budget.bytes, budget.clock)
        )
        if shown.witness is not None and shown.witness.minimal:
            return shown
    found.algorithm = BOUNDS
    return found


def _decide_by_search(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
    """By the amounts as they are written; where these do not fit, rounding may be the reason."""
    exactly = check_linearizable(ExactCounter(initial), table, budget)
    if exactly.valid is not False or not _has_points(table, initial):
        return exactly
    rounded = check_linearizable(Counter(initial), table, budget)
    return undecided(ROUNDED) if rounded.valid is True else rounded


def _has_points(table: OperationTable, initial: Hashable) -> bool:
    values = [*(table.argument.objects or ()), *(table.result.objects or ()), initial]
    return any(isinstance(value, float) for value in values)


@dataclass(frozen=True, eq=False)
class _History:
    """Reads, and additions of amounts other than 0 that did not fail; both in order of call."""

    table: OperationTable
    adds: Ints
    amounts: Ints
    reads: Ints
    totals: Ints

    @property
    def called(self) -> Ints:
        return self.table.call[self.adds]

    @property
    def returned(self) -> Ints:
        return self.table.returned[self.adds]

    @property
    def read_called(self) -> Ints:
        return self.table.call[self.reads]

    @property
    def read_returned(self) -> Ints:
        return self.table.returned[self.reads]

    def saying(self, read: int) -> str:
        """Who read what, by when."""
        row = int(self.reads[read])
        value = self.table.result[row]
        return f"{who(self.table, row)} read {value} {_span(self.table, row)}"


def _history(table: OperationTable, initial: Hashable) -> _History | None:
    """The columns as integers; None if some are not integers, or too large."""
    answered = table.is_f("read") & (table.outcome == OK)
    reads = np.flatnonzero(answered)
    adds = np.flatnonzero(~table.is_f("read") & (table.outcome != FAIL))
    added, read = table.argument[adds], table.result[reads]
    _refuse_non_numbers(added, "what is added to a counter")
    _refuse_non_numbers(read, "what is read of a counter")
    if not read.present.all():
        raise WrongOperations("what is read of a counter is a number, not null")
    if added.objects is not None or read.objects is not None or type(initial) is not int:
        return None
    amounts = np.where(added.present, added.numbers, 1)
    if float(np.abs(amounts.astype(np.float64)).sum()) + abs(initial) > LARGEST:
        return None
    if len(reads) and float(np.abs(read.numbers.astype(np.float64)).max()) > LARGEST:
        return None
    amounts = np.where(table.is_f("decrement", "dec")[adds], -amounts, amounts)
    counts = amounts != 0
    return _History(table, adds[counts], amounts[counts], reads, read.numbers - initial)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)


def _refuse_non_numbers(column: Values, what: str) -> None:
    used = [] if column.objects is None else np.unique(column.numbers[column.present]).tolist()
    for number in used:
        value = column.objects[number] if column.objects is not None else None
        if not _is_number(value):
            raise WrongOperations(f"{what} is a number, not {value!r}")


def _decide_equal(history: _History, amount: int) -> Decision:
    """Exact, where every addition adds the same."""
    reads, remainder = np.divmod(history.totals, amount)
    impossible = (remainder != 0) | (reads < 0) | (reads > len(history.adds))
    if impossible.any():
        read = int(np.argmax(impossible))
        why = (
            f"nothing but {amount} was ever added"
            if remainder[read] or reads[read] < 0
            else f"{amount} was added at most {len(history.adds)} times"
        )
        return refused([int(history.reads[read])], f"{history.saying(read)}, but {why}")
    if not len(reads):
        return accepted()
    return _read_too_much(history, reads) or _added_too_much(history, reads) or accepted()


def _read_too_much(history: _History, reads: Ints) -> Decision | None:
    """A read of more additions than had been called when it returned."""
    possible = np.searchsorted(history.called, history.read_returned, side="right")
    wrong = np.flatnonzero(reads > possible)
    if not len(wrong):
        return None
    read = int(wrong[np.argmin(history.read_returned[wrong])])
    later = history.adds[possible[read] :]
    needed = later[: len(history.adds) - int(reads[read]) + 1]
    called = "no addition" if not possible[read] else f"at most {possible[read]} additions"
    return refused(
        [int(history.reads[read]), *needed.tolist()],
        f"{history.saying(read)}, which is {reads[read]} additions, but {called} had been called "
        "by then",
    )


def _added_too_much(history: _History, reads: Ints) -> Decision | None:
    """Two reads that differ by less than what was certainly added between them."""
    most = int(reads.max())
    hi, lo = np.full(most + 2, NEVER), np.full(most + 2, np.iinfo(np.int64).min)
    np.minimum.at(hi, reads, history.read_returned)
    np.maximum.at(lo, reads + 1, history.read_called)
    hi, lo = np.minimum.accumulate(hi[::-1])[::-1], np.maximum.accumulate(lo)
    back = lo[1 : most + 1] > hi[1 : most + 1]
    if back.any():
        number = int(np.argmax(back)) + 1
        first = _read_at(history.read_returned, int(hi[number]), reads >= number)
        second = _read_at(history.read_called, int(lo[number]), reads < number)
        return _fewer_than_before(history, first, second)
    release = np.searchsorted(hi[1 : most + 1], history.called, side="left") + 1
    deadline = np.searchsorted(lo[1:], history.returned, side="right")
    bounded = deadline <= most
    release, deadline, adds = release[bounded], deadline[bounded], history.adds[bounded]
    last = _late_by_deadline(release, deadline)
    if last is None:
        return None
    return _more_between_than_read(history, reads, adds, release, deadline, last, hi, lo)


def _read_at(times: Ints, time: int, among: NDArray[np.bool_]) -> int:
    return int(np.flatnonzero((times == time) & among)[0])


def _late_by_deadline(release: Ints, deadline: Ints) -> int | None:
    """The deadline of a unit job that is late by earliest deadline first; None if none is."""
    waiting: list[int] = []
    level = 0
    push, pop = heapq.heappush, heapq.heappop
    for begin, end in zip(release.tolist(), deadline.tolist(), strict=True):
        # Waiting jobs take the numbers before this one's release.
        while waiting and level < begin:
            due = pop(waiting)
            if due < level:
                return due
            level += 1
        level = max(level, begin)
        if waiting and waiting[0] < level:
            return pop(waiting)
        push(waiting, end)
    while waiting:
        due = pop(waiting)
        if due < level:
            return due
        level += 1
    return None


def _more_between_than_read(
    history: _History,
    reads: Ints,
    adds: Ints,
    release: Ints,
    deadline: Ints,
    last: int,
    hi: Ints,
    lo: Ints,
) -> Decision:
    """Numbers x ... last are too few for the additions that have to be among them (Hall)."""
    due = deadline <= last
    counts = np.bincount(release[due], minlength=last + 2)[::-1].cumsum()[::-1][: last + 2]
    crowded = np.flatnonzero(counts > last + 1 - np.arange(last + 2))
    x = max(1, int(crowded[-1]))
    second = _read_at(history.read_called, int(lo[last + 1]), reads <= last)
    inside = adds[due & (release >= x)]
    if x == 1:
        some = inside[: int(reads[second]) + 1]
        words = (
            f"{history.saying(second)}, which is {reads[second]} additions, but {len(inside)} had "
            "returned before that"
        )
        return refused([int(history.reads[second]), *some.tolist()], words)
    first = _read_at(history.read_returned, int(hi[x - 1]), reads >= x - 1)
    some = inside[: int(reads[second] - reads[first]) + 1]
    words = (
        f"{history.saying(first)} and {history.saying(second)}, but {len(inside)} additions lie "
        f"between, and not {max(0, reads[second] - reads[first])}"
    )
    return refused([int(history.reads[first]), int(history.reads[second]), *some.tolist()], words)


def _fewer_than_before(
    history: _History, first: int, second: int, *, minimal: bool = True
) -> Decision:
    sign = "nothing was ever taken away" if history.amounts.max(initial=1) > 0 else ""
    return refused(
        [int(history.reads[first]), int(history.reads[second])],
        f"{history.saying(first)}, and then {history.saying(second)}, but "
        f"{sign or 'nothing was ever added'}",
        minimal=minimal,
    )


def _out_of_bounds(history: _History) -> Decision | None:
    """A read above or below all that was possible, with amounts of any sign."""
    for sign in (1, -1):
        decision = _above(history, sign)
        if decision:
            return decision
    return None


def _above(history: _History, sign: int) -> Decision | None:
    """A read of more than was possible; of less, mirrored, with the sign -1."""
    amounts, totals = sign * history.amounts, sign * history.totals
    up, down = amounts > 0, (amounts < 0) & (history.returned < NEVER)
    order = np.argsort(history.returned[down], kind="stable")
    ends = history.returned[down][order]
    gains = np.concatenate(([0], np.cumsum(amounts[up])))
    losses = np.concatenate(([0], np.cumsum(amounts[down][order])))
    most = gains[np.searchsorted(history.called[up], history.read_returned, side="right")]
    most = most + losses[np.searchsorted(ends, history.read_called, side="left")]
    wrong = np.flatnonzero(totals > most)
    if not len(wrong):
        return None
    read = int(wrong[np.argmin(history.read_returned[wrong])])
    # Each of these raises the bound if it is forgotten; the smallest ones can be.
    against = np.flatnonzero(
        (up & (history.called > history.read_returned[read]))
        | (down & (history.returned < history.read_called[read]))
    )
    weights = np.abs(amounts[against])
    by_weight = np.argsort(weights, kind="stable")
    spare = np.cumsum(weights[by_weight]) < totals[read] - most[read]
    needed = history.adds[against[by_weight[~spare]]]
    # Python's integers, as the sum may have more than 64 bits.
    limit = sign * int(most[read]) + int(history.table.result[int(history.reads[read])])
    limit -= int(history.totals[read])
    return refused(
        [int(history.reads[read]), *needed.tolist()],
        f"{history.saying(read)}, but by then it was {'at most' if sign > 0 else 'at least'} "
        f"{limit}",
        minimal=False,
    )


def _went_back_or_forth(history: _History) -> Decision | None:
    """A read that went back, where nothing pulls that way."""
    sign = 1 if (history.amounts > 0).all() else -1
    if (sign * history.amounts < 0).any():
        return None
    totals = sign * history.totals
    by_return = np.argsort(history.read_returned, kind="stable")
    largest = np.maximum.accumulate(totals[by_return])
    before = np.searchsorted(history.read_returned[by_return], history.read_called, side="left")
    wrong = np.flatnonzero((before > 0) & (largest[np.maximum(before, 1) - 1] > totals))
    if not len(wrong):
        return None
    second = int(wrong[0])
    first = int(by_return[np.argmax(totals[by_return[: before[second]]])])
    return _fewer_than_before(history, first, second, minimal=False)


def _span(table: OperationTable, row: int) -> str:
    call, returned = int(table.call[row]), int(table.returned[row])
    return f"(called at {at(table, call, returned)}, returned at {at(table, returned, call)})"


COUNTER = ModelEntry(
    name="counter",
    summary="a number that is added to",
    runs="`counter`",
    functions={
        "add": "how much, 1 if null",
        "increment": "how much, 1 if null",
        "inc": "as increment",
        "decrement": "how much is taken away, 1 if null",
        "dec": "as decrement",
        "read": "nothing -> the total",
    },
    initial="the total at first, 0 if none is given",
    algorithms=(
        Algorithm(
            EQUAL,
            "everything that is added is the same amount: exact",
            "O(n log n)",
            "Jackson 1955; Glover, Naval Research Logistics 1967; Mendelsohn, Dulmage 1958",
        ),
        Algorithm(
            BOUNDS,
            "amounts differ: refuses what is out of bounds",
            "O(n log n)",
            "Jepsen, jepsen.checker/counter, for both signs",
        ),
        searched("amounts differ and all reads are within bounds"),
    ),
    decide=decide_counter,
)
