"""Set: a value that was added is in the set for all later operations.

**What is decided.** Linearizability of ``add``, ``contains`` and ``read`` (of all values), *exact*
as long as no value is removed: then only the time of its first addition matters for each value. If
values are removed, or additions answer whether they changed the set, the general search decides:
value by value if the whole set is never read, for then the values are independent (Herlihy and Wing
1990, theorem 1), otherwise all together.

**The algorithm.** Without removals the set only grows, so of two reads one must list all values of
the other. Reads of different size are ordered by it. The first addition of a value lies after all
reads that do not list it and before all reads that do. So the operations have levels: the smallest
reads, the values first listed by the next ones, those reads, and so on. The first addition of a
value can lie between lo, the earliest call of an addition (or the latest call of a ``contains``
that answered no), and hi, the earliest return of an acknowledged addition (or of a ``contains``
that answered yes); later additions change nothing. A read lies between its call and its return.
There is a time for each, in order of levels, iff none ends before the beginning of one on a lower
level: a running maximum. (For one read at the end of a history it is the check ``set`` of Jepsen,
for many ``set-full``.)

O(n), and the lengths of the lists that are read.
"""

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, in_turns, searched
from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused
from rumpus.checker.deciders.operation_table import FAIL, NEVER, OK, OperationTable
from rumpus.checker.deciders.typed_values import TRUE, Truth
from rumpus.checker.deciders.values import MISSING, AlikeValues, Ints, WrongOperations
from rumpus.checker.deciders.wording import at, who
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.set import Set

ALGORITHM = "first additions"
UNLISTED = -1


def decide_set(
    table: OperationTable, initial: Hashable = None, budget: Budget | None = None
) -> Decision:
    """Whether operations are those of a set.

    Args:
        table: the history.
        initial: the list of values in it at first; none if None.
        budget: of the general search, where values are removed.

    Raises:
        WrongOperations: an operation without its value, a read that is no list, a ``contains``
            that answers neither true nor false.
    """
    model = Set(initial)
    return in_turns(table, lambda part, share: _decide(part, model, share), budget or Budget())


class _SetOfOne(Set):
    """A set of which no operation uses more than one value."""

    def partition(self, f: str, argument: Hashable, result: Hashable) -> Hashable:  # noqa: ARG002 - as in Model
        """The value."""
        return argument


def _decide(table: OperationTable, model: Set, budget: Budget) -> Decision:
    happened = table.outcome != FAIL
    named = happened & ~table.is_f("read")
    if not table.argument.present[named].all():
        row = int(np.flatnonzero(named & ~table.argument.present)[0])
        raise WrongOperations(f"{table.function(row)} needs a value")
    adds = np.flatnonzero(happened & table.is_f("add"))
    reads = np.flatnonzero((table.outcome == OK) & table.is_f("read"))
    removed = bool((happened & table.is_f("remove")).any())
    if removed or _says_whether_it_changed(table, adds):
        whole = Set if len(reads) else _SetOfOne
        return check_linearizable(whole(model.initial), table, budget)
    history = _History(table, adds, reads, model.initial)
    decision = (
        history.refute_values()
        or history.refute_lists()
        or history.refute_reads()
        or history.refute_order()
        or accepted()
    )
    decision.algorithm = ALGORITHM
    return decision


def _says_whether_it_changed(table: OperationTable, adds: Ints) -> bool:
    """Whether some addition answered true or false, and not its own value."""
    objects = table.result.objects
    if objects is None or not any(type(value) is Truth for value in objects):
        return False
    answers = (table.result[row] for row in adds.tolist())
    return any(type(answer) is Truth for answer in answers)


def _answers(table: OperationTable, asked: Ints) -> NDArray[np.bool_]:
    """What each ``contains`` answered."""
    objects = table.result.objects or ()
    numbers = table.result.numbers[asked]
    # Behind the objects stands one more, for rows without any.
    true = np.array([*(each is TRUE for each in objects), False])
    boolean = np.array([*(type(each) is Truth for each in objects), False])
    numbers = np.where((numbers < 0) | (numbers >= len(objects)), len(objects), numbers)
    if not boolean[numbers].all():
        row = int(asked[np.argmin(boolean[numbers])])
        raise WrongOperations(f"contains answers true or false, not {table.result[row]!r}")
    yes: NDArray[np.bool_] = true[numbers]
    return yes


class _History:
    """A history without removals: windows of the first additions, and levels.

    Values have numbers here. ``low`` and ``high`` bound the time at which a value came in.
    """

    def __init__(self, table: OperationTable, adds: Ints, reads: Ints, initial: Hashable) -> None:
        assert isinstance(initial, frozenset)
        self._table, self._adds, self._reads = table, adds, reads
        asked = np.flatnonzero((table.outcome == OK) & table.is_f("contains"))
        yes = _answers(table, asked)
        self._yes, self._no = asked[yes], asked[~yes]
        self._numbers: dict[Hashable, int] = {}
        self._alike = AlikeValues()
        self._initial = np.array([self._number(value) for value in initial], dtype=np.int64)
        self._added = self._values(adds)
        self._found, self._missed = self._values(self._yes), self._values(self._no)
        self._lists = self._read_lists()
        self._names = list(self._numbers)
        self._windows()

    def _number(self, value: Hashable) -> int:
        number = self._numbers.get(value)
        if number is None:
            self._alike.add(value)
            number = self._numbers[value] = len(self._numbers)
        return number

    def _values(self, rows: Ints) -> Ints:
        """The arguments of some rows, by number."""
        column = self._table.argument[rows]
        if column.objects is None:
            values: list[Hashable] = list(column.numbers.tolist())
        else:
            values = [column.objects[number] for number in column.numbers.tolist()]
        number, known = self._number, self._numbers
        found = (known[value] if value in known else number(value) for value in values)
        return np.fromiter(found, dtype=np.int64, count=len(values))

    def _read_lists(self) -> dict[int, Ints]:
        """What was read, by its number in the table's column: equal lists stand there once."""
        column = self._table.result
        lists: dict[int, Ints] = {}
        for row in self._reads.tolist():
            at_ = int(column.numbers[row])
            if at_ in lists:
                continue
            listed = column[row]
            if listed is None:
                listed = ()
            if not isinstance(listed, (tuple, frozenset)):
                raise WrongOperations(f"a set reads as a list of its values, not as {listed!r}")
            numbers = (self._number(value) for value in listed)
            lists[at_] = np.fromiter(numbers, dtype=np.int64, count=len(listed))
        return lists

    def _windows(self) -> None:
        table, size = self._table, len(self._numbers)
        self._called = np.full(size, NEVER)
        np.minimum.at(self._called, self._added, table.call[self._adds])
        self._denied = np.full(size, MISSING)
        np.maximum.at(self._denied, self._missed, table.call[self._no])
        self._acknowledged = np.full(size, NEVER)
        np.minimum.at(self._acknowledged, self._added, table.returned[self._adds])
        self._seen = np.full(size, NEVER)
        np.minimum.at(self._seen, self._found, table.returned[self._yes])
        self._called[self._initial] = self._acknowledged[self._initial] = MISSING
        self.low = np.maximum(self._called, self._denied)
        self.high = np.minimum(self._acknowledged, self._seen)

    def refute_values(self) -> Decision | None:
        """A value that was found before it was added, or missed after."""
        wrong = np.flatnonzero(self.low > self.high)
        # A value that nobody added and nobody claims to have found is no contradiction.
        wrong = wrong[self.high[wrong] < NEVER]
        if not len(wrong):
            return None
        value = int(wrong[np.argmin(self.high[wrong])])
        return refused(
            [*self._rows_before(value), *self._rows_after(value)],
            f"{self._present(value)}, but {self._absent(value)}",
        )

    def refute_lists(self) -> Decision | None:
        """A read that lists something twice, or what nobody added, or not what was there first."""
        wrong: dict[int, str] = {}
        for number, listed in self._lists.items():
            values = np.unique(listed)
            unborn = values[self._called[values] == NEVER]
            lost = np.setdiff1d(self._initial, values)
            if len(values) < len(listed):
                twice = np.flatnonzero(np.bincount(listed) > 1)[0]
                wrong[number] = f"the set with {self._names[twice]!r} twice"
            elif len(unborn):
                name = self._names[unborn[0]]
                wrong[number] = f"the set with {name!r}, but nobody ever added that"
            elif len(lost):
                name = self._names[lost[0]]
                wrong[number] = f"the set without {name!r}, which was in it from the beginning"
        if not wrong:
            return None
        row = next(row for row in self._reads.tolist() if self._list_of(row) in wrong)
        words = f"{who(self._table, row)} read {wrong[self._list_of(row)]}"
        return refused([row], words)

    def refute_reads(self) -> Decision | None:
        """Two reads of which none lists all that the other does. Puts everything on levels."""
        self._level = np.full(len(self._numbers), UNLISTED)
        self._level[self._initial] = 0
        self._level_of_list: dict[int, int] = {}
        size, level, before = -1, 0, UNLISTED
        for number, listed in sorted(self._lists.items(), key=lambda item: len(item[1])):
            new = listed[self._level[listed] == UNLISTED]
            if before != UNLISTED and len(listed) - len(new) < size:
                return self._incomparable(before, number)
            if len(listed) > size:
                level += 1
            self._level[new] = level
            self._level_of_list[number] = level
            size, before = len(listed), number
        self._level[self._level == UNLISTED] = level + 1
        return None

    def _incomparable(self, one: int, other: int) -> Decision:
        first, second = self._row_that_read(one), self._row_that_read(other)
        mine = np.setdiff1d(self._lists[one], self._lists[other])[0]
        its = np.setdiff1d(self._lists[other], self._lists[one])[0]
        return refused(
            (first, second),
            f"{self._read(first)} with {self._names[mine]!r} and without {self._names[its]!r}, "
            f"and {self._read(second)} with {self._names[its]!r} and without "
            f"{self._names[mine]!r}",
        )

    def refute_order(self) -> Decision | None:
        """Something that was over before what is on a lower level began."""
        table, reads = self._table, self._reads
        levels = max(self._level_of_list.values(), default=0) + 2
        read_level = np.fromiter(
            (self._level_of_list[self._list_of(row)] for row in reads.tolist()),
            np.int64,
            len(reads),
        )
        # Values stand before the reads of the same level, so their own bound them.
        low_read, low_value = np.full(levels, MISSING), np.full(levels, MISSING)
        np.maximum.at(low_read, read_level, table.call[reads])
        listed = self._level < levels
        np.maximum.at(low_value, self._level[listed], self.low[listed])
        reads_below = np.concatenate(([MISSING], np.maximum.accumulate(low_read)[:-1]))
        values_below = np.concatenate(([MISSING], np.maximum.accumulate(low_value)[:-1]))
        values_up_to = np.maximum.accumulate(low_value)
        late = table.returned[reads] < reads_below[read_level]
        if late.any():
            return self._read_after_read(int(np.argmax(late)), read_level)
        late = table.returned[reads] < values_up_to[read_level]
        if late.any():
            return self._read_before_addition(int(np.argmax(late)), read_level)
        late = self.high < reads_below[self._level]
        if late.any():
            return self._missing_in_read(int(np.argmax(late)), read_level)
        late = self.high < values_below[self._level]
        if late.any():
            return self._in_other_order(int(np.argmax(late)), read_level)
        return None

    def _read_after_read(self, which: int, read_level: Ints) -> Decision:
        larger = int(self._reads[which])
        lower = np.flatnonzero(read_level < read_level[which])
        smaller = int(self._reads[lower[np.argmax(self._table.call[self._reads[lower]])]])
        more = self._lists[self._list_of(larger)]
        value = np.setdiff1d(more, self._lists[self._list_of(smaller)])[0]
        return refused(
            (larger, smaller),
            f"{self._read(larger)} with {self._names[value]!r}, and then {self._read(smaller)} "
            "without it",
        )

    def _read_before_addition(self, which: int, read_level: Ints) -> Decision:
        row = int(self._reads[which])
        lower = np.flatnonzero(self._level <= read_level[which])
        value = int(lower[np.argmax(self.low[lower])])
        return refused(
            [row, *self._rows_before(value)],
            f"{self._read(row)} with {self._names[value]!r}, but {self._absent(value)}",
        )

    def _missing_in_read(self, value: int, read_level: Ints) -> Decision:
        lower = np.flatnonzero(read_level < self._level[value])
        row = int(self._reads[lower[np.argmax(self._table.call[self._reads[lower]])]])
        return refused(
            [row, *self._rows_after(value)],
            f"{self._present(value)}, but {self._read(row)} without it",
        )

    def _in_other_order(self, value: int, read_level: Ints) -> Decision:
        lower = np.flatnonzero(self._level < self._level[value])
        other = int(lower[np.argmax(self.low[lower])])
        row = int(self._reads[np.flatnonzero(read_level == self._level[other])[0]])
        return refused(
            [row, *self._rows_after(value), *self._rows_before(other)],
            f"{self._present(value)}, and {self._absent(other)}, but {self._read(row)} with "
            f"{self._names[other]!r} and without {self._names[value]!r}",
        )

    def _rows_before(self, value: int) -> list[int]:
        """The rows that show that a value was not inside before its ``low``."""
        if self._denied[value] >= self._called[value]:
            return [self._row_of_no(value)]
        return [int(row) for row in self._adds[self._added == value]]

    def _rows_after(self, value: int) -> list[int]:
        """The row that shows that a value was inside by its ``high``; none if it always was."""
        if self.high[value] == MISSING:
            return []
        rows, values = (
            (self._yes, self._found)
            if self._seen[value] <= self._acknowledged[value]
            else (self._adds, self._added)
        )
        its = rows[values == value]
        return [int(its[np.argmin(self._table.returned[its])])]

    def _row_of_no(self, value: int) -> int:
        its = self._no[self._missed == value]
        return int(its[np.argmax(self._table.call[its])])

    def _row_that_read(self, number: int) -> int:
        rows: list[int] = self._reads.tolist()
        return next(row for row in rows if self._list_of(row) == number)

    def _list_of(self, row: int) -> int:
        return int(self._table.result.numbers[row])

    def _read(self, row: int) -> str:
        """Who read, and when."""
        call, returned = int(self._table.call[row]), int(self._table.returned[row])
        return (
            f"{who(self._table, row)} read the set (called at {at(self._table, call, returned)}, "
            f"returned at {at(self._table, returned, call)})"
        )

    def _present(self, value: int) -> str:
        """That a value was inside by its ``high``, in words."""
        name = self._names[value]
        rows = self._rows_after(value)
        if not rows:
            return f"{name!r} was in the set from the beginning"
        end = at(self._table, int(self._table.returned[rows[0]]), int(self.low[value]))
        if self._table.function(rows[0]) == "add":
            return f"{who(self._table, rows[0])}'s add of {name!r} had returned at {end}"
        return f"{who(self._table, rows[0])} found {name!r} in the set by {end}"

    def _absent(self, value: int) -> str:
        """That a value was not inside before its ``low``, in words."""
        name = self._names[value]
        rows = self._rows_before(value)
        if not rows:
            return f"nobody ever added {name!r}"
        begin = at(self._table, int(self.low[value]), int(self.high[value]))
        if self._table.function(rows[0]) == "add":
            return f"no add of {name!r} was called before {begin}"
        return f"{who(self._table, rows[0])}, who asked at {begin}, found {name!r} missing"


SET = ModelEntry(
    name="set",
    summary="a set of values",
    runs="none: what is in a registry or a view leaves it by itself, with its session",
    functions={
        "add": "a value",
        "remove": "a value",
        "contains": "a value -> true or false",
        "read": "nothing -> the list of all values",
    },
    initial="the list of values in it at first, none if none is given",
    algorithms=(
        Algorithm(
            ALGORITHM,
            "nothing is removed: exact",
            "O(n), and the lengths of the lists that are read",
            "Jepsen, jepsen.checker/set-full; Herlihy, Wing, TOPLAS 1990",
        ),
        searched("values are removed: value by value unless the whole set is read"),
    ),
    decide=decide_set,
)
