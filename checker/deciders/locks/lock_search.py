"""Locks of any kind by the general search, where the overlap of holds does not decide.

`checker.deciders.locks.weighted_holds` decides locks without a search. Its answer is "unknown" for
a session with several holds that were not released, a process that continues after an operation of
unknown outcome, a process that acquires or releases at the time of an expiry, and a refused
try that overlaps a hold that may have been empty. Such histories are searched here, if they are
short (`MOST_ROWS`) and the answer comes soon (`LONGEST_S`). Otherwise they stay unknown.

**The object.** Each process holds a stack of shares, each in a session or in none.

- Operations of a process take effect in their order. One of unknown outcome may do so later.
- An acquire adds a share if all shares together stay within the capacity.
- A release takes from the process's own shares what its kind of lock says (`Nesting`); of shares in
  sessions only from those of the session in which the process acquired last.
- A refused try found too little left, and changes nothing.
- A session expires at most once, at any time, with all its shares. After that none of its
  operations takes effect. It cannot have expired before the last call of an acknowledged operation
  that names it. An acquire of unknown outcome has a session of its own, if there are sessions.

An expiry that removes no share would have no visible effect, so it is not legal.

**Cost**: exponential in the operations that are open at once, else linear.

Source: the search: `checker.linearizability.windowed_search`.
"""

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np

from rumpus.checker.deciders.decide import searched
from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused
from rumpus.checker.deciders.forgetting import forgetting, minimal_witness
from rumpus.checker.deciders.locks.exclusion_witness import Lock
from rumpus.checker.deciders.locks.holds_table import LockRows
from rumpus.checker.deciders.locks.process_walk import Nesting
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OperationTable
from rumpus.checker.deciders.values import MISSING
from rumpus.checker.deciders.wording import at, who
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.linearizability.search_steps import SearchStep, table_of_steps
from rumpus.checker.models.model import ILLEGAL, REFUSED, Model

MOST_ROWS = 1_000
"""The most operations on one lock that are searched."""
LONGEST_S = 2.0
"""Seconds for the search of a lock, and seconds for a minimal witness."""

LOCK_SEARCH = searched(
    f"up to {MOST_ROWS:,} operations that overlap leaves open, for {LONGEST_S:g} s"
)
"""The row of this search in the table of algorithms."""

Share = tuple[int, Hashable]
"""How much is held, and in which session; None if it cannot expire."""


class _State(NamedTuple):
    """For each process its last row in effect, its shares, its session; all expired sessions."""

    done: tuple[int, ...]
    stacks: tuple[tuple[Share, ...], ...]
    current: tuple[Hashable, ...]
    expired: frozenset[Hashable]


class ExpiringLock(Model):
    """``acquire``, ``release``, ``busy`` (a refused try), ``work`` and ``expire``.

    Arguments are tuples: of ``acquire`` and ``release`` the process's place, the row (or None if
    it may take effect after later rows), how much, and the session; of ``busy`` the place, the
    last row before it and its own, how much and the session; of ``work`` and ``expire`` the
    session.

    Args:
        processes: how many there are.
        lock: its kind.
        sessions: those that operations name.
    """

    name = "lock"
    functions = frozenset({"acquire", "release", "busy", "work", "expire"})
    observers = frozenset({"busy", "work"})

    def __init__(self, processes: int, lock: Lock, sessions: frozenset[Hashable]) -> None:
        self._lock = lock
        self._sessions = sessions
        empty = _State((-1,) * processes, ((),) * processes, (None,) * processes, frozenset())
        super().__init__(empty)

    def step(self, state: Any, f: str, argument: Any, result: Hashable) -> Hashable:
        """The state after the operation."""
        assert result is not REFUSED
        assert isinstance(state, _State)
        if f == "expire":
            return self._expire(state, argument[0])
        if argument[-1] in state.expired:
            return ILLEGAL
        if f == "work":
            return state
        if f == "busy":
            place, last, row, amount, _ = argument
            if not last <= state.done[place] <= row:
                return ILLEGAL
            others = [s for p, s in enumerate(state.stacks) if p != place]
            outermost = self._lock.nesting is Nesting.OUTERMOST
            held = self._held(others if outermost else state.stacks)
            return state if held + amount > self._lock.capacity else ILLEGAL
        place, row, late, amount, session = argument
        if state.done[place] > row and not late:
            return ILLEGAL
        done = _with(state.done, place, max(row, state.done[place]))
        stack = state.stacks[place]
        current = state.current
        if f == "acquire":
            again = self._lock.nesting is Nesting.OUTERMOST and stack
            if not again and self._held(state.stacks) + amount > self._lock.capacity:
                return ILLEGAL
            left: tuple[Share, ...] | None = (*stack, (amount, session))
            if session in self._sessions:
                current = _with(current, place, session)
        else:
            left = self._released(stack, amount, current[place])
        if left is None:
            return ILLEGAL
        return _State(done, _with(state.stacks, place, left), current, state.expired)

    def _expire(self, state: _State, session: Hashable) -> Hashable:
        stacks = tuple(
            tuple(share for share in stack if share[1] != session) for stack in state.stacks
        )
        if stacks == state.stacks:
            return ILLEGAL
        return state._replace(stacks=stacks, expired=state.expired | {session})

    def _held(self, stacks: Any) -> int:
        if self._lock.nesting is Nesting.OUTERMOST:
            return sum(bool(stack) for stack in stacks)
        return sum(amount for stack in stacks for amount, _ in stack)

    def _released(
        self, stack: tuple[Share, ...], amount: int, current: Hashable
    ) -> tuple[Share, ...] | None:
        """A process's shares after a release; None if it does not hold enough."""
        usable = [s for s in stack if s[1] not in self._sessions or s[1] == current]
        kept = [s for s in stack if s not in usable]
        if self._lock.nesting is Nesting.WHOLE:
            places = [place for place, (own, _) in enumerate(usable) if amount in (0, own)]
            if not places:
                return None
            del usable[places[-1]]
            return (*kept, *usable)
        while amount:
            if not usable:
                return None
            own, session = usable.pop()
            if own > amount:
                usable.append((own - amount, session))
            amount = max(0, amount - own)
        return (*kept, *usable)


def _by_search(decision: Decision) -> Decision:
    decision.algorithm = LOCK_SEARCH.name
    return decision


def _with(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def settle_by_search(
    table: OperationTable,
    lock: Lock,
    lock_rows: LockRows,
    decision: Decision,
    budget: Budget,
) -> Decision:
    """A decision, by search if it is unknown, or its witness too large, and the history is short.

    Args:
        table: the operations of one lock.
        lock: its kind.
        lock_rows: which of them acquire and release.
        decision: the decision by the overlap of holds.
        budget: of the search.
    """
    minimal = decision.witness is not None and decision.witness.minimal
    if decision.valid is True or minimal or len(table) > MOST_ROWS:
        return decision
    return _LockSearch(table, lock, lock_rows, budget).decide() or decision


class _LockSearch:
    """One lock's history, and how to decide it with some of its operations forgotten."""

    def __init__(
        self, table: OperationTable, lock: Lock, lock_rows: LockRows, budget: Budget
    ) -> None:
        self.table = table
        self.acquires, self.releases, tries = lock_rows
        self.tries = frozenset(tries.tolist())
        self.weight = np.ones(len(table), dtype=np.int64) if lock.weight is None else lock.weight
        self.budget = budget
        self.places = {p: at_ for at_, p in enumerate(np.unique(table.process).tolist())}
        sessions = table.field("session").tolist()
        self.sessions = frozenset(session for session in sessions if session is not None)
        self.model = ExpiringLock(len(self.places), lock, self.sessions)
        self.last = {int(table.process[row]): row for row in np.flatnonzero(self.releases).tolist()}

    def decide(self) -> Decision | None:
        """The decision; None if the search takes too long."""
        found, _ = self._searched(self.table)
        if found.valid is True:
            return _by_search(accepted())
        if found.witness is None or found.witness.stuck is None:
            return None
        until = self.budget.clock() + LONGEST_S

        def refuses(table: OperationTable) -> bool | None:
            valid = "unknown" if self.budget.clock() > until else self._searched(table)[0].valid
            return None if valid == "unknown" else not valid

        rows, doubtful = minimal_witness(self.table, range(len(self.table)), refuses)
        rows.sort()
        shown, stuck = self._searched(forgetting(self.table, rows))
        row = rows[-1] if shown.witness is None else stuck
        call, returned = int(self.table.call[row]), int(self.table.returned[row])
        words = (
            f"{who(self.table, row)}'s {self.table.function(row)} (called at "
            f"{at(self.table, call, returned)}, returned at {at(self.table, returned, call)}) "
            "fits into no order with the others"
        )
        return _by_search(refused(rows, words, minimal=not doubtful))

    def _searched(self, table: OperationTable) -> tuple[Decision, int]:
        """The decision of a table of the same rows; if refused, also the row that cannot follow."""
        part = table_of_steps(self._steps(table))
        seconds = min(LONGEST_S, self.budget.deadline - self.budget.clock())
        budget = Budget(seconds, self.budget.bytes, self.budget.clock)
        decision = check_linearizable(self.model, part, budget, explain=False)
        stuck = decision.witness.stuck if decision.witness else None
        return decision, -1 if stuck is None else int(part.process[stuck])

    def _steps(self, table: OperationTable) -> Iterator[SearchStep]:
        """All that may take effect. What is forgotten (called at `MISSING`) may do so anytime."""
        sessions = table.field("session").tolist()
        alive: dict[Hashable, int] = {}
        last = [-1] * len(self.places)
        for row in range(len(table)):
            outcome, call = int(table.outcome[row]), int(table.call[row])
            busy = row in self.tries
            if outcome == FAIL and not busy:
                continue
            forgotten = call == MISSING
            if forgotten and not self._matters(row):
                continue
            place, amount = self.places[int(table.process[row])], int(self.weight[row])
            session = sessions[row]
            returned = int(table.returned[row])
            certain = outcome != INFO
            if certain and session is not None:
                alive[session] = max(alive.get(session, MISSING), call)
            if busy:
                if not forgotten:
                    asked = (place, last[place], row, amount, session)
                    yield SearchStep(row, "busy", asked, None, call, returned, certain=True)
                continue
            if certain and not forgotten and (self.acquires[row] or self.releases[row]):
                last[place] = row
            late = outcome == INFO and not forgotten
            if self.acquires[row]:
                if not certain and session is None and self.sessions:
                    session = f"of row {row}"
                if session is not None:
                    alive.setdefault(session, MISSING)
                argument = (place, row, late, amount, session)
                yield SearchStep(row, "acquire", argument, None, call, returned, certain)
            elif self.releases[row]:
                argument = (place, row, late, amount, session if certain else None)
                yield SearchStep(row, "release", argument, None, call, returned, certain)
            elif certain and session is not None:
                yield SearchStep(row, "work", (session,), None, call, returned, certain=True)
        for session, call in alive.items():
            yield SearchStep(-1, "expire", (session,), None, call, NEVER, certain=False)

    def _matters(self, row: int) -> bool:
        """Whether a forgotten row can make the history acceptable by taking effect.

        An acquire can, for a refused try or a later release of its process. So can a release.
        """
        if self.releases[row]:
            return True
        if not self.acquires[row]:
            return False
        return bool(self.tries) or self.last.get(int(self.table.process[row]), -1) > row
