"""Delta debugging: makes a failing input smaller step by step, as long as it still fails.

``parts_removed`` tries in the order of ddmin (Zeller and Hildebrandt, "Simplifying and Isolating
Failure-Inducing Input", 2002), ``numbers_below`` in that of a binary search. ``minimise`` goes
through passes of such trials until none helps any more.
"""

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")
K = TypeVar("K")

Pass = Callable[[T], Iterable[T]]
"""Given a failing input, smaller ones in the order in which they are to be tried."""

Fails = Callable[[Sequence[T]], Iterable[bool]]
"""Whether each of some inputs fails. They may be tried side by side."""


def minimise(
    start: T,
    passes: Sequence[Pass[T]],
    fails: Fails[T],
    *,
    at_once: int = 1,
    tries: int | None = None,
    over: Callable[[], bool] = lambda: False,
    key: Callable[[T], Hashable] = lambda each: each,
) -> T:
    """The smallest input found that fails.

    Each pass is repeated with the input that it has found, until it finds no other; all passes are
    repeated until none finds one. The result does not depend on ``at_once``: of the inputs tried at
    once, the first that fails is taken.

    Args:
        start: an input that fails.
        passes: what to try.
        fails: tries inputs.
        at_once: how many inputs to give to ``fails`` at a time.
        tries: how many inputs to try at most. Those after one that fails, which were tried at once
            with it, do not count.
        over: asked before each trial; once true, the smallest input so far is returned.
        key: equal for equal inputs: one that has been tried and did not fail is passed over.
    """
    smallest = start
    left = _Left(sys.maxsize if tries is None else tries, key)
    while not over() and left.tries:
        before = smallest
        for each in passes:
            while (found := _first(each(smallest), fails, at_once, left, over)) is not None:
                smallest = found
        if smallest == before:
            break
    return smallest


@dataclass
class _Left:
    """How many inputs may still be tried, and which were tried in vain."""

    tries: int
    key: Callable[[Any], Hashable]
    vain: set[Hashable] = field(default_factory=set)

    def untried(self, inputs: Iterable[T]) -> Iterator[T]:
        return (each for each in inputs if self.key(each) not in self.vain)


def _first(
    inputs: Iterable[T], fails: Fails[T], at_once: int, left: _Left, over: Callable[[], bool]
) -> T | None:
    """The first input that fails; None if there is none, or the time or the tries are over."""
    untried = left.untried(inputs)
    while not over() and (batch := list(islice(untried, min(at_once, left.tries)))):
        for each, failed in zip(batch, fails(batch), strict=True):
            left.tries -= 1
            if failed:
                return each
            left.vain.add(left.key(each))
    return None


def parts_removed(items: Sequence[K]) -> Iterator[tuple[K, ...]]:
    """Shorter sequences: all removed, each half, each quarter ..., each single item."""
    size = len(items)
    while size >= 1:
        for begin in range(0, len(items), size):
            yield (*items[:begin], *items[begin + size :])
        size = size // 2 if size != 1 else 0


def numbers_below(number: float, least: float, *, step: float) -> Iterator[float]:
    """Smaller numbers from ``least`` on, each in the middle between the last one and the number.

    They are multiples of ``step`` above ``least``, and at least ``step`` below the number.
    """
    steps = int((number - least) / step + 1e-9)
    tried = 0
    while tried < steps:
        yield least + tried * step
        tried += max(1, (steps - tried) // 2)
