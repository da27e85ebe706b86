"""The least load of a lock at each time: the overlap of cores, in O(n log n).

Let every acquire take effect at its return, and every release at its call: then each hold is its
core. Cores that overlap do so in every linearization; and if no overlap exceeds the capacity, this
is a linearization. So a history of holds follows the model **if and only if** the greatest weighted
overlap of cores is at most the capacity. Ties are concurrent: at equal times releases come first.

A hold with an empty core (`Pulse`) needs one point of its window. There it overlaps the cores that
strictly contain the point, and no other pulse: of those at the same time each can end before the
next begins. So each pulse needs a point with room, independently of the others. (A writer of a
read-write lock has the weight of all readers together, which is the capacity.)
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.values import Ints

SCAN = 4096
"""Points that are checked at once for room."""


class Pulse(NamedTuple):
    """A hold that lasted at least one point between ``low`` and ``high`` (inclusive)."""

    row: int
    low: int
    high: int
    weight: int


@dataclass(frozen=True, eq=False)
class Pulses:
    """Pulses as columns."""

    row: Ints
    low: Ints
    high: Ints
    weight: Ints

    def at(self, place: int) -> Pulse:
        """One of them."""
        columns = (self.row, self.low, self.high, self.weight)
        return Pulse(*(int(column[place]) for column in columns))


class Loads:
    """The total weight of cores over time.

    Args:
        start: of cores, exclusive; each before its end.
        end: of cores, exclusive.
        weight: of cores; positive.
        capacity: how much may be held at once.
    """

    def __init__(self, start: Ints, end: Ints, weight: Ints, capacity: int) -> None:
        self.capacity = capacity
        self._begins, self._ends, self._weight = start, end, weight
        least = int(weight[0]) if len(weight) else 1
        self._each = least if bool((weight == least).all()) else None

    @cached_property
    def _start(self) -> Ints:
        return _sorted(self._begins)

    @cached_property
    def _end(self) -> Ints:
        return _sorted(self._ends)

    @cached_property
    def _begun(self) -> Ints:
        """The weight that began up to each place in the order of beginnings."""
        return _sums(self._begins, self._weight)

    @cached_property
    def _ended(self) -> Ints:
        return _sums(self._ends, self._weight)

    def first_overload(self) -> int | None:
        """The first time just after which more is held than can be; None if there is none."""
        if self._each is not None:
            # When the k-th begins, all but capacity / weight - 1 before it must have ended.
            later = self._start[self.capacity // self._each :]
            over = later < self._end[: len(later)]
        elif self._only_by_the_whole():
            return None
        else:
            later = self._start
            ended = self._ended[np.searchsorted(self._end, later, side="right")]
            over = self._begun[1:] - ended > self.capacity
        return int(later[int(np.argmax(over))]) if over.any() else None

    def _only_by_the_whole(self) -> bool:
        """Whether only cores of the whole capacity could exclude others, and none does."""
        if bool((self._weight > self.capacity).any()):
            return False
        whole = self._weight == self.capacity
        if int(self._weight[~whole].sum()) > self.capacity:
            return False
        begun = np.searchsorted(self._start, self._ends[whole], side="left")
        ended = np.searchsorted(self._end, self._begins[whole], side="right")
        return bool((begun - ended == 1).all())

    def at(self, times: Ints) -> Ints:
        """How much is held at some times, by cores that strictly contain them."""
        begun = np.searchsorted(self._start, times, side="left")
        ended = np.searchsorted(self._end, times, side="right")
        load: Ints
        if self._each is not None:
            load = (begun - ended) * self._each
        else:
            load = self._begun[begun] - self._ended[ended]
        return load

    def without_room(self, pulses: Pulses) -> Pulse | None:
        """The first pulse without room in its window."""
        free = self.capacity - pulses.weight
        tight = (self.at(pulses.low) > free) & (self.at(pulses.high) > free)
        found = (pulses.at(place) for place in np.flatnonzero(tight).tolist())
        return next((pulse for pulse in found if not self._has_room(pulse)), None)

    def _has_room(self, pulse: Pulse) -> bool:
        """Whether there is room where a core has just ended: the load is lowest there."""
        first = int(np.searchsorted(self._end, pulse.low, side="left"))
        last = int(np.searchsorted(self._end, pulse.high, side="right"))
        return any(
            bool(
                (
                    self.at(self._end[at : min(at + SCAN, last)]) + pulse.weight <= self.capacity
                ).any()
            )
            for at in range(first, last, SCAN)
        )


def _sorted(times: Ints) -> Ints:
    return times if (times[1:] >= times[:-1]).all() else np.sort(times)


def _sums(times: Ints, weight: Ints) -> Ints:
    """Running sums of weights in the order of their times, from 0."""
    return np.concatenate(([0], np.cumsum(weight[np.argsort(times, kind="stable")])))
