"""FIFO queue: elements come out in the order in which they went in.

**What is decided.** Linearizability of enqueues and dequeues, with any number of operations of
unknown outcome, where each value is enqueued once (or the enqueues of a value, and its dequeues,
do not overlap each other: then the k-th dequeue took what the k-th enqueue put). That is exact.
Other histories with repeated values are accepted if that pairing explains them, refused if more
of a value came out than went in, and searched otherwise.

**The algorithm.** A complete history of distinct values is linearizable iff (1) nothing comes
out that was not put in before, or twice; (2) no x was enqueued before y whose dequeue came back
before that of x was called (or x never came out); (3) each dequeue that found it empty has a
moment at which no element was surely inside: Henzinger, Sezgin and Vafeiadis, Aspect-oriented
linearizability proofs, CONCUR 2013, theorem 3; Bouajjani, Emmi, Enea and Hamza, On reducing
linearizability to state reachability, ICALP 2015. For (2) let T(x) be the least return of a
dequeue among all elements whose enqueue was called after that of x returned: by then x has to be
out, so the dequeue of x must be called by T(x). With the elements in order of their calls T is a
minimum over a suffix.

**Unknown outcomes.** An enqueue whose value came out has happened; its interval ends where that
of the dequeue does, and that adds no order which is not there already. Other unknown
enqueues may never have happened. A dequeue of unknown outcome takes any element, from its call on,
or none. It returns never, so what it takes constrains no other element. An element that no
acknowledged dequeue took and that has a finite T(x) needs one called by T(x). As only deadlines
matter, there is such a matching iff by each t no more elements are due than unknown dequeues were
called (Hall). Elements without a deadline stay: that breaks (2) for nobody, for whoever
was put in surely before them has a deadline no later than theirs.

O(n log n), and nearly linear on tables in order of call.
"""

from collections.abc import Hashable

import numpy as np

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, in_turns, searched
from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, Ints, OperationTable
from rumpus.checker.deciders.queues.found_empty import UnknownTakes, refute_empty
from rumpus.checker.deciders.queues.queue_elements import Elements, elements, with_their_like
from rumpus.checker.deciders.wording import at, who
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.fifo_queue import FifoQueue

ALGORITHM = "order of entry"
SHRINKING_S = 5.0
"""So long the search may look for a minimal witness where values repeat."""


def decide_fifo_queue(
    table: OperationTable, _initial: Hashable = None, budget: Budget | None = None
) -> Decision:
    """Whether operations are those of a FIFO queue, empty at first.

    Raises:
        WrongOperations: an enqueue without a value.
    """
    return in_turns(table, _decide, budget or Budget())


def _decide(table: OperationTable, budget: Budget) -> Decision:
    enqueue, dequeue = table.is_f("enqueue"), table.is_f("dequeue")
    answered = dequeue & (table.outcome == OK)
    present = table.result.present
    takes = np.flatnonzero(answered & present)
    unknown = np.flatnonzero(dequeue & (table.outcome == INFO))
    queue = elements(
        table,
        np.flatnonzero(enqueue & (table.outcome != FAIL)),
        takes,
        table.result[takes],
        unknown_takes=len(unknown) > 0,
    )
    if isinstance(queue, Decision):
        decision = queue
    else:
        late = UnknownTakes(unknown, table.call[unknown], np.ones(len(unknown), dtype=np.int64))
        empty = np.flatnonzero(answered & ~present)
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
    """What the pairing of repeated values refused: the search knows, or shows it with less."""
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
    """By when each element must have come out, and where its successors begin among the taken."""
    taken = queue.choose(~queue.stayed) if queue.stayed.any() else queue
    behind = np.searchsorted(taken.born, queue.inside, side="right")
    soonest = np.append(np.minimum.accumulate(taken.gone[::-1])[::-1], NEVER)
    return taken, behind, soonest[behind]


def _overtaken(table: OperationTable, queue: Elements) -> Decision | None:
    """An element that came out although one that was put in before it was still inside."""
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
    """Elements that never came out although later ones did, too many for unknown dequeues."""
    if not queue.stayed.any():
        return None
    taken, behind, deadline = _deadlines(queue)
    due = np.flatnonzero(queue.stayed & (deadline < NEVER))
    due = due[np.argsort(queue.inside[due], kind="stable")]
    # Deadlines grow with the time of entry, so the k-th that is due is the k-th that went in.
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
    """That one enqueue was over when another was called."""
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
