"""The few operations that contradict each other, found by forgetting all others.

To forget an operation is to take it for one that may have happened at any time, or never
(`Witness`). That only adds possible orders: what is acceptable stays so when
more is forgotten. Hence one pass is enough (deletion-based, as for minimal unsatisfiable cores:
Marques-Silva, Minimal unsatisfiability: models, algorithms and applications, ISMVL 2010): forget
one operation after the other, and keep those without which the rest would be acceptable; such a
one stays necessary when more is forgotten later. Runs of operations are tried at once, twice as
many after each success and half as many after each failure, which costs a number of searches in
the size of the witness, with the logarithm of the history as a factor.

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

from collections.abc import Callable
from typing import Any

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
    forgetting = _Forgetting(operations, search, patience, until)
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
    for some in (unknown, observers):
        forgetting.forget([[k] for k in sorted(some, key=lambda k: -abs(k - stuck))])
    types = forgetting.forget(sorted(by_type.values(), key=len))
    forgetting.forget([[k] for group in types for k in group])
    minimal = forgetting.settle()
    return [k for k, is_forgotten in enumerate(forgetting.forgotten) if not is_forgotten], minimal


class _Forgetting:
    """What is forgotten so far: a byte for each operation."""

    def __init__(
        self,
        operations: Any,
        search: Callable[..., Any],
        patience: int,
        until: Callable[[], bool],
    ) -> None:
        self.forgotten = bytearray(len(operations))
        self._operations = operations
        self._search = search
        self._patience = patience
        self._uncounted = True
        self._until = until
        self._necessary: set[int] = set()

    def forget(self, groups: list[list[int]]) -> list[list[int]]:
        """Forget as many groups as may be; what is left of them."""
        left: list[list[int]] = []
        at, run = 0, len(groups)
        while at < len(groups) and not self._until():
            tried = groups[at : at + run]
            changed = [k for group in tried for k in group]
            self._set(changed, 1)
            answer = self._answer()
            if answer is False:
                at += len(tried)
                run *= 2
                continue
            self._set(changed, 0)
            if len(tried) == 1:
                left += tried
                at += 1
                if len(changed) == 1 and answer:
                    self._necessary.update(changed)
            run = max(1, len(tried) // 2)
        return left + groups[at:]

    def settle(self) -> bool:
        """Search in earnest where it is doubtful; whether nothing is doubtful in the end."""
        while doubtful := [
            k
            for k, is_forgotten in enumerate(self.forgotten)
            if not is_forgotten and k not in self._necessary
        ]:
            for k in doubtful:
                self._set([k], 1)
                answer = self._searched()
                if answer is not False:
                    self._set([k], 0)
                if answer:
                    self._necessary.add(k)
            if self._until():
                return False
            self._patience *= 10
        return True

    def _set(self, positions: list[int], value: int) -> None:
        for k in positions:
            self.forgotten[k] = value

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
        while not self._until() and search.configurations < self._patience:
            answer: bool | None = search.run(min(SLICE, self._patience))
            if answer is not None:
                return answer
        return None
