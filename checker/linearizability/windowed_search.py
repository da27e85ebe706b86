"""Linearizability by a windowed search: the plain Python twin of the C extension.

The search of Wing and Gong (Testing and verifying concurrent objects, JPDC 1993) with the memory
of Lowe (Testing for linearizability, CCPE 2017), but what it remembers does not grow with the
history. Acknowledged operations are linearized one after the other; a **configuration** is

- the index of the first return, in order of returns, whose operation is not linearized yet,
- of the operations open there (called, not returned), the mask of those linearized already: each
  takes a slot at its call and gives it back at its return,
- the state, and
- for each type of operations of unknown outcome, how many were linearized.

Nothing else matters for what may follow: operations that returned before are all linearized,
those called after the next return cannot come before it, and operations of unknown outcome with
equal function and argument are interchangeable but for their call, so they are used in order of
call. So it is enough to visit each configuration once, in whatever order. The refinements, each
with the reason why it loses no solution:

- **Dominance**. With equal index, mask and state, a configuration that used no more of any type
  makes another one useless: whatever the other can do, it can. The counts are fields of one
  integer with a guard bit above each; ``a <= b`` in all fields iff ``(b | guards) - a`` keeps all
  guard bits (no borrow reaches them).
- **Observers at once**. An open observer that is legal is linearized at once: it changes no state
  whatever the state, so it can be moved forward to here in any order that has it later. (That
  it happens to leave this one state would not be enough: ``write(3)`` in state 3 may be needed
  later, over another value. Only a model's declaration counts.)
- **Useless unknowns**. One that leaves the state as it is is dominated by not using it; likewise
  a blind write of unknown outcome right before another blind write.
- **Twins**. Of open operations of one type only the one that returns first is tried. For in an
  order that has another one of them here and that one later, the two can change places: both are
  called by now, and what could come later than the return of the first can come later than its
  own.
- **Absorption**. An open blind write whose state nobody to come can see (only blind writes are
  legal in it) is linearized together with another blind write, right before it. For in an order
  that has it later, it stands before a blind write or at the end, so nothing depends on it, and
  it can be taken out there and put in here. Who is still to come is judged by types and their
  last returns, and only the last 64 types are asked.

**Two orders of visiting.** Depth first finds an order soon where there are many. But a
configuration may be visited, with all that follows, before the one that dominates it. By levels
(by index, and within an index by how many unknown outcomes were used) that cannot happen: what
dominates a configuration has used fewer, and each step keeps or raises both the index and the
number. So only undominated ones are followed up, which is best where there is no order, and
where many outcomes are unknown: 44,000 instead of millions in a history of 1,000 operations with
45 unknown. Both are run in turns (`InTurns`), the second only if something is unknown.

Cost: exponential in the number of open operations at worst (the problem is NP-complete: Gibbons
and Korach, Testing shared memories, SIAM J. Comput. 1997), linear for a bounded number of them
and few unknown outcomes.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from rumpus.checker.linearizability.operation_types import Operations
from rumpus.checker.linearizability.windows import Configuration, Windows

_CONFIGURATION_BYTES = 350
"""About what remembering one configuration takes: a key, counts, its place, the way to it."""


class Search:
    """A search that can be paused.

    Args:
        operations: of one part of a history.
        forgotten: as for `Windows`.
        by_levels: whether to search by levels instead of depth first.
        unlimited: as for `Windows`.

    Attributes:
        returns: how many acknowledged operations there are.
        unknowns: whether anything may or may not have happened.
        reached: how many returns, in order, some order explains; as far as known.
        configurations: how many were visited.
    """

    def __init__(
        self,
        operations: Operations,
        forgotten: bytes | bytearray = b"",
        *,
        by_levels: bool = False,
        unlimited: bool = False,
    ) -> None:
        self._windows = windows = Windows(operations, forgotten, unlimited=unlimited)
        self._states = operations.transitions.states
        self.returns = windows.returns
        self.unknowns = bool(windows.unsure)
        self.configurations = 0
        self._visited: list[dict[tuple[int, int], tuple[int, ...]]] = [
            {} for _ in range(self.returns + 1)
        ]
        first = windows.first()
        self.reached = first[0]
        self._visit(first)
        self._longest: list[int] = []
        self._search = (self._by_levels if by_levels else self._depth_first)(first)

    @property
    def bytes(self) -> int:
        """About how much memory it takes, without the transitions."""
        return self.configurations * _CONFIGURATION_BYTES

    def run(self, limit: int) -> bool | None:
        """Search on, until so many more configurations were visited.

        Returns:
            Whether the operations are linearizable; None when the limit was reached before.
        """
        limit += self.configurations
        for answer in self._search:
            if answer is not None:
                return answer
            if self.configurations >= limit:
                return None
        raise RuntimeError("the search has ended before")

    def _visit(self, configuration: Configuration) -> bool:
        """Remember a configuration; whether it is new, and not dominated."""
        index, mask, state, used, _ = configuration
        visited = self._visited[index]
        key = mask, state
        known = visited.get(key)
        if known is None:
            visited[key] = (used,)
        else:
            guards = self._windows.guards
            fenced = used | guards
            for other in known:
                if (fenced - other) & guards == guards:
                    return False
            better = [o for o in known if ((o | guards) - used) & guards != guards]
            visited[key] = (used, *better)
        self.configurations += 1
        return True

    def _depth_first(self, first: Configuration) -> Iterator[bool | None]:
        """Yields None for each configuration, at last the answer."""
        if self.reached == self.returns:
            yield True
        moves = self._windows.moves
        stack = [moves(first)]
        path: list[int] = []
        # Only what has changed since the last copy is copied, so that all copies of the way to
        # the longest prefix together cost no more than the search.
        shared = depth = 0
        stale = False
        while stack:
            for configuration, position in stack[-1]:
                if not self._visit(configuration):
                    continue
                stack.append(moves(configuration))
                path.append(position)
                index = configuration[0]
                if index > self.reached:
                    self.reached = index
                    if index == self.returns:
                        yield True
                    depth = len(path)
                    stale = True
                yield None
                break
            else:
                if stale:
                    self._longest[shared:] = path[shared:depth]
                    shared = depth
                    stale = False
                stack.pop()
                if path:
                    path.pop()
                shared = min(shared, len(path))
        yield False

    def _by_levels(self, first: Configuration) -> Iterator[bool | None]:
        """Yields None for each configuration that is followed up, at last the answer."""
        if self.reached == self.returns:
            yield True
        moves = self._windows.moves
        unsure = self._windows.unsure
        found = [(first, 0, -1)]  # configuration, from which, by what
        farthest = 0
        # index -> how many unknown outcomes were used -> where in what was found
        levels: dict[int, dict[int, list[int]]] = {first[0]: {0: [0]}}
        index = first[0]
        while levels:
            counts = levels.get(index, {})
            while counts:
                count = min(counts)
                waiting = counts[count]
                while waiting:
                    at = waiting.pop()
                    before = found[at][0]
                    _, mask, state, used, _ = before
                    if used not in self._visited[index][mask, state]:
                        continue
                    for after, position in moves(before):
                        if not self._visit(after):
                            continue
                        level = levels.setdefault(after[0], {})
                        more = count + (position in unsure)
                        level.setdefault(more, []).append(len(found))
                        if after[0] > self.reached:
                            self.reached = after[0]
                            farthest = len(found)
                        found.append((after, at, position))
                        if self.reached == self.returns:
                            self._longest = _way(found, farthest)
                            yield True
                    yield None
                del counts[count]
            levels.pop(index, None)
            index += 1
        self._longest = _way(found, farthest)
        yield False

    def repeats(self) -> bool:
        """Whether the order that was found by levels uses something more often than it is there.

        It can, if the search is unlimited.
        """
        times = Counter(self._longest)
        return any(times[k] > there for k, there in self._windows.unlimited.items())

    def prefix(self) -> tuple[list[int], int | None]:
        """Operations in an order that explains as many returns as were reached.

        Only to be asked of a search that has ended with "no".

        Returns:
            Their positions, and the position of the last one that changed the state, if any.
        """
        return self._windows.replay(self._longest)

    def stuck(self) -> int:
        """The position of the operation that no order explains after what was reached."""
        return self._windows.order[self.reached]

    def states(self) -> list[Hashable]:
        """The states that were possible when the stuck operation had to follow."""
        numbers = dict.fromkeys(state for _, state in self._visited[self.reached])
        return [self._states[number] for number in numbers]


def _way(found: list[tuple[Configuration, int, int]], to: int) -> list[int]:
    """The choices that led to what was found, from its predecessors."""
    way = []
    while to:
        _, before, position = found[to]
        way.append(position)
        to = before
    return way[::-1]


class InTurns:
    """The two orders of visiting in turns, and which of them has come to an end.

    Args:
        make: makes a `Search`, or one of the C extension.
        operations: of one part of a history.
        forgotten: as for `Search`.
    """

    ALONE = 1_000
    """So many configurations are visited depth first before the other search begins."""

    def __init__(
        self, make: Callable[..., Any], operations: Any, forgotten: bytes | bytearray = b""
    ) -> None:
        self._make = make
        self._operations = operations
        self._forgotten = bytes(forgotten)
        self._depth_first = self.ended = make(operations, forgotten)
        self._by_levels: Any = None
        self.returns: int = self.ended.returns

    @property
    def reached(self) -> int:
        """How many returns, in order, some order explains; as far as known."""
        return max(int(search.reached) for search in self._searches())

    @property
    def configurations(self) -> int:
        """How many were visited."""
        return sum(search.configurations for search in self._searches())

    @property
    def bytes(self) -> int:
        """About how much memory both take."""
        return sum(search.bytes for search in self._searches())

    def _searches(self) -> list[Any]:
        return [search for search in (self._depth_first, self._by_levels) if search is not None]

    def run(self, limit: int) -> bool | None:
        """Search on, until each has visited so many more; as `Search.run`."""
        answer: bool | None = self._depth_first.run(limit)
        if answer is not None or not self._depth_first.unknowns:
            return answer
        if self._by_levels is None:
            if self._depth_first.configurations < self.ALONE:
                return None
            self._by_levels = self._make(self._operations, self._forgotten, by_levels=True)
        answer = self._by_levels.run(limit)
        if answer is not None:
            self.ended = self._by_levels
        return answer
