"""The operations open at each return of a history, and the successors of a configuration.

`checker.linearizability.windowed_search` defines the terms.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence

from rumpus.checker.linearizability.operation_types import Operations

# Plain tuples are fastest in the inner loops.
_Open = tuple[int, int, int]
"""An open operation: the bit of its slot, its type, its position."""
_Unknown = tuple[int, int, int, int, list[int], list[int], bool]
"""Operations of unknown outcome of one type: the type; the number 1, the shift and the mask of the
field that counts those used; for each operation, the first return that does not precede its call;
their positions; and whether they are blind writes."""
Configuration = tuple[int, int, int, int, bool]
"""Index, mask, state, counts of the used unknown outcomes, and whether the last choice was a blind
write of unknown outcome that no operation has observed yet."""

_SEERS_ASKED = 64
"""So many types are checked for whether they observe a state; all others count as observing it."""


class Windows:
    """The acknowledged operations in order of return, and those of unknown outcome.

    Args:
        operations: of one part of a history.
        forgotten: empty, or a byte for each of ``operations``: if it is not 0 the operation is
            forgotten (see `checker.deciders.decision.Witness`).
        unlimited: whether forgotten operations may take effect any number of times. That allows
            more, and is cheaper to decide, since no counts are needed.

    Attributes:
        returns: how many acknowledged operations there are.
        order: their positions in ``operations``, in order of return.
        slots: the most operations that are open at once.
        guards: the guard bits of the counts; 0 if there are no counts.
        unsure: positions of the operations that may or may not have taken effect.
        unlimited: for types that may take effect any number of times: the position of one
            operation of the type -> how many were forgotten.
    """

    def __init__(
        self,
        operations: Operations,
        forgotten: bytes | bytearray = b"",
        *,
        unlimited: bool = False,
    ) -> None:
        self._operations = operations
        self._transitions = operations.transitions
        self._open_windows(forgotten)
        self._group_unknowns(forgotten, unlimited=unlimited)
        self._list_seers()

    def _open_windows(self, forgotten: bytes | bytearray) -> None:
        """For each return in order: the operations open there, and their slots."""
        operations = self._operations
        types, call, returned = operations.types, operations.call, operations.returned
        observes, overwrites = self._transitions.observes, self._transitions.overwrites
        calls = [k for k, unknown in enumerate(operations.optional) if not unknown]
        if forgotten:
            calls = [k for k in calls if not forgotten[k]]
        self.order = sorted(calls, key=returned.__getitem__)
        self.returns = len(self.order)
        self._bits: list[int] = []
        self._mutators: list[list[_Open]] = []
        self._observers: list[list[_Open]] = []
        self._called: list[list[_Open]] = []
        self._blind: list[list[_Open]] = []
        self._twins: list[dict[int, int]] = []
        mutators: dict[int, _Open] = {}
        observers: dict[int, _Open] = {}
        free: list[int] = []
        slots = at = 0
        size = len(calls)
        for returning in self.order:
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
            blind = [entry for entry in self._mutators[-1] if overwrites[entry[1]]]
            self._blind.append(blind if len(blind) > 1 else [])
            self._twins.append(_earlier_twins(self._mutators[-1], returned))
            self._bits.append(first[0])
            free.append(first[0])
        self.slots = slots

    def _group_unknowns(self, forgotten: bytes | bytearray, *, unlimited: bool) -> None:
        """Group what may have happened by type, with the first return at which each may be used."""
        operations = self._operations
        observes, overwrites = self._transitions.observes, self._transitions.overwrites
        times = [operations.returned[k] for k in self.order]
        groups: dict[int, list[tuple[int, int]]] = {}
        for k, unknown in enumerate(operations.optional):
            type_ = operations.types[k]
            if forgotten and forgotten[k]:
                if not observes[type_]:
                    groups.setdefault(type_, []).append((0, k))
            elif unknown:
                groups.setdefault(type_, []).append((bisect_left(times, operations.call[k]), k))
        self._unknowns: list[_Unknown] = []
        self.unlimited: dict[int, int] = {}
        self.unsure = frozenset(k for group in groups.values() for _, k in group)
        self.guards = shift = 0
        for type_, group in sorted(groups.items(), key=lambda item: min(item[1])):
            group.sort()
            since = [first for first, _ in group]
            members = [k for _, k in group]
            blind = overwrites[type_]
            if unlimited and forgotten and forgotten[members[0]]:
                # Operations of the type that are not forgotten exist only since their call.
                self.unlimited[members[0]] = sum(forgotten[k] > 0 for k in members)
                self._unknowns.append((type_, 0, 0, 0, since, members, blind))
                continue
            width = len(group).bit_length()
            self._unknowns.append(
                (type_, 1 << shift, shift, (1 << width) - 1, since, members, blind)
            )
            self.guards |= 1 << (shift + width)
            shift += width + 1
        firsts = [unknown[4][0] for unknown in self._unknowns]
        self._usable = [bisect_right(firsts, index) for index in range(self.returns)]

    def _list_seers(self) -> None:
        """The types other than blind writes, and the last return at which each occurs."""
        types, overwrites = self._operations.types, self._transitions.overwrites
        last = {types[k]: index for index, k in enumerate(self.order)}
        last.update((unknown[0], self.returns) for unknown in self._unknowns)
        self._seers = sorted(
            ((until, type_) for type_, until in last.items() if not overwrites[type_]),
            reverse=True,
        )
        self._seen: dict[int, int] = {}

    def first(self) -> Configuration:
        """The configuration at the start."""
        state = self._transitions.initial
        index, mask = self._settle(0, 0, state, [])
        return index, mask, state, 0, False

    def moves(self, configuration: Configuration) -> Iterator[tuple[Configuration, int]]:
        """Each successor of a configuration, and the operation that leads to it.

        First the operation that returns next, then the other open ones, then those of unknown
        outcome. The index of a successor may be one after the last return.
        """
        index, mask, state, used, idle = configuration
        rows, overwrites = self._transitions.rows, self._transitions.overwrites
        row = rows[state]
        blind_open = self._blind[index]
        twins = self._twins[index]
        for bit, type_, position in self._mutators[index]:
            if mask & bit or (idle and overwrites[type_]):
                continue
            if twins and twins.get(position, 0) & ~mask:
                continue
            after = row[type_]
            if after >= 0:
                masked = mask | bit
                if blind_open and overwrites[type_]:
                    masked = self._absorb(index, masked, row, [])
                yield self._follow(index, masked, state, after, used, idle=False), position
        for type_, one, shift, field, since, members, blind in self._unknowns[
            : self._usable[index]
        ]:
            times = used >> shift & field
            if (idle and blind) or times == len(since) or since[times] > index:
                continue
            after = row[type_]
            if after >= 0 and after != state:
                masked = mask
                if blind_open and blind:
                    masked = self._absorb(index, mask, row, [])
                yield (
                    self._follow(index, masked, state, after, used + one, idle=blind),
                    members[times],
                )

    def _absorb(self, index: int, mask: int, row: Mapping[int, int], order: list[int]) -> int:
        """Linearize open blind writes that no operation can observe, before another blind write."""
        for bit, type_, position in self._blind[index]:
            if not mask & bit and self._seen_until(row[type_]) < index:
                mask |= bit
                order.append(position)
        return mask

    def _seen_until(self, state: int) -> int:
        """The last return at which an operation may observe a state; -1 if there is none."""
        until = self._seen.get(state)
        if until is None:
            row = self._transitions.rows[state]
            until = -1
            for looked, (last, type_) in enumerate(self._seers):
                if looked == _SEERS_ASKED or row[type_] >= 0:
                    until = last
                    break
            self._seen[state] = until
        return until

    def _follow(
        self, index: int, mask: int, before: int, state: int, used: int, *, idle: bool
    ) -> Configuration:
        """Linearize legal observers, and advance over returns of linearized operations."""
        sees = self._transitions.rows[state]
        if state != before:
            for bit, type_, _ in self._observers[index]:
                if not mask & bit and sees[type_] == state:
                    mask |= bit
                    idle = False
        bits, called = self._bits, self._called
        while mask & (bit := bits[index]):
            mask ^= bit
            index += 1
            idle = False
            if index == self.returns:
                break
            for bit, type_, _ in called[index]:
                if sees[type_] == state:
                    mask |= bit
        return index, mask, state, used, idle

    def _settle(self, index: int, mask: int, state: int, order: list[int]) -> tuple[int, int]:
        """As `_follow`, and append the linearized operations to an order."""
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

    def replay(self, choices: Sequence[int]) -> tuple[list[int], int | None]:
        """The whole order for some choices, with the operations that follow each at once.

        Args:
            choices: positions of operations.

        Returns:
            Positions in order, and the last one that changed the state, if any.
        """
        slot = {k: bit for window in self._mutators for bit, _, k in window}
        types, rows = self._operations.types, self._transitions.rows
        order: list[int] = []
        changed = None
        state = self._transitions.initial
        index, mask = self._settle(0, 0, state, order)
        for position in choices:
            mask |= slot.get(position, 0)
            if self._transitions.overwrites[types[position]]:
                mask = self._absorb(index, mask, rows[state], order)
            order.append(position)
            before, state = state, rows[state][types[position]]
            if state != before:
                changed = position
            index, mask = self._settle(index, mask, state, order)
        return order, changed


def _earlier_twins(mutators: Sequence[_Open], returned: Sequence[int]) -> dict[int, int]:
    """Position of an open operation -> bits of those of its type that return before it."""
    if len({type_ for _, type_, _ in mutators}) == len(mutators):
        return {}
    twins: dict[int, int] = {}
    before: dict[int, int] = {}
    for bit, type_, position in sorted(mutators, key=lambda each: (returned[each[2]], each[2])):
        if bits := before.get(type_, 0):
            twins[position] = bits
        before[type_] = before.get(type_, 0) | bit
    return twins
