"""The few operations that contradict each other, found by forgetting all others.

To forget an operation is to take it for one that may have happened at any time, or never
(`Witness`). `checker.deciders.minimal_rows` says how few are found; this module says in which
order they are forgotten, and answers whether the rest is still refused.

First are forgotten the operations of unknown outcome, for they are what makes a search hard;
then observers, which cost nothing, for they are left out; then the others, of which each may be
used anywhere from then on, when little is left that they could be used for. Those first go by
type: what contradicts a stale read is all writes of its value, and none of others.

Whether the rest is acceptable is first asked as if what is forgotten could have happened **any
number of times**, for then nothing has to be counted and the answer comes soon. A "no" holds all
the more when it happened at most once; and so does a "yes" whose order uses nothing more often
than it is there. (A queue into which something can be put any number of times has no end of
states; where that search takes too long it is not asked again.) What is doubtful is kept, and
searched in earnest when little else is left, with more patience each time.
"""

from collections.abc import Callable, Sequence
from typing import Any

from rumpus.checker.deciders.minimal_rows import minimise
from rumpus.checker.linearizability.windowed_search import InTurns

SLICE = 10_000


def minimal_positions(
    operations: Any,
    search: Callable[..., Any],
    stuck: int,
    patience: int,
    until: Callable[[], bool],
) -> tuple[list[int], bool]:
    """Operations that contradict each other.

    Args:
        operations: of a part of a history that is not linearizable, as a search takes them.
        search: makes a search over operations, some of them forgotten.
        stuck: the operation at which the search ended: those far from it are forgotten first.
        patience: how many configurations are too many for the first attempts.
        until: whether the time is up.

    Returns:
        Positions in ``operations``, in order; and whether it is known that none of them can be
        forgotten.
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
    asked.in_earnest()
    while doubtful and not until():
        doubtful = asked.forget([[k] for k in doubtful])
        asked.patience *= 10
    return [k for k, forgotten in enumerate(asked.forgotten) if not forgotten], not doubtful


class _Asked:
    """Whether operations are refused, with those forgotten that were forgotten so far.

    Attributes:
        forgotten: a byte for each operation.
        patience: how many configurations are too many.
    """

    def __init__(
        self,
        operations: Any,
        search: Callable[..., Any],
        patience: int,
        until: Callable[[], bool],
    ) -> None:
        self.forgotten = bytearray(len(operations))
        self.patience = patience
        self._operations = operations
        self._search = search
        self._uncounted = True
        self._until = until

    def in_earnest(self) -> None:
        """Count how often what is forgotten happened, from now on."""
        self._uncounted = False

    def forget(self, groups: Sequence[Sequence[int]]) -> list[int]:
        """Forget as many groups as may be; of those that are left, which may not be needed."""

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
        """Whether some order explains the rest; None if that is doubtful."""
        if not self._uncounted:
            return self._searched()
        search = self._search(self._operations, self.forgotten, by_levels=True, unlimited=True)
        answer = self._run(search)
        if answer is None:
            self._uncounted = False
            return self._searched()
        return None if answer and search.repeats() else answer

    def _searched(self) -> bool | None:
        """Whether some order explains the rest; None if that takes too long."""
        return self._run(InTurns(self._search, self._operations, self.forgotten))

    def _run(self, search: Any) -> bool | None:
        while not self._until() and search.configurations < self.patience:
            answer: bool | None = search.run(min(SLICE, self.patience))
            if answer is not None:
                return answer
        return None
