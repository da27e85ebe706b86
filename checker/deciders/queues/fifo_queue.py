"""FIFO queue: elements are dequeued in the order in which they were enqueued.

**What is decided.** Linearizability of enqueues and dequeues, with any number of operations of
unknown outcome, where each value is enqueued once (or the enqueues of a value, and its dequeues,
do not overlap each other: then the k-th dequeue took what the k-th enqueue put). That is exact.
Other histories with repeated values are accepted if that pairing explains them, refused if more
of a value came out than went in, and searched otherwise.

**The algorithm.** A complete history of distinct values is linearizable iff (1) no value is
dequeued that was not enqueued before, or twice; (2) there are no x and y such that the enqueue of x
returned before that of y was called, and the dequeue of y returned before that of x was called (or
x was not dequeued); (3) during each dequeue that found the queue empty there is a time at which no
element was certainly inside: Henzinger, Sezgin and Vafeiadis, Aspect-oriented linearizability
proofs, CONCUR 2013, theorem 3; Bouajjani, Emmi, Enea and Hamza, On reducing linearizability to
state reachability, ICALP 2015. For (2) let T(x) be the least return of a dequeue among all elements
whose enqueue was called after that of x returned: x has to be dequeued by then, so the dequeue of x
must be called by T(x). With the elements in order of their calls T is a minimum over a suffix.

**Unknown outcomes.** An enqueue whose value was dequeued took effect; its interval ends with that
of the dequeue, which adds no new constraint. Other unknown enqueues may never have taken effect. A
dequeue of unknown outcome takes any element, after its call, or none. It never returns, so the
element that it takes constrains no other one. An element that no acknowledged dequeue took and that
has a finite T(x) needs an unknown dequeue called by T(x). As only deadlines matter, such a matching
exists iff for each t at most as many elements are due by t as unknown dequeues were called by t
(Hall). Elements without a deadline stay. That does not violate (2): an element that certainly came
after them was not dequeued, as it would give them a deadline.

O(n log n), and nearly linear on tables in order of call.
"""

from collections.abc import Hashable

import numpy as np

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, in_turns, searched
from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused
from rumpus.checker.deciders.operation_table import NEVER, OperationTable
from rumpus.checker.deciders.queues.found_empty import UnknownTakes, refute_empty
from rumpus.checker.deciders.queues.queue_elements import (
    Elements,
    elements_by_dequeue,
    with_their_like,
)
from rumpus.checker.deciders.values import Ints
from rumpus.checker.deciders.wording import at, who
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.fifo_queue import FifoQueue

ALGORITHM = "order of entry"
SHRINKING_S = 5.0
"""Seconds for the search of a minimal witness if values repeat."""


def decide_fifo_queue(
    table: OperationTable, _initial: Hashable = None, budget: Budget | None = None
) -> Decision:
    """Whether operations are those of a FIFO queue, empty at first.

    Raises:
        WrongOperations: an enqueue without a value.
    """
    return in_turns(table, _decide, budget or Budget())


def _decide(table: OperationTable, budget: Budget) -> Decision:
    queue, empty, unknown = elements_by_dequeue(table)
    if isinstance(queue, Decision):
        decision = queue
    else:
        late = UnknownTakes.of_dequeues(table, unknown)
        decision = (
            _overtaken(table, queue)
            or _left_behind(table, queue, late)
            or refute_empty(table, queue, empty, late)
            or accepted()
        )
        if decision.valid is False and not queue.distinct:
            decision = _search(table, budget, queue, decision)
    decision.algorithm = decision.algorithm or ALGORITHM
    return decision


def _search(table: OperationTable, budget: Budget, queue: Elements, found: Decision) -> Decision:
    """A history refused by one pairing of repeated values: the search decides or explains it."""
    if not queue.paired:
        return check_linearizable(FifoQueue(), table, budget)
    left = max(0.0, min(SHRINKING_S, budget.deadline - budget.clock()))
    shown = check_linearizable(FifoQueue(), table, Budget(left, budget.bytes, budget.clock))
    if shown.valid is False:
        return shown
    assert found.witness is not None
    rows = with_their_like(table, found.witness.operations)
    return refused(rows, found.witness.description, minimal=False)


def _deadlines(queue: Elements) -> tuple[Elements, Ints, Ints]:
    """The deadline of each element, and where its successors begin among those taken."""
    taken = queue.choose(~queue.stayed) if queue.stayed.any() else queue
    behind = np.searchsorted(taken.born, queue.inside, side="right")
    soonest = np.append(np.minimum.accumulate(taken.gone[::-1])[::-1], NEVER)
    return taken, behind, soonest[behind]


def _overtaken(table: OperationTable, queue: Elements) -> Decision | None:
    """The refusal of an element dequeued while one enqueued before it was still inside."""
    taken, behind, deadline = _deadlines(queue)
    wrong = (deadline < queue.leaving) & ~queue.stayed
    if not wrong.any():
        return None
    x = int(np.argmax(wrong))
    y = int(behind[x]) + int(np.argmin(taken.gone[behind[x] :]))
    first, its, second, others = (
        int(row) for row in (queue.put[x], queue.taken[x], taken.put[y], taken.taken[y])
    )
    out, asked = int(table.returned[others]), int(table.call[its])
    return refused(
        (first, its, second, others),
        f"{_before(table, first, second)}, but {table.argument[second]!r} came out to "
        f"{who(table, others)} by {at(table, out, asked)}, and {table.argument[first]!r} only to "
        f"{who(table, its)}, whose dequeue was called at {at(table, asked, out)}",
    )


def _left_behind(table: OperationTable, queue: Elements, unknown: UnknownTakes) -> Decision | None:
    """The refusal of elements that stayed while later ones were dequeued."""
    if not queue.stayed.any():
        return None
    taken, behind, deadline = _deadlines(queue)
    due = np.flatnonzero(queue.stayed & (deadline < NEVER))
    due = due[np.argsort(queue.inside[due], kind="stable")]
    # Deadlines increase with the time of entry, so the k-th due is the k-th enqueued.
    enough = unknown.by(deadline[due]) > np.arange(len(due))
    if enough.all():
        return None
    last = int(np.argmin(enough))
    lost = due[: last + 1]
    y = int(behind[lost[-1]]) + int(np.argmin(taken.gone[behind[lost[-1]] :]))
    second, others = int(taken.put[y]), int(taken.taken[y])
    out = int(table.returned[others])
    late = unknown.rows[unknown.calls > out]
    left = queue.put[lost].tolist()
    words = (
        f"{_before(table, left[-1], second)}, but {table.argument[second]!r} came out to "
        f"{who(table, others)} by {at(table, out)}, and {table.argument[left[-1]]!r} never did"
    )
    if last:
        words += (
            f", nor did {last} more that went in before; by then only {last} dequeues of unknown "
            "outcome had been called"
        )
    elif len(late):
        words += "; no dequeue of unknown outcome had been called by then"
    return refused((*left, second, others, *late.tolist()), words)


def _before(table: OperationTable, first: int, second: int) -> str:
    """In words: one enqueue had returned when another was called."""
    end, begin = int(table.returned[first]), int(table.call[second])
    return (
        f"{who(table, first)}'s enqueue of {table.argument[first]!r} had returned at "
        f"{at(table, end, begin)} when {who(table, second)} called that of "
        f"{table.argument[second]!r} at {at(table, begin, end)}"
    )


FIFO_QUEUE = ModelEntry(
    name="fifo-queue",
    summary="a queue: first in, first out",
    runs="`queue`, where the recipe promises an order",
    functions={
        "enqueue": "a value",
        "dequeue": "nothing -> the oldest value, or null: it was empty",
    },
    algorithms=(
        Algorithm(
            ALGORITHM,
            "each value enqueued once, or its enqueues and its dequeues do not overlap: exact",
            "O(n log n)",
            "Henzinger, Sezgin, Vafeiadis, CONCUR 2013; Bouajjani et al., ICALP 2015",
        ),
        searched("values enqueued again while an enqueue of them was running or is unknown"),
    ),
    decide=decide_fifo_queue,
)
