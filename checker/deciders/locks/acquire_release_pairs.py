"""Pair acquires and releases, for all processes at once.

Most processes acquire and release in turns: these are paired by comparing columns. The operations
of the others are paired one at a time (`checker.deciders.locks.process_walk`).
"""

import numpy as np

from rumpus.checker.deciders.locks.process_walk import Nesting, Pairs, Walk
from rumpus.checker.deciders.operation_table import INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.values import Flags, Ints, WrongOperations
from rumpus.checker.deciders.wording import who


def by_process(process: Ints) -> tuple[Ints, Flags]:
    """Stable order by process, and a mask of the last places of processes (without the end)."""
    if not len(process):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    low, high = int(process.min()), int(process.max())
    if high - low < 1 << 16:
        # numpy sorts 16 bits by radix, five times as fast as 64 bits. The numbers wrap around,
        # which changes the order of the processes, but equal ones stay equal.
        short = process.astype(np.uint16)
        order = np.argsort(short, kind="stable")
        sorted_ = short[order]
        return order, sorted_[1:] != sorted_[:-1]
    if high - low < 1 << 32:
        order = np.argsort(process.astype(np.uint16), kind="stable")
        order = order[np.argsort((process[order] >> 16).astype(np.uint16), kind="stable")]
    else:
        order = np.argsort(process, kind="stable")
    found = process[order]
    return order, found[1:] != found[:-1]


class Sequences:
    """The operations of each process in their order, one process after the other."""

    def __init__(
        self,
        table: OperationTable,
        rows: Ints,
        changes: Flags,
        acquires: Flags,
        nesting: Nesting,
        weight: Ints | None,
    ) -> None:
        """See the class.

        Raises:
            WrongOperations: a process has two operations open at a time; the message names it.
        """
        self.table = table
        self.rows = rows
        # Gathered once, as random access to a long table is slow.
        self.call, self.returned = table.call[rows], table.returned[rows]
        self._must_be_sequential(changes)
        self.acquires = acquires
        self.first = np.concatenate(([True], changes))[: len(rows)]
        self.last = np.concatenate((changes, [True]))[: len(rows)]
        self.unknown = table.outcome[rows] == INFO
        self.weight = weight
        self.nesting = nesting
        self.odd = np.zeros(len(rows), dtype=np.bool_)
        self.pairs = Pairs()

    def _must_be_sequential(self, changes: Flags) -> None:
        returned = self.returned[:-1]
        overlap = (returned > self.call[1:]) & (returned != NEVER) & ~changes
        if overlap.any():
            row = int(self.rows[int(np.argmax(overlap)) + 1])
            table = self.table
            raise WrongOperations(
                f"{who(table, row)} calls {table.function(row)} (operation "
                f"{int(table.index[row])}) while its last operation is still open"
            )

    def leave_inner(self, session: Ints) -> None:
        """Drop the acquires and releases of a process within a hold of its own."""
        steps = np.where(self.acquires, 1, -1)
        steps[self.unknown] = 0
        depth = np.cumsum(steps)
        group = np.cumsum(self.first) - 1
        begins = np.flatnonzero(self.first)
        depth -= (depth[begins] - steps[begins])[group]
        before = depth - steps
        odd = (depth < 0) | (self.unknown & (~self.last | (before > self._one(self.acquires))))
        inner = self.acquires & (depth > 1)
        if inner.any():
            outer = np.maximum.accumulate(
                np.where(self.acquires & (depth == 1), np.arange(len(depth)), 0)
            )
            if len(session):
                own = session[self.rows]
                odd |= inner & (own != own[outer])
                self.odd = self._whole_groups(odd)
                freed = ~self.acquires & ~self.unknown & (depth > 0) & ~self.odd
                self.pairs.inner += zip(
                    self.rows[outer[freed]].tolist(), self.rows[freed].tolist(), strict=True
                )
            self.pairs.nesting |= set(self.table.process[self.rows[inner]].tolist())
        self.odd = self._whole_groups(odd)
        outer_pair = depth == np.where(self.acquires, 1, 0)
        kept = self.odd | self.unknown | outer_pair
        self._keep(kept)

    @staticmethod
    def _one(acquires: Flags) -> Ints:
        """The most holds at an unknown outcome: none for an acquire, one for a release."""
        return np.where(acquires, 0, 1)

    def _whole_groups(self, odd: Flags) -> Flags:
        if not odd.any():
            return odd
        group = np.cumsum(self.first) - 1
        marked = np.zeros(int(group[-1]) + 1, dtype=np.bool_)
        marked[group[odd]] = True
        whole: Flags = marked[group]
        return whole

    def _keep(self, kept: Flags) -> None:
        group = (np.cumsum(self.first) - 1)[kept]
        self.rows, self.acquires = self.rows[kept], self.acquires[kept]
        self.unknown, self.odd = self.unknown[kept], self.odd[kept]
        self.call, self.returned = self.call[kept], self.returned[kept]
        changes = group[1:] != group[:-1]
        self.first = np.concatenate(([True], changes))[: len(group)]
        self.last = np.concatenate((changes, [True]))[: len(group)]

    def pair(self) -> Pairs:
        """All pairs."""
        if not len(self.rows):
            return self.pairs
        second = np.concatenate(([False], self.acquires[:-1] & ~self.acquires[1:])) & ~self.first
        # An acquire must be first or follow a release; a release must follow an acquire.
        odd = self.acquires != (self.first | ~np.concatenate(([False], self.acquires[:-1])))
        odd |= ~self.acquires & ~second
        if self.unknown.any():
            ends = self.last | np.concatenate((second[1:] & self.last[1:], [False]))
            odd |= self.unknown & ~np.where(self.acquires, ends, self.last)
        if self.weight is not None:
            own = self.weight[self.rows]
            before = np.concatenate(([0], own[:-1]))
            odd |= second & (own != before) & ~((self.nesting is Nesting.WHOLE) & (own == 0))
        odd = self._whole_groups(odd | self.odd)
        if odd.any():
            self._walk_all(odd)
            self._pair_turns(second & ~odd, self.acquires & ~odd)
        else:
            self._pair_turns(second, self.acquires)
        return self.pairs

    def _pair_turns(self, second: Flags, acquires: Flags) -> None:
        """Processes that acquire and release in turns; ``second`` are the releases."""
        at = np.flatnonzero(second)
        lonely = np.flatnonzero(acquires & self.last)
        acquire, release = self.rows[at - 1], self.rows[at]
        start, end = self.returned[at - 1], self.call[at]
        if len(lonely):
            acquire = np.concatenate((acquire, self.rows[lonely]))
            release = np.concatenate((release, np.full(len(lonely), -1)))
            start = np.concatenate((start, self.returned[lonely]))
            end = np.concatenate((end, np.full(len(lonely), NEVER)))
        if self.unknown.any():
            unproven = self.table.outcome[acquire] == INFO
            proven = unproven & (release >= 0)
            proven[proven] = self.table.outcome[release[proven]] == OK
            self.pairs.cleanups.append(release[proven])
            self.pairs.cleanup_acquires.append(acquire[proven])
            self.pairs.cleanup_weight.append(self._weights(acquire[proven]))
            self.pairs.maybe.append(acquire[unproven & ~proven])
            if unproven.any():
                acquire, release = acquire[~unproven], release[~unproven]
                start, end = start[~unproven], end[~unproven]
        self.pairs.acquire.append(acquire)
        self.pairs.release.append(release)
        self.pairs.weight.append(self._weights(acquire))
        self.pairs.start.append(start)
        self.pairs.end.append(end)

    def _weights(self, rows: Ints) -> Ints:
        if self.weight is None:
            return np.broadcast_to(np.int64(1), len(rows))
        return self.weight[rows]

    def _walk_all(self, odd: Flags) -> None:
        at = np.flatnonzero(odd)
        starts = at[self.first[at]].tolist()
        ends = (at[self.last[at]] + 1).tolist()
        walk = Walk(self.table, self.pairs, self.nesting)
        for start, end in zip(starts, ends, strict=True):
            rows = self.rows[start:end]
            walk.process(
                rows.tolist(),
                self.acquires[start:end].tolist(),
                self.unknown[start:end].tolist(),
                self._weights(rows).tolist(),
            )
        walk.finish()
