"""Priority queue: the lowest priority is dequeued first, equal ones in order of arrival.

**What is decided.** Linearizability; a lower priority is more urgent, as in ZooKeeper's recipe.
Exact if each value is enqueued once and dequeues of unknown outcome do not matter (there are none,
or every acknowledged element was dequeued, or the answer is the same whatever they took).
Otherwise a history is refused if it is impossible even if the unknown dequeues took every element
that stayed; it is accepted if one of the tried assignments of unknown dequeues explains it; and the
general search decides the rest.

**The algorithm.** An element is certainly inside between `Elements.inside` and `Elements.leaving`,
ends excluded. Take the elements in order of urgency. An element can only be dequeued at a point of
its dequeue at which no more urgent one is certainly inside; the first such point is its *turn*. And
since equal priorities are dequeued in order of arrival, no element of the same priority that
certainly came later may certainly be dequeued before the turn: the same condition as in a FIFO
queue, with the turn in place of the dequeue's call. Both conditions are necessary. They are also
sufficient, by induction: remove the least urgent element, linearize the rest, and insert the
element at any free point of its dequeue. The others are inside until their turns and not only until
their dequeues are called; but between the call of a dequeue and its turn a more urgent element is
certainly inside, and that one already excludes all less urgent elements. (Decrease and conquer: Lee
and Mathur, Efficient decrease-and-conquer linearizability monitoring, OOPSLA 2025, arXiv
2410.04581; the patterns for equals: Bouajjani, Enea and Wang, Checking linearizability of
concurrent priority queues, CONCUR 2017.) A dequeue that found the queue empty counts as the least
urgent.

A point that is covered stays covered, so the next free point is found by union-find over the calls
of dequeues (Gabow and Tarjan 1985): O(n log n), for sorting.
"""

import dataclasses
from array import array
from collections.abc import Hashable, Iterator

import numpy as np

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, in_turns, searched
from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused
from rumpus.checker.deciders.locks.interval_cover import chain
from rumpus.checker.deciders.operation_table import NEVER, OperationTable
from rumpus.checker.deciders.queues.found_empty import UnknownTakes, refute_empty
from rumpus.checker.deciders.queues.queue_elements import Elements, elements_by_dequeue
from rumpus.checker.deciders.values import Ints, WrongOperations
from rumpus.checker.deciders.wording import at, between, who
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.priority_queue import PriorityQueue

ALGORITHM = "by urgency"


def decide_priority_queue(
    table: OperationTable, _initial: Hashable = None, budget: Budget | None = None
) -> Decision:
    """Whether operations are those of a priority queue, empty at first.

    Raises:
        WrongOperations: an enqueue without a value, or without an integer priority.
    """
    return in_turns(table, _decide, budget or Budget())


def _decide(table: OperationTable, budget: Budget) -> Decision:
    queue, empty, unknown = elements_by_dequeue(table)
    decision: Decision | None
    if isinstance(queue, Decision):
        decision = queue
    else:
        priority = _priorities(table, queue.put)
        decision = _misnamed(table, queue, priority) or _judge(
            table, queue, priority, empty, unknown
        )
        if decision is None or (decision.valid is False and not queue.distinct):
            return check_linearizable(PriorityQueue(), table, budget)
    decision.algorithm = ALGORITHM
    return decision


def _priorities(table: OperationTable, puts: Ints) -> Ints:
    """The field ``priority``, else the value itself."""
    given = table.field("priority")[puts]
    values = table.argument[puts]
    own = ~given.present
    if values.objects is not None and own.any():
        wrong = next((v for v in values[np.flatnonzero(own)] if type(v) is not int), None)
        if wrong is not None:
            raise WrongOperations(
                f"enqueue takes an integer priority (lower is sooner), and {wrong!r} has none"
            )
        try:
            numbers = np.array([v if type(v) is int else 0 for v in values], dtype=np.int64)
        except OverflowError as error:
            raise WrongOperations("priorities must have 63 bits at most") from error
    else:
        numbers = values.numbers
    priorities: Ints = np.where(own, numbers, given.ints("priorities"))
    return priorities


def _misnamed(table: OperationTable, queue: Elements, priority: Ints) -> Decision | None:
    """The refusal of a dequeue that names another priority than the enqueue."""
    if "priority" not in table.fields:
        return None
    named = table.field("priority").ints("priorities")[queue.taken]
    wrong = ~queue.stayed & table.field("priority").present[queue.taken] & (named != priority)
    if not wrong.any():
        return None
    which = int(np.argmax(wrong))
    put, taken = int(queue.put[which]), int(queue.taken[which])
    return refused(
        (put, taken),
        f"{table.argument[put]!r} came out to {who(table, taken)} with priority {named[which]}, "
        f"but {who(table, put)} enqueued it with {priority[which]}",
    )


def _judge(
    table: OperationTable, queue: Elements, priority: Ints, empty: Ints, unknown: Ints
) -> Decision | None:
    """The answer; None if it depends on what unknown dequeues took."""
    if not queue.stayed.any():
        unknown = unknown[:0]
    late = UnknownTakes.of_dequeues(table, unknown)
    nobody = UnknownTakes.of_dequeues(table, unknown[:0])
    soonest = queue
    if len(unknown):
        # As if the first of them took every element that stayed.
        out = np.maximum(queue.born, int(table.call[unknown[0]]))
        soonest = dataclasses.replace(queue, leaving=np.where(queue.stayed, out, queue.leaving))
    wrong = _out_of_turn(soonest, priority)
    if wrong is not None:
        return _refuse(table, soonest, priority, wrong, unknown)
    found = refute_empty(table, queue, empty, late)
    if found or not len(unknown):
        return found or accepted()
    for tried in (queue, *_assignments(table, queue, priority, unknown)):
        wrong = _out_of_turn(tried, priority)
        if wrong is None:
            if refute_empty(table, tried, empty, nobody) is None:
                return accepted()
        elif not queue.stayed[wrong[0]]:
            found = _too_many(table, queue, priority, wrong[0], late)
            if found:
                return found
    return None


def _too_many(
    table: OperationTable, queue: Elements, priority: Ints, x: int, unknown: UnknownTakes
) -> Decision | None:
    """The refusal if unknown dequeues cannot have taken all more urgent elements in time."""
    urgent = queue.choose(priority < priority[x])
    claim = f"took {table.argument[int(queue.put[x])]!r} (priority {priority[x]})"
    return refute_empty(table, urgent, queue.taken[x : x + 1], unknown, claim)


def _assignments(
    table: OperationTable, queue: Elements, priority: Ints, unknown: Ints
) -> Iterator[Elements]:
    """Two assignments of unknown dequeues: to the most urgent elements, or to the first ones."""
    stayed = np.flatnonzero(queue.stayed)
    for order in (priority[stayed], queue.inside[stayed]):
        left = stayed[np.argsort(order, kind="stable")].tolist()
        leaving, taken = queue.leaving.copy(), queue.taken.copy()
        for row in unknown.tolist():
            call = int(table.call[row])
            which = next((each for each in left if queue.born[each] <= call), None)
            which = left[0] if which is None and left else which
            if which is None:
                break
            left.remove(which)
            taken[which], leaving[which] = row, max(call, int(queue.born[which]))
        yield dataclasses.replace(queue, leaving=leaving, taken=taken)


def _out_of_turn(queue: Elements, priority: Ints) -> tuple[int, int | None] | None:
    """The most urgent element dequeued out of order, and the equal dequeued before it, if any."""
    order = np.argsort(priority, kind="stable")
    ranks = np.cumsum(np.diff(priority[order], prepend=priority[order[:1]]) != 0)
    points = np.sort(queue.leaving[queue.leaving < NEVER])
    turns, blocked = _turns(queue, order, ranks, points)
    deadlines, behind = _deadlines(queue, order, ranks)
    # An element without a turn is refused by itself, before others of its priority.
    served = len(order) if blocked is None else int(np.searchsorted(ranks, ranks[blocked]))
    late = np.flatnonzero(deadlines[:served] < np.append(points, NEVER)[turns[:served]])
    if len(late):
        x = int(late[0])
        equals = slice(int(behind[x]), int(np.searchsorted(ranks, ranks[x], side="right")))
        return int(order[x]), int(order[equals][np.argmin(queue.gone[order[equals]])])
    return None if blocked is None else (int(order[blocked]), None)


def _turns(queue: Elements, order: Ints, ranks: Ints, points: Ints) -> tuple[Ints, int | None]:
    """Each element's turn, as a position in ``points``, and the first that has none in time.

    Elements are taken in order of urgency (``order``); ``ranks`` are equal for equals. An
    element that stays has its turn after all points.
    """
    # Searching in order of entry is faster, for neighbours are close in memory; then sort.
    turns = np.searchsorted(points, queue.leaving)[order]
    leaving = turns.tolist()
    inside = np.searchsorted(points, queue.inside, side="right")[order].tolist()
    gone = np.searchsorted(points, queue.gone, side="right")[order].tolist()
    stays = (queue.leaving == NEVER)[order].tolist()
    rank = ranks.tolist()
    free = array("q", range(len(points) + 1))
    covering = 0
    for each, point in enumerate(leaving):
        while rank[covering] < rank[each]:
            bare, end = inside[covering], leaving[covering]
            while bare < end:
                if free[bare] == bare:
                    free[bare] = bare + 1
                else:
                    free[bare] = free[free[bare]]
                bare = free[bare]
            covering += 1
        turn = point
        while free[turn] != turn:
            free[turn] = free[free[turn]]
            turn = free[turn]
        turns[each] = turn
        if turn >= gone[each] and not stays[each]:
            return turns, each
    return turns, None


def _deadlines(queue: Elements, order: Ints, ranks: Ints) -> tuple[Ints, Ints]:
    """When the first equal element that certainly came later was gone, and where those begin."""
    size = len(queue)
    if not size:
        return queue.gone, queue.gone
    place = ranks * (size + 1)
    own = place + np.searchsorted(queue.born, queue.born)[order]
    later = place + np.searchsorted(queue.born, queue.inside, side="right")[order]
    behind = np.searchsorted(own, later)
    gone = np.sort(queue.gone)
    # Ranks grow, so a minimum over all that follow never comes from the less urgent.
    soonest = np.minimum.accumulate((place + np.searchsorted(gone, queue.gone)[order])[::-1])[::-1]
    there = np.minimum(behind, size - 1)
    equal = (behind < size) & (ranks[there] == ranks)
    return np.where(equal, gone[np.where(equal, soonest[there] - place, 0)], NEVER), behind


def _refuse(
    table: OperationTable,
    queue: Elements,
    priority: Ints,
    wrong: tuple[int, int | None],
    unknown: Ints,
) -> Decision:
    """The refusal of an element that was dequeued, or stayed, out of order.

    ``unknown`` are the dequeues by the first of which the elements that stayed may have left.
    """
    x, y = wrong
    urgent = queue.choose((priority < priority[x]) & (queue.inside < queue.leaving))
    put, taken = int(queue.put[x]), int(queue.taken[x])
    name = f"{table.argument[put]!r} (priority {priority[x]})"
    if y is None:
        called, high = int(table.call[taken]), int(table.returned[taken])
        links = chain(urgent.inside, urgent.leaving, called, high)
        rows = [taken]
        if links is None:
            links = chain(urgent.inside, urgent.leaving, int(queue.leaving[x]), high)
            rows = [put, taken]
        words = f"{name} came out to {who(table, taken)} {between(table, called, high)}"
    else:
        low, high = int(queue.leaving[x]), int(queue.gone[y])
        links = chain(urgent.inside, urgent.leaving, low, high)
        second, others = int(queue.put[y]), int(queue.taken[y])
        end, begin = int(table.returned[put]), int(table.call[second])
        rows = [put, second, others]
        rows += unknown.tolist() if queue.stayed[x] else [taken]
        words = (
            f"{who(table, put)}'s enqueue of {name} had returned at {at(table, end, begin)} when "
            f"{who(table, second)} called that of its equal {table.argument[second]!r} at "
            f"{at(table, begin, end)}, but {table.argument[second]!r} came out by "
            f"{at(table, high, low)}, "
        )
        if queue.stayed[x]:
            words += "and the other never did"
        else:
            asked = int(table.call[taken])
            words += f"and the other only to a dequeue called at {at(table, asked, high)}"
    assert links is not None
    link = urgent.choose(np.array(sorted(links), dtype=np.int64))
    rows += link.put.tolist()
    rows += link.taken[~link.stayed].tolist()
    if link.stayed.any():
        rows += unknown.tolist()
    if len(link):
        words += f", but {_still_inside(table, link, priority[np.isin(queue.put, link.put)])}"
    return refused(rows, words)


def _still_inside(table: OperationTable, link: Elements, priority: Ints) -> str:
    """In words: more urgent elements were inside all the time."""
    columns = link.put, priority, link.inside, link.leaving
    told = [
        f"{table.argument[put]!r} (priority {urgency}) was inside from {at(table, start, end)} "
        + ("on" if end == NEVER else f"to {at(table, end, start)}")
        for put, urgency, start, end in zip(*(each[:5].tolist() for each in columns), strict=True)
    ]
    more = f" and {len(link) - 5} more after another" if len(link) > 5 else ""
    return " and ".join(told) + more


PRIORITY_QUEUE = ModelEntry(
    name="priority-queue",
    summary="a queue that gives out the lowest priority first, equals in order of arrival",
    runs="`priority-queue`, where the recipe promises an order",
    functions={
        "enqueue": "a value that is its priority, or an object of value and priority",
        "dequeue": "nothing -> the most urgent value, or null: it was empty",
    },
    algorithms=(
        Algorithm(
            ALGORITHM,
            "each value enqueued once, and it does not matter what unknown dequeues took: exact",
            "O(n log n)",
            "Lee, Mathur, OOPSLA 2025; Bouajjani, Enea, Wang, CONCUR 2017",
        ),
        searched("values that repeat, or it matters what unknown dequeues took"),
    ),
    decide=decide_priority_queue,
)
