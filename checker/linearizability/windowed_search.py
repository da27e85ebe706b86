"""Linearizability by a windowed search, in plain Python. The C extension does the same.

This is the search of Wing and Gong (Testing and verifying concurrent objects, JPDC 1993) with the
cache of Lowe (Testing for linearizability, CCPE 2017), but the size of a cache entry does not grow
with the history. Acknowledged operations are linearized one after the other. A **configuration** is

- the index of the first return, in order of returns, whose operation is not linearized yet,
- the mask of the operations open at that return (called, not returned) that are linearized
  already: an operation takes a slot at its call and frees it at its return,
- the state, and
- for each type of operations of unknown outcome, how many were linearized.

Nothing else restricts what may follow. Operations that returned before are all linearized. Those
called after the next return cannot precede it. Operations of unknown outcome with equal function
and argument differ only in their call, and so they are used in order of call. So it is enough to
visit each configuration once, in any order. These refinements prune the search; each comes with
the reason why it loses no solution:

- **Dominance**. Of two configurations with equal index, mask and state, one that used at most as
  many operations of each type dominates the other: it can continue in every way in which the
  other can. The counts are fields of one integer with a guard bit above each; ``a <= b`` in all
  fields iff ``(b | guards) - a`` keeps all guard bits (no borrow reaches them).
- **Observers at once**. An open observer that is legal is linearized at once: it never changes a
  state, so in any order that has it later it can be moved to here. (It is not enough that an
  operation leaves this one state unchanged: ``write(3)`` in state 3 may be needed later, over
  another value. Only the model's declaration counts.)
- **Useless unknowns**. To use an operation of unknown outcome that leaves the state unchanged is
  dominated by not using it; so is a blind write of unknown outcome right before another blind
  write.
- **Twins**. Of open operations of one type only the one that returns first is tried. In an order
  that has another one here and that one later, the two can be exchanged: both are called by now,
  and a place before the first return is also before the later return.
- **Absorption**. An open blind write to a state that no later operation can observe (only blind
  writes are legal in it) is linearized right before another blind write. In an order that has it
  later, it precedes a blind write or is last, so no operation depends on it, and it can be moved
  to here. Whether a later operation can observe the state is decided by the types that still
  occur; only the 64 types that occur longest are checked.

**Two orders of visiting.** Depth first finds a linearization soon if there are many. But a
configuration, and all that follow it, may be visited before the one that dominates it. By levels
(by index, and within an index by the number of unknown outcomes used) that cannot happen: a
dominating configuration has used fewer, and no step lowers the index or the number. So only
undominated configurations are expanded. This is best where there is no linearization and many
outcomes are unknown: 44,000 configurations instead of millions in a history of 1,000 operations
with 45 unknown. Both are run in turns (`InTurns`), the second only if an outcome is unknown.

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
"""The approximate size of a visited configuration: key, counts, and the path to it."""


PAUSE_BYTES = 16 << 20
"""So many bytes of new states pause a search, for its caller to look at the budget: a state of a
queue or a set is as large as what is in it."""


class Search:
    """A search that can be paused.

    Args:
        operations: of one part of a history.
        forgotten: as for `Windows`.
        by_levels: whether to search by levels instead of depth first.
        unlimited: as for `Windows`.

    Attributes:
        returns: how many acknowledged operations there are.
        unknowns: whether there is an operation of unknown outcome.
        reached: how many returns the longest prefix found so far explains.
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
        self._transitions = operations.transitions
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
        """The approximate size in memory, without the transitions."""
        return self.configurations * _CONFIGURATION_BYTES

    def run(self, limit: int) -> bool | None:
        """Continue the search until so many more configurations were visited.

        Returns:
            Whether the operations are linearizable; None when the limit was reached before, or
            when new states took `PAUSE_BYTES`.
        """
        limit += self.configurations
        most_bytes = self._transitions.state_bytes + PAUSE_BYTES
        for answer in self._search:
            if answer is not None:
                return answer
            if self.configurations >= limit or self._transitions.state_bytes > most_bytes:
                return None
        raise RuntimeError("the search has ended before")

    def _visit(self, configuration: Configuration) -> bool:
        """Store a configuration as visited; returns whether it is new and not dominated."""
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
        # The path to the longest prefix is copied only from where it differs from the last copy,
        # so that all copies together cost no more than the search.
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
        """Yields None for each configuration that is expanded, at last the answer."""
        if self.reached == self.returns:
            yield True
        moves = self._windows.moves
        unsure = self._windows.unsure
        found = [(first, 0, -1)]  # configuration, its predecessor's place, the operation
        farthest = 0
        # index -> number of unknown outcomes used -> places in ``found``
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
        """Whether the order found by levels uses an operation more often than it exists.

        That is possible if the search is unlimited.
        """
        times = Counter(self._longest)
        return any(times[k] > there for k, there in self._windows.unlimited.items())

    def prefix(self) -> tuple[list[int], int | None]:
        """Operations in an order that explains the longest prefix.

        Only for a search that has ended with "no".

        Returns:
            Their positions, and the position of the last one that changed the state, if any.
        """
        return self._windows.replay(self._longest)

    def stuck(self) -> int:
        """The position of the operation that cannot follow the longest prefix."""
        return self._windows.order[self.reached]

    def states(self) -> list[Hashable]:
        """The possible states after the longest prefix."""
        numbers = dict.fromkeys(state for _, state in self._visited[self.reached])
        return [self._states[number] for number in numbers]


def _way(found: list[tuple[Configuration, int, int]], to: int) -> list[int]:
    """The operations chosen on the path to a found configuration."""
    way = []
    while to:
        _, before, position = found[to]
        way.append(position)
        to = before
    return way[::-1]


class InTurns:
    """Both orders of visiting in turns; ``ended`` is the search that had the answer.

    Args:
        make: makes a `Search`, or one of the C extension.
        operations: of one part of a history.
        forgotten: as for `Search`.
    """

    ALONE = 1_000
    """So many configurations are visited depth first before the search by levels begins."""

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
        """How many returns the longest prefix found so far explains."""
        return max(int(search.reached) for search in self._searches())

    @property
    def configurations(self) -> int:
        """How many were visited."""
        return sum(search.configurations for search in self._searches())

    @property
    def bytes(self) -> int:
        """The approximate size of both in memory."""
        return sum(search.bytes for search in self._searches())

    def _searches(self) -> list[Any]:
        return [search for search in (self._depth_first, self._by_levels) if search is not None]

    def run(self, limit: int) -> bool | None:
        """Continue until each has visited so many more configurations; as `Search.run`."""
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
