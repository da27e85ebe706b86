"""Pair acquires and releases, one operation of a process after the other.

This is slower than comparing columns (`checker.deciders.locks.acquire_release_pairs`). It is for
processes with several holds at a time, with operations of unknown outcome, or with violations.
"""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from rumpus.checker.deciders.operation_table import INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.values import MISSING, Ints
from rumpus.checker.deciders.wording import who


class Nesting(Enum):
    """What a process can hold at a time, and what its release ends.

    ``NONE``: one hold. ``COUNTED``: several; a release takes its weight from the last ones.
    ``WHOLE``: several; a release ends the last one of its weight (of any weight, if its own is 0).
    ``OUTERMOST``: one, which it may acquire again, and must release as often.
    """

    NONE = "none"
    COUNTED = "counted"
    WHOLE = "whole"
    OUTERMOST = "outermost"


@dataclass
class Pairs:
    """Acquires with their releases, in batches.

    Attributes:
        acquire: rows of acquires.
        release: of the release that ended each, or may have; -1 if there is none.
        weight: how much of the acquire that release ended.
        start: when the acquire returned.
        end: when the release was called, or until when the hold is certain without one; `NEVER`
            for one that lasts to the end.
        cleanups: acknowledged releases after an acquire of unknown outcome; ``cleanup_acquires``
            these acquires, and ``cleanup_weight`` how much they acquired.
        maybe: acquires of unknown outcome without such a release.
        orphans: acknowledged releases without a hold, or of more than was held.
        inner: acknowledged releases within a hold, after that hold's acquire.
        superseded: re-entrant holds after which their process acquired in a new session.
        again: pairs of acquires of a process that cannot both have been granted.
        nesting: processes that held several at a time.
        doubtful: processes whose holds are not known completely; ``doubts`` says why.
    """

    acquire: list[Ints] = field(default_factory=list)
    release: list[Ints] = field(default_factory=list)
    weight: list[Ints] = field(default_factory=list)
    start: list[Ints] = field(default_factory=list)
    end: list[Ints] = field(default_factory=list)
    cleanups: list[Ints] = field(default_factory=list)
    cleanup_acquires: list[Ints] = field(default_factory=list)
    cleanup_weight: list[Ints] = field(default_factory=list)
    maybe: list[Ints] = field(default_factory=list)
    orphans: list[int] = field(default_factory=list)
    inner: list[tuple[int, int]] = field(default_factory=list)
    superseded: list[tuple[int, int]] = field(default_factory=list)
    again: list[tuple[int, int]] = field(default_factory=list)
    nesting: set[int] = field(default_factory=set)
    doubtful: set[int] = field(default_factory=set)
    doubts: list[str] = field(default_factory=list)


class Walk:
    """Pairs the operations of a process one at a time, with a stack of its holds."""

    def __init__(self, table: OperationTable, pairs: Pairs, nesting: Nesting) -> None:
        self.table = table
        self.sessions = table.field("session")
        self.pairs = pairs
        self.nesting = nesting
        self.found: list[tuple[int, int, int, int]] = []
        self.cleanups: list[tuple[int, int, int]] = []
        self.maybe: list[int] = []
        self.stack: list[tuple[int, int]] = []

    def process(
        self, rows: list[int], acquires: list[bool], unknown: list[bool], weights: list[int]
    ) -> None:
        """Pair all operations of one process."""
        self.stack = []
        operations = list(zip(rows, acquires, unknown, weights, strict=True))
        for at, (row, acquire, open_, weight) in enumerate(operations):
            if open_ and (acquire or at + 1 < len(operations)):
                self._unknown(row, weight, operations[at + 1 :], acquire=acquire)
                return
            if acquire:
                if self.stack and not self._acquires_within(row):
                    return
                self.stack.append((row, weight))
            elif not self._release(row, weight) and not open_:
                self.pairs.orphans.append(row)
        self._end(-1, NEVER)

    def finish(self) -> None:
        """Add the pairs found to ``pairs``."""
        found = np.array(self.found, dtype=np.int64).reshape(-1, 4)
        acquire, release, weight, until = found.T
        self.pairs.acquire.append(acquire)
        self.pairs.release.append(release)
        self.pairs.weight.append(weight)
        self.pairs.start.append(self.table.returned[acquire])
        self.pairs.end.append(np.where(release < 0, until, self.table.call[release]))
        cleanups = np.array(self.cleanups, dtype=np.int64).reshape(-1, 3)
        self.pairs.cleanups.append(cleanups[:, 0])
        self.pairs.cleanup_acquires.append(cleanups[:, 1])
        self.pairs.cleanup_weight.append(cleanups[:, 2])
        self.pairs.maybe.append(np.array(self.maybe, dtype=np.int64))

    def _acquires_within(self, row: int) -> bool:
        """Acquire within a hold; False if its effect is not known."""
        held = self.stack[-1][0]
        before, now = (int(self.sessions.numbers[each]) for each in (held, row))
        if MISSING not in (before, now) and before != now:
            self._end(-1, NEVER)
            if self.nesting is Nesting.OUTERMOST:
                self.pairs.superseded.append((self.stack[0][0], row))
            self.stack = []
        elif self.nesting is Nesting.NONE:
            self.stack = []
            self.found.append((held, -1, 1, NEVER))
            if before in (MISSING, now):
                self.pairs.again.append((held, row))
        elif before != now:
            self._doubt(row, "holds in a session and without one")
            return False
        else:
            self.pairs.nesting.add(int(self.table.process[row]))
        return True

    def _unknown(
        self,
        row: int,
        weight: int,
        after: list[tuple[int, bool, bool, int]],
        *,
        acquire: bool,
    ) -> None:
        """An unknown acquire, or an unknown release after which its process continues."""
        cleans_up = acquire and len(after) == 1 and not after[0][1]
        if acquire and not after:
            self.maybe.append(row)
            self._end(-1, NEVER)
        elif not cleans_up:
            self._doubt(row, "goes on")
        elif self.stack and any(self.sessions.numbers[held] != MISSING for held, _ in self.stack):
            self._doubt(row, "may have released something else")
        else:
            release, _, open_, freed = after[0]
            self.maybe.append(row)
            if self._release(release, freed) or open_:
                self._end(-1, NEVER)
            elif self.stack or (freed < weight and self.nesting is Nesting.COUNTED):
                self._doubt(row, "released only part of what it may have held")
            elif freed not in (weight, 0):
                self.pairs.orphans.append(release)
            else:
                self.maybe.pop()
                self.cleanups.append((release, row, weight))

    def _release(self, row: int, weight: int) -> bool:
        """Remove the weight from the stack; False, without effect, if there is not enough."""
        if self.nesting is Nesting.OUTERMOST:
            if not self.stack:
                return False
            acquire, _ = self.stack.pop()
            if not self.stack:
                self.found.append((acquire, row, 1, NEVER))
            elif self.table.outcome[row] == OK:
                self.pairs.inner.append((self.stack[0][0], row))
            return True
        if self.nesting is Nesting.WHOLE:
            places = [at for at, (_, own) in enumerate(self.stack) if weight in (0, own)]
            if not places:
                return False
            acquire, own = self.stack.pop(places[-1])
            self.found.append((acquire, row, own, NEVER))
            return True
        if weight > sum(own for _, own in self.stack):
            return False
        while weight:
            acquire, own = self.stack.pop()
            if own > weight:
                self.stack.append((acquire, own - weight))
                self.pairs.nesting.add(int(self.table.process[row]))
            self.found.append((acquire, row, min(own, weight), NEVER))
            weight -= min(own, weight)
        return True

    def _end(self, release: int, until: int) -> None:
        """End the holds still on the stack."""
        for acquire, weight in self.stack[:1] if self.nesting is Nesting.OUTERMOST else self.stack:
            self.found.append((acquire, release, weight, until))

    def _doubt(self, row: int, what: str) -> None:
        """Record that from a row on the holds of this process are not known."""
        self._end(-1, int(self.table.call[row]))
        unknown = " after its outcome stayed unknown" if self.table.outcome[row] == INFO else ""
        self.pairs.doubtful.add(int(self.table.process[row]))
        self.pairs.doubts.append(
            f"{who(self.table, row)} {what}{unknown}: its {self.table.function(row)} "
            f"(operation {int(self.table.index[row])})"
        )
