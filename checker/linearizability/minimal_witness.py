"""Minimal witnesses of the general search.

To forget an operation is to treat it as one that may have taken effect at any time, or never
(`checker.deciders.decision.Witness`). `checker.deciders.minimal_rows` removes operations one by
one; this module chooses their order, and tests whether the rest is still not linearizable.

**Order.** First the operations of unknown outcome, since they make a search expensive. Then the
observers: a forgotten observer is left out of the search. Then the others. A forgotten mutator may
be used anywhere, and so it goes last, when few operations are left that could use it. Mutators are
first forgotten a whole type at a time: a stale read contradicts all writes of some values, and no
writes of other values.

**Test.** The first test lets forgotten operations take effect **any number of times**. That search
needs no counts and is fast. Its "no" also holds if they take effect at most once. Its "yes" holds
if the order that it found uses no operation more often than it exists; otherwise the answer is
unknown. (If a queue's enqueue can happen any number of times there are infinitely many states. So
once this search takes too long it is not used again.) An operation for which the test has no answer
is kept. At the end those are tested by the exact search, with a higher limit each time.
"""

from collections.abc import Callable, Sequence
from typing import Any

from rumpus.checker.deciders.minimal_rows import minimise
from rumpus.checker.linearizability.windowed_search import InTurns

SLICE = 10_000
"""So many configurations are searched before the time is checked again."""


def minimal_positions(
    operations: Any,
    search: Callable[..., Any],
    stuck: int,
    patience: int,
    until: Callable[..., bool],
) -> tuple[list[int], bool]:
    """A set of operations that contradict each other, minimal if there is time for it.

    Args:
        operations: of a part of a history that is not linearizable, as a search takes them.
        search: makes a search over operations, with some of them forgotten.
        stuck: the operation at which the search ended; those far from it are forgotten first.
        patience: the most configurations that one of the first tests may visit.
        until: whether the time or the memory is up; asked with the bytes that a test takes.

    Returns:
        Positions in ``operations``, in order; and whether the set is known to be minimal.
    """
    unknown: list[int] = []
    observers: list[int] = []
    by_type: dict[int, list[int]] = {}
    columns = zip(operations.types, operations.optional, operations.observing, strict=True)
    for k, (type_, optional, observes) in enumerate(columns):
        if optional:
            unknown.append(k)
        elif observes:
            observers.append(k)
        else:
            by_type.setdefault(type_, []).append(k)
    asked = _Asked(operations, search, patience, until)
    doubtful: list[int] = []
    for some in (unknown, observers):
        some.sort(key=lambda k: -abs(k - stuck))
        doubtful += asked.forget([[k] for k in some])
    groups = sorted(by_type.values(), key=len)
    asked.forget(groups)
    doubtful += asked.forget([[k] for group in groups for k in group if not asked.forgotten[k]])
    asked.search_exactly()
    while doubtful and not until():
        doubtful = asked.forget([[k] for k in doubtful])
        asked.patience *= 10
    return [k for k, forgotten in enumerate(asked.forgotten) if not forgotten], not doubtful


class _Asked:
    """Which operations are forgotten so far, and whether the rest is linearizable.

    Attributes:
        forgotten: a byte for each operation.
        patience: the most configurations that a test may visit.
    """

    def __init__(
        self,
        operations: Any,
        search: Callable[..., Any],
        patience: int,
        until: Callable[..., bool],
    ) -> None:
        self.forgotten = bytearray(len(operations))
        self.patience = patience
        self._operations = operations
        self._search = search
        self._uncounted = True
        self._until = until

    def search_exactly(self) -> None:
        """From now on let forgotten operations take effect at most once (the exact search)."""
        self._uncounted = False

    def forget(self, groups: Sequence[Sequence[int]]) -> list[int]:
        """Forget as many groups as possible; returns the operations left that may not be needed."""

        def set_forgotten(kept: Sequence[int]) -> None:
            for group in groups:
                for k in group:
                    self.forgotten[k] = 1
            for place in kept:
                for k in groups[place]:
                    self.forgotten[k] = 0

        def refuses(kept: Sequence[int]) -> bool | None:
            set_forgotten(kept)
            answer = self._answer()
            return None if answer is None else not answer

        left = minimise(range(len(groups)), refuses, self._until)
        set_forgotten(left.rows)
        return [k for place in left.doubtful for k in groups[place]]

    def _answer(self) -> bool | None:
        """Whether the rest is linearizable; None if unknown."""
        if not self._uncounted:
            return self._searched()
        search = self._search(self._operations, self.forgotten, by_levels=True, unlimited=True)
        answer = self._run(search)
        if answer is None:
            self._uncounted = False
            return self._searched()
        return None if answer and search.repeats() else answer

    def _searched(self) -> bool | None:
        """As `_answer`, by the exact search; None if it takes too long."""
        return self._run(InTurns(self._search, self._operations, self.forgotten))

    def _run(self, search: Any) -> bool | None:
        while not self._until(search.bytes) and search.configurations < self.patience:
            answer: bool | None = search.run(min(SLICE, self.patience))
            if answer is not None:
                return answer
        return None
