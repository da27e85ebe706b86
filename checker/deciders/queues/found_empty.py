"""Dequeues that found the queue empty: whether it can have been empty during each.

An element is certainly inside between `Elements.inside` and `Elements.leaving`, both excluded. An
element that no acknowledged dequeue took is certainly inside from then on, unless a dequeue of
unknown outcome took it: each takes one element, after its own call. So the queue can have been
empty at a point p iff

* no element that was taken is certainly inside at p, and
* of the elements that stayed, at most as many were inside before p as unknown dequeues were called
  by p.

The first condition is the pattern VWit of Henzinger, Sezgin and Vafeiadis (Aspect-oriented
linearizability proofs, CONCUR 2013). The second: those inside before p have to be taken by p, each
by an unknown dequeue called by p. The points chosen for several such dequeues are independent of
each other: an element that has to be taken by one of them has to be taken by all later ones, and
Hall's condition for deadlines holds for each. Other constraints (first in, first out) may require
that elements are taken by a deadline T. Those are always the elements that came first, so both sets
are nested, and the condition of the larger one is enough.

Both sides change only where an element leaves or an unknown dequeue is called, so it is enough to
check those points and the calls. O(n log n).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.decision import Decision, refused
from rumpus.checker.deciders.locks.interval_cover import any_within, chain, covered
from rumpus.checker.deciders.minimal_rows import MOST, minimise
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.queues.queue_elements import Elements
from rumpus.checker.deciders.values import Ints
from rumpus.checker.deciders.wording import at, between, who


@dataclass(frozen=True, eq=False)
class UnknownTakes:
    """Dequeues of unknown outcome in order of call, with the most elements that each took."""

    rows: Ints
    calls: Ints
    most: Ints

    @classmethod
    def of_dequeues(cls, table: OperationTable, rows: Ints) -> "UnknownTakes":
        """Dequeues each of which may have taken one element; rows in order of call."""
        return cls(rows, table.call[rows], np.ones(len(rows), dtype=np.int64))

    def by(self, points: Ints) -> Ints:
        """How many elements they may have taken by each point."""
        sums = np.concatenate(([0], np.cumsum(self.most)))
        return np.asarray(sums[np.searchsorted(self.calls, points, side="right")], dtype=np.int64)


def refute_empty(
    table: OperationTable,
    queue: Elements,
    empty: Ints,
    unknown: UnknownTakes,
    claim: str = "found the queue empty",
) -> Decision | None:
    """Find a dequeue that cannot have found the queue empty.

    Args:
        table: the whole history.
        queue: its elements.
        empty: rows that found the queue empty.
        unknown: dequeues that may have taken other elements.
        claim: the claim of those rows in words: that none of the elements was inside.

    Returns:
        A refusal; None if the queue can have been empty during each.
    """
    if not len(empty) or not len(queue):
        return None
    low, high = table.call[empty], table.returned[empty]
    surely = ~queue.stayed & (queue.inside < queue.leaving)
    starts, ends = queue.inside[surely], queue.leaving[surely]
    waiting = np.sort(queue.inside[queue.stayed])
    points = np.sort(np.concatenate((ends, unknown.calls, low)))
    free = covered(starts, ends, points) == 0
    free &= np.searchsorted(waiting, points, side="left") <= unknown.by(points)
    wrong = ~any_within(points, free, low, high)
    if not wrong.any():
        return None
    at_fault = np.flatnonzero(wrong)
    row = int(empty[at_fault[np.argmin(high[at_fault])]])
    return _refuse(table, queue, row, unknown, claim)


def _refuse(
    table: OperationTable, queue: Elements, row: int, unknown: UnknownTakes, claim: str
) -> Decision:
    """The refusal of one row: by elements that were taken, else also by those that stayed."""
    low, high = int(table.call[row]), int(table.returned[row])
    near = queue.choose(
        (queue.inside < high) & (queue.leaving > low) & (queue.inside < queue.leaving)
    )
    taken = near.choose(~near.stayed)
    found = f"{who(table, row)} {claim} {between(table, low, high)}, but "
    links = chain(taken.inside, taken.leaving, low, high)
    if links is not None:
        link = taken.choose(np.array(links))
        rows = [*link.put.tolist(), *link.taken.tolist(), row]
        return refused(rows, found + _in_words(table, link))
    stayed = near.choose(near.stayed)
    allowed = int(unknown.most.sum())
    stayed = stayed.choose(np.argsort(stayed.inside, kind="stable")[: allowed + 1])
    if not allowed and len(stayed) and stayed.inside[0] < low:
        return refused([int(stayed.put[0]), row], found + _lost(table, stayed, 0))
    return _mixed(table, row, taken, stayed, unknown, found)


def _mixed(
    table: OperationTable,
    row: int,
    taken: Elements,
    stayed: Elements,
    unknown: UnknownTakes,
    found: str,
) -> Decision:
    """A refusal by elements that were taken, elements that stayed, and unknown dequeues.

    An unknown dequeue that is forgotten may have taken something at any time.
    """
    low, high = int(table.call[row]), int(table.returned[row])
    points = np.unique(np.concatenate((taken.leaving, unknown.calls, [low])))
    points = points[(points >= low) & (points <= high)]
    size = len(taken) + len(stayed) + len(unknown.rows)
    parts = np.cumsum([len(taken), len(stayed)])

    def split(kept: Sequence[int]) -> list[NDArray[np.bool_]]:
        return np.split(np.isin(np.arange(size), kept), parts)

    def impossible(kept: Sequence[int]) -> bool:
        link, waits, late = split(kept)
        inside = covered(taken.inside[link], taken.leaving[link], points) > 0
        waiting = np.searchsorted(np.sort(stayed.inside[waits]), points, side="left")
        calls = np.where(late, unknown.calls, np.iinfo(np.int64).min)
        order = np.argsort(calls, kind="stable")
        may = UnknownTakes(unknown.rows, calls[order], unknown.most[order]).by(points)
        return bool((inside | (waiting > may)).all())

    minimal = size <= MOST
    link, waits, late = split(minimise(range(size), impossible).rows if minimal else range(size))
    links, lost = taken.choose(link), stayed.choose(waits)
    may = int(unknown.most.sum() - unknown.most[late].sum())
    rows = [*links.put.tolist(), *links.taken.tolist(), *lost.put.tolist()]
    words = " and ".join(
        each for each in (_in_words(table, links), _lost(table, lost, may)) if each
    )
    return refused([*rows, *unknown.rows[late].tolist(), row], found + words, minimal=minimal)


def _in_words(table: OperationTable, link: Elements) -> str:
    """In words: elements that were taken were inside all the time."""
    told = [
        f"{table.argument[put]!r} was in it from {at(table, start, end)} "
        f"({who(table, put)}'s enqueue had returned) to {at(table, end, start)} "
        f"({who(table, taken)}'s {table.function(taken)} had not been called)"
        for put, taken, start, end in zip(
            link.put[:5].tolist(),
            link.taken[:5].tolist(),
            link.inside[:5].tolist(),
            link.leaving[:5].tolist(),
            strict=True,
        )
    ]
    more = f" and {len(link) - 5} more after another" if len(link) > 5 else ""
    return " and ".join(told) + more


def _lost(table: OperationTable, lost: Elements, may: int) -> str:
    """In words: elements that no dequeue took must still have been inside."""
    if not len(lost):
        return ""
    told = ", ".join(
        f"{table.argument[put]!r} (put in by {who(table, put)}, acknowledged at {at(table, end)})"
        for put, end in zip(lost.put[:5].tolist(), lost.inside[:5].tolist(), strict=True)
    )
    more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
    words = f"{told}{more} never came out"
    if may:
        words += f", and at most {may} of them can have been taken by dequeues of unknown outcome"
    return words
