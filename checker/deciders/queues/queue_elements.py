"""The elements of a queue: each enqueue with the dequeue that took its value.

Shared by the deciders of queues of any order. It decides what holds for all of them: a value is
dequeued at most as often as it was enqueued, and not before. For one value sort the enqueues by
their calls and the dequeues by their returns. That is possible **iff** no k-th dequeue returns
before the k-th enqueue is called. If one does, k dequeues have returned when at most k - 1 enqueues
have begun. If none does, every enqueue can take effect at its call and every dequeue at its return.
(For values enqueued once these are the patterns VFresh and VRepeat of Henzinger, Sezgin and
Vafeiadis, Aspect-oriented linearizability proofs, CONCUR 2013.)

A failed operation took no effect. An enqueue of unknown outcome whose value was dequeued took
effect before the dequeue returned; one whose value was not dequeued is taken to have had no effect,
which is the weakest assumption.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.decision import Decision, refused
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.values import Ints, Values, WrongOperations
from rumpus.checker.deciders.wording import at, who

NOBODY = -1
"""In place of the row of a dequeue: there is none."""


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements that were certainly enqueued, as columns, in order of the calls.

    Attributes:
        put: row of the enqueue.
        taken: row of the dequeue; `NOBODY` if no acknowledged one returned the element.
        born: call of the enqueue.
        inside: return of the enqueue, or of the dequeue if earlier: certainly enqueued by then.
        leaving: call of the dequeue, or of the enqueue if later; `NEVER` if it stayed.
        gone: return of the dequeue; `NEVER` if it stayed.
        distinct: whether no value was enqueued or dequeued twice.
        paired: whether the pairs of enqueue and dequeue are the only possible ones.
    """

    put: Ints
    taken: Ints
    born: Ints
    inside: Ints
    leaving: Ints
    gone: Ints
    distinct: bool
    paired: bool

    def __len__(self) -> int:
        return len(self.put)

    def choose(self, which: NDArray[np.bool_] | Ints) -> "Elements":
        """Some of the elements."""
        return Elements(
            self.put[which],
            self.taken[which],
            self.born[which],
            self.inside[which],
            self.leaving[which],
            self.gone[which],
            self.distinct,
            self.paired,
        )

    @property
    def stayed(self) -> NDArray[np.bool_]:
        """Mask of the elements that no acknowledged dequeue took."""
        stayed: NDArray[np.bool_] = self.taken == NOBODY
        return stayed


def elements(
    table: OperationTable,
    puts: Ints,
    takes: Ints,
    taken: Values,
    *,
    unknown_takes: bool,
) -> Elements | Decision:
    """Pair the dequeues with the enqueues.

    Args:
        table: the whole history.
        puts: rows of enqueues that did not fail, in order.
        takes: rows of acknowledged dequeues that took a value; one that took several values
            occurs once for each.
        taken: the values that they took.
        unknown_takes: whether there are dequeues of unknown outcome.

    Returns:
        The elements, or a refusal: a value was dequeued that had not been enqueued.

    Raises:
        WrongOperations: an enqueue without a value.
    """
    put = table.argument[puts]
    if not put.present.all():
        raise WrongOperations(f"{table.function(int(puts[np.argmin(put.present)]))} needs a value")
    put_codes, taken_codes, size = _common_codes(put, taken)
    numbers = np.arange(len(puts)), np.arange(len(takes))
    source, sink = np.full(size, -1), np.full(size, -1)
    source[put_codes], sink[taken_codes] = numbers
    distinct = np.array_equal(source[put_codes], numbers[0]) and np.array_equal(
        sink[taken_codes], numbers[1]
    )
    if distinct:
        take_of_put, put_of_take, paired = sink[put_codes], source[taken_codes], True
    else:
        take_of_put, put_of_take, paired = _in_turn(
            table, puts, put_codes, takes, taken_codes, size, unknown_takes=unknown_takes
        )
    gone = table.returned[takes]
    born = table.call[puts]
    fresh = put_of_take < 0
    if len(puts):
        fresh |= gone < born[put_of_take]
    if fresh.any():
        worst = np.flatnonzero(fresh)
        first = int(worst[np.argmin(gone[worst])])
        code = taken_codes[first]
        return _out_of_thin_air(
            table, taken[first], puts[put_codes == code], takes[taken_codes == code]
        )
    happened = (take_of_put >= 0) | (table.outcome[puts] == OK)
    if not happened.all():
        puts, take_of_put, born = puts[happened], take_of_put[happened], born[happened]
    stayed = take_of_put < 0
    if len(takes):
        gone = np.where(stayed, NEVER, gone[take_of_put])
        leaving = np.where(stayed, NEVER, np.maximum(table.call[takes][take_of_put], born))
        rows = np.where(stayed, NOBODY, takes[take_of_put])
    else:
        gone = leaving = np.full(len(puts), NEVER)
        rows = np.full(len(puts), NOBODY)
    inside = np.minimum(table.returned[puts], gone)
    return Elements(puts, rows, born, inside, leaving, gone, distinct, paired)


def elements_by_dequeue(table: OperationTable) -> tuple[Elements | Decision, Ints, Ints]:
    """The elements of a queue all of whose dequeues take one value.

    Returns:
        The elements, or a refusal; rows of dequeues that found the queue empty; rows of dequeues
        of unknown outcome.

    Raises:
        WrongOperations: an enqueue without a value.
    """
    dequeue, present = table.is_f("dequeue"), table.result.present
    answered = dequeue & (table.outcome == OK)
    unknown = np.flatnonzero(dequeue & (table.outcome == INFO))
    puts = np.flatnonzero(table.is_f("enqueue") & (table.outcome != FAIL))
    takes = np.flatnonzero(answered & present)
    queue = elements(table, puts, takes, table.result[takes], unknown_takes=len(unknown) > 0)
    return queue, np.flatnonzero(answered & ~present), unknown


def _in_turn(
    table: OperationTable,
    puts: Ints,
    put_codes: Ints,
    takes: Ints,
    taken_codes: Ints,
    size: int,
    *,
    unknown_takes: bool,
) -> tuple[Ints, Ints, bool]:
    """Pair the k-th dequeue of a value, by return, with its k-th enqueue, by call.

    In a queue that keeps equal values in order no other pairing is possible if neither the
    enqueues nor the dequeues of a value overlap, and none is of unknown outcome.
    """
    put_order = np.argsort(put_codes, kind="stable")
    take_order = np.lexsort((table.returned[takes], taken_codes))
    put_count = np.bincount(put_codes, minlength=size)
    take_count = np.bincount(taken_codes, minlength=size)
    put_start, take_start = np.cumsum(put_count) - put_count, np.cumsum(take_count) - take_count
    sorted_codes = taken_codes[take_order]
    rank = np.arange(len(takes)) - take_start[sorted_codes]
    matched = rank < put_count[sorted_codes]
    put_of_take, take_of_put = np.full(len(takes), -1), np.full(len(puts), -1)
    partner = put_order[put_start[sorted_codes[matched]] + rank[matched]]
    put_of_take[take_order[matched]] = partner
    take_of_put[partner] = take_order[matched]
    several = put_count[put_codes] > 1
    paired = (
        not (several & (table.outcome[puts] == INFO)).any()
        and not (unknown_takes and (several & (take_count < put_count)[put_codes]).any())
        and _apart(table, puts[put_order], put_codes[put_order])
        and _apart(table, takes[take_order], sorted_codes)
    )
    return take_of_put, put_of_take, paired


def _apart(table: OperationTable, rows: Ints, codes: Ints) -> bool:
    """Whether in each group (equal codes) every row returned before the next was called."""
    same = codes[1:] == codes[:-1]
    overlap = table.returned[rows[:-1]] >= table.call[rows[1:]]
    return not (same & overlap).any()


def _common_codes(one: Values, other: Values) -> tuple[Ints, Ints, int]:
    """Small numbers for two columns' values, the same for equal ones, and how many."""
    if one.objects is not None or other.objects is not None:
        known: dict[tuple[type, object], int] = {}
        codes = [_coded(each, known) for each in (one, other)]
        return codes[0], codes[1], len(known)
    both = np.concatenate((one.numbers, other.numbers))
    if not len(both):
        return one.numbers, other.numbers, 0
    low, high = int(both.min()), int(both.max())
    if high - low < 4 * len(both) + 1024:
        return one.numbers - low, other.numbers - low, high - low + 1
    distinct, inverse = np.unique(both, return_inverse=True)
    return inverse[: len(one)], inverse[len(one) :], len(distinct)


def _coded(column: Values, known: dict[tuple[type, object], int]) -> Ints:
    """A column's values by their numbers in ``known``, which grows by new ones."""
    if column.objects is not None:
        values = (*column.objects, None)
        table = [known.setdefault((type(value), value), len(known)) for value in values]
        return np.array(table, dtype=np.int64)[np.maximum(column.numbers, -1)]
    found = (known.setdefault((int, value), len(known)) for value in column.numbers.tolist())
    return np.fromiter(found, dtype=np.int64, count=len(column))


def _out_of_thin_air(table: OperationTable, value: object, puts: Ints, takes: Ints) -> Decision:
    """The refusal if a value was dequeued more often than it can have been enqueued by then."""
    takes = takes[np.argsort(table.returned[takes], kind="stable")]
    enough = len(puts)
    late = table.returned[takes[:enough]] < table.call[puts[: len(takes)]]
    k = int(np.argmax(late)) if late.any() else enough
    end = int(table.returned[takes[k]])
    came = [int(row) for row in takes[: k + 1]]
    too_late = [int(row) for row in puts[k:]]
    whom = " and ".join(
        f"{who(table, row)} by {at(table, int(table.returned[row]))}" for row in came
    )
    words = f"{value!r} came out {_times(k + 1)} ({_short(whom)})"
    if not len(puts):
        failed = np.flatnonzero(table.outcome == FAIL)
        tried = [
            int(row) for row in failed if _is(table.argument[int(row)], value) and row not in came
        ]
        if tried and k == 0:
            words += f", but every enqueue of it had failed, as {who(table, tried[0])} was told"
        else:
            words += ", but nobody ever enqueued it"
    elif not too_late:
        words += f", but it was enqueued {_times(enough)} only"
    elif k == 0:
        called = int(table.call[too_late[0]])
        words += (
            f", but it was not enqueued before {who(table, too_late[0])} called at "
            f"{at(table, called, end)}"
        )
    else:
        words += f", but by then at most {_times(k)} of its {enough} enqueues had been called"
    return refused([*came, *too_late], words)


def with_their_like(table: OperationTable, rows: Sequence[int]) -> list[int]:
    """Rows, and all others that enqueued or dequeued one of their values."""
    columns = table.argument, table.result
    values = {(type(v), v) for row in rows for v in (c[row] for c in columns) if v is not None}
    like = [
        row
        for row in np.flatnonzero(table.outcome != FAIL).tolist()
        if any((type(v), v) in values for v in (c[row] for c in columns))
    ]
    return [*rows, *like]


def _is(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _short(words: str, most: int = 200) -> str:
    return words if len(words) <= most else f"{words[:most].rsplit(' ', 1)[0]} ..."
