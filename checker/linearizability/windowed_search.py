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
call. It is right to look for the orders depth first and to visit a configuration only once.
Four refinements, each with the reason why it loses no solution:

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

Cost: exponential in the number of open operations at worst (the problem is NP-complete: Gibbons
and Korach, Testing shared memories, SIAM J. Comput. 1997), linear for a bounded number of them
and few unknown outcomes.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable

from checker.linearizability.operation_types import Operations

_CONFIGURATION_BYTES = 250
"""About what remembering one configuration takes: a key, counts, a place in a dict."""

# Plain tuples, for they are made in the inner loops.
_Open = tuple[int, int, int]
"""An open operation: the bit of its slot, its type, its position."""
_Unknown = tuple[int, int, int, list[int], list[int], bool]
"""Operations of unknown outcome of one type: the type; shift and mask of the field that counts
the used ones; for each, the first return that does not precede its call; their positions; and
whether they are blind."""
_Frame = tuple[int, int, int, int, bool, int]
"""A configuration on the way (index, mask, state, used), whether the last choice was a blind
write of unknown outcome that nobody has seen yet, and which choice comes next."""


class Search:
    """A search that can be paused.

    Args:
        operations: of one part of a history.
        forgotten: a byte for each of ``operations``, or none at all: those with another than 0
            are taken for operations that may have happened at any time, or never
            (see `checker.decision.Witness`).

    Attributes:
        returns: how many acknowledged operations there are.
        reached: how many of them, in order of return, some order explains; as far as known.
        configurations: how many were visited.
    """

    def __init__(self, operations: Operations, forgotten: bytes | bytearray = b"") -> None:
        self._operations = operations
        self._transitions = operations.transitions
        self.configurations = 0
        self.reached = 0
        self._open_windows(forgotten)
        self._group_unknowns(forgotten)
        self._visited: dict[int, int | tuple[int, ...]] = {}
        self._stack: list[_Frame] = []
        self._path: list[int] = []
        self._longest: list[int] = []
        self._longest_depth = 0
        self._shared = 0
        self._stale = False
        state = self._transitions.initial
        index, mask = self._settle(0, 0, state, [])
        self._frame = (index, mask, state, 0, False, 0)
        self._visited[((state << self._steps | index) << self._slots) | mask] = 0
        self.reached = index

    def _open_windows(self, forgotten: bytes | bytearray) -> None:
        """For each return in order: what is open there, in which slots."""
        operations = self._operations
        types, call, returned = operations.types, operations.call, operations.returned
        observes = self._transitions.observes
        calls = [k for k, unknown in enumerate(operations.optional) if not unknown]
        if forgotten:
            calls = [k for k in calls if not forgotten[k]]
        self._order = sorted(calls, key=returned.__getitem__)
        self.returns = len(self._order)
        self._bits: list[int] = []
        self._mutators: list[list[_Open]] = []
        self._observers: list[list[_Open]] = []
        self._called: list[list[_Open]] = []
        mutators: dict[int, _Open] = {}
        observers: dict[int, _Open] = {}
        free: list[int] = []
        slots = at = 0
        size = len(calls)
        for returning in self._order:
            time = returned[returning]
            called: list[_Open] = []
            while at < size and call[k := calls[at]] <= time:
                at += 1
                if not free:
                    free.append(1 << slots)
                    slots += 1
                type_ = types[k]
                entry = (free.pop(), type_, k)
                if observes[type_]:
                    observers[k] = entry
                    called.append(entry)
                else:
                    mutators[k] = entry
            self._called.append(called)
            self._observers.append(list(observers.values()))
            if returning in mutators:
                first = mutators.pop(returning)
                self._mutators.append([first, *mutators.values()])
            else:
                first = observers.pop(returning)
                self._mutators.append(list(mutators.values()))
            self._bits.append(first[0])
            free.append(first[0])
        self._slots = slots
        self._steps = self.returns.bit_length()

    def _group_unknowns(self, forgotten: bytes | bytearray) -> None:
        """What may have happened, by type, with the return from which on each may be used."""
        operations = self._operations
        observes, overwrites = self._transitions.observes, self._transitions.overwrites
        times = [operations.returned[k] for k in self._order]
        groups: dict[int, list[tuple[int, int]]] = {}
        for k, unknown in enumerate(operations.optional):
            type_ = operations.types[k]
            if forgotten and forgotten[k]:
                if not observes[type_]:
                    groups.setdefault(type_, []).append((0, k))
            elif unknown:
                groups.setdefault(type_, []).append((bisect_left(times, operations.call[k]), k))
        self._unknowns: list[_Unknown] = []
        self._guards = shift = 0
        for type_, group in sorted(groups.items(), key=lambda item: min(item[1])):
            group.sort()
            width = len(group).bit_length()
            since = [first for first, _ in group]
            members = [k for _, k in group]
            self._unknowns.append(
                (type_, shift, (1 << width) - 1, since, members, overwrites[type_])
            )
            self._guards |= 1 << (shift + width)
            shift += width + 1
        firsts = [unknown[3][0] for unknown in self._unknowns]
        self._usable = [bisect_right(firsts, index) for index in range(self.returns)]

    @property
    def bytes(self) -> int:
        """About how much memory it takes, without the transitions."""
        return self.configurations * _CONFIGURATION_BYTES

    def run(self, limit: int) -> bool | None:
        """Search on, until so many more configurations were visited.

        Returns:
            Whether the operations are linearizable; None when the limit was reached before.
        """
        if not self.returns:
            return True
        mutators, observers, called = self._mutators, self._observers, self._called
        bits, unknowns, usable, guards = self._bits, self._unknowns, self._usable, self._guards
        rows, overwrites = self._transitions.rows, self._transitions.overwrites
        visited, stack, path = self._visited, self._stack, self._path
        slots, steps, returns = self._slots, self._steps, self.returns
        index, mask, state, used, idle, cursor = self._frame
        if index == returns:
            return True
        limit += self.configurations
        while True:
            choices = mutators[index]
            count = len(choices)
            end = count + usable[index]
            row = rows[state]
            while cursor < end:
                if cursor < count:
                    bit, type_, position = choices[cursor]
                    cursor += 1
                    if mask & bit or (idle and overwrites[type_]):
                        continue
                    after = row[type_]
                    if after < 0:
                        continue
                    masked, spent, wasted = mask | bit, used, False
                else:
                    type_, shift, field, since, members, blind = unknowns[cursor - count]
                    cursor += 1
                    times = used >> shift & field
                    if (idle and blind) or times == len(since) or since[times] > index:
                        continue
                    after = row[type_]
                    if after < 0 or after == state:
                        continue
                    masked, spent, wasted = mask, used + (1 << shift), blind
                    position = members[times]
                # What follows at once: observers that are legal now, and returns.
                at = index
                sees = rows[after]
                if after != state:
                    for bit, type_, _ in observers[at]:
                        if not masked & bit and sees[type_] == after:
                            masked |= bit
                            wasted = False
                while masked & (bit := bits[at]):
                    masked ^= bit
                    at += 1
                    if at == returns:
                        self.reached = at
                        return True
                    wasted = False
                    for bit, type_, _ in called[at]:
                        if sees[type_] == after:
                            masked |= bit
                key = ((after << steps | at) << slots) | masked
                known = visited.get(key)
                if known is None:
                    visited[key] = spent
                elif guards:
                    if isinstance(known, int):
                        known = (known,)
                    fenced = spent | guards
                    if any((fenced - other) & guards == guards for other in known):
                        continue
                    visited[key] = (
                        spent,
                        *(o for o in known if ((o | guards) - spent) & guards != guards),
                    )
                else:
                    continue
                self.configurations += 1
                stack.append((index, mask, state, used, idle, cursor))
                path.append(position)
                index, mask, state, used, idle, cursor = at, masked, after, spent, wasted, 0
                if at > self.reached:
                    self.reached = at
                    self._longest_depth = len(path)
                    self._stale = True
                break
            else:
                if not stack:
                    return False
                if self._stale:
                    self._keep_path()
                path.pop()
                self._shared = min(self._shared, len(path))
                index, mask, state, used, idle, cursor = stack.pop()
            if self.configurations >= limit:
                self._frame = (index, mask, state, used, idle, cursor)
                return None

    def _keep_path(self) -> None:
        """Remember the way to the longest prefix, of which the first part is remembered already.

        Only what has changed is copied, so that all copies together cost no more than the search.
        """
        self._longest[self._shared :] = self._path[self._shared : self._longest_depth]
        self._shared = self._longest_depth
        self._stale = False

    def _settle(self, index: int, mask: int, state: int, order: list[int]) -> tuple[int, int]:
        """Linearize what follows at once; adds the operations to an order."""
        if index == self.returns:
            return index, mask
        sees = self._transitions.rows[state]
        for bit, type_, position in self._observers[index]:
            if not mask & bit and sees[type_] == state:
                mask |= bit
                order.append(position)
        while index < self.returns and mask & (bit := self._bits[index]):
            mask ^= bit
            index += 1
            for bit, type_, position in self._called[index] if index < self.returns else ():
                if sees[type_] == state:
                    mask |= bit
                    order.append(position)
        return index, mask

    def prefix(self) -> tuple[list[int], int | None]:
        """Operations in an order that explains as many returns as were reached.

        Returns:
            Their positions, and the position of the last one that changed the state, if any.
        """
        order: list[int] = []
        changed = None
        if self._stale:
            self._keep_path()
        slot = {k: bit for window in self._mutators for bit, _, k in window}
        types, rows = self._operations.types, self._transitions.rows
        state = self._transitions.initial
        index, mask = self._settle(0, 0, state, order)
        for position in self._longest:
            order.append(position)
            before, state = state, rows[state][types[position]]
            if state != before:
                changed = position
            index, mask = self._settle(index, mask | slot.get(position, 0), state, order)
        return order, changed

    def stuck(self) -> int:
        """The position of the operation that no order explains after what was reached."""
        return self._order[self.reached]

    def states(self) -> list[Hashable]:
        """The states that were possible when the stuck operation had to follow."""
        place = (1 << self._steps) - 1
        numbers = dict.fromkeys(
            key >> self._slots >> self._steps
            for key in self._visited
            if key >> self._slots & place == self.reached
        )
        return [self._transitions.states[number] for number in numbers]
