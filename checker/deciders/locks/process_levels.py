"""The least that a process held at a time, with some of its operations forgotten.

A *forgotten* operation keeps its place in the order of its process, but may have taken effect at
any time, or never. The minimum is over all positions of the time among the operations of the
process, and over all choices of the operations that took effect. It is computed in one pass with
the set of possible states (dynamic programming, exact).
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from rumpus.checker.deciders.locks.process_walk import Nesting
from rumpus.checker.deciders.operation_table import INFO
from rumpus.checker.deciders.values import MISSING

State = tuple[int, ...]
"""What a process holds: the weights in order of acquire, or one weight if only the sum counts."""


class Step(NamedTuple):
    """An operation of one process."""

    row: int
    acquires: bool
    outcome: int
    weight: int
    call: int
    returned: int
    session: int


class Moment(NamedTuple):
    """A time: after all operations that returned by then, before all called from then on.

    All rows up to ``since`` precede it. If ``after`` or ``before`` is a row, the time is directly
    after or before it in the order of its process.
    """

    returned_by: int
    called_from: int
    after: int = -1
    before: int = -1
    since: int = -1


class Levels:
    """One process's operations, in its order.

    Args:
        steps: its operations from some point on.
        nesting: what the process can hold at a time.
        capacity: the capacity of the lock.
        earlier: whether it may hold something before the first step.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        nesting: Nesting,
        capacity: int,
        *,
        earlier: bool = False,
    ) -> None:
        self.steps = steps
        self._nesting = nesting
        self._capacity = capacity
        self._initial: list[State] = [()]
        if earlier and nesting is Nesting.COUNTED:
            self._initial += [(level,) for level in range(1, capacity + 1)]
        elif earlier:
            self._initial += [(1,), (capacity,)]

    def least(self, known: Collection[int], moment: Moment) -> int | None:
        """The least that it held at a time; None if the known operations contradict themselves."""
        before: dict[State, None] = dict.fromkeys(self._initial)
        after: dict[State, int] = {}
        must = [
            step.row in known
            and step.outcome != INFO
            and (step.returned <= moment.returned_by or step.row <= moment.since)
            for step in self.steps
        ]
        last_must = max((at for at, each in enumerate(must) if each), default=-1)
        rows = {moment.after, moment.before, *known}
        last = max((at for at, step in enumerate(self.steps) if step.row in rows), default=-1)
        late = False
        session = MISSING
        for at, step in enumerate((*self.steps, None)):
            here = at > last_must and not late
            if moment.after >= 0:
                here = at > 0 and self.steps[at - 1].row == moment.after
            elif moment.before >= 0:
                here = step is not None and step.row == moment.before
            if here:
                for state in before:
                    self._reach(after, state, self._load(state))
            if step is None:
                break
            fixed = late or moment.after >= 0 or moment.before >= 0
            if at > last and (fixed or not min(after.values(), default=1)):
                # The rest is forgotten, and so can be taken to have had no effect.
                break
            sure = step.row in known and step.outcome != INFO
            follows = step.row in known and step.call >= moment.called_from
            follows = follows and step.row > moment.since
            late = late or (sure and follows)
            anew = step.acquires and step.row in known
            if anew:
                anew, session = session not in (MISSING, step.session), step.session
            after = self._take(after, step, sure=sure, anew=anew)
            kept = {} if sure else dict(before)
            if not follows:
                for state in before:
                    kept.update(dict.fromkeys(self._next(state, step, anew=anew)))
            before = kept
            if not before and not after:
                return None
        return min(after.values(), default=None)

    def _take(
        self, after: dict[State, int], step: Step, *, sure: bool, anew: bool
    ) -> dict[State, int]:
        taken = {} if sure else dict(after)
        for state, load in after.items():
            for following in self._next(state, step, anew=anew):
                self._reach(taken, following, load)
        return taken

    @staticmethod
    def _reach(states: dict[State, int], state: State, load: int) -> None:
        if load < states.get(state, load + 1):
            states[state] = load

    def _load(self, state: State) -> int:
        return min(1, sum(state)) if self._nesting is Nesting.OUTERMOST else sum(state)

    def _next(self, state: State, step: Step, *, anew: bool) -> Iterable[State]:
        if anew:
            # In a new session: at the least, its holds in the old one have expired.
            return self._acquired((), step.weight)
        if step.acquires:
            return self._acquired(state, step.weight)
        if self._nesting is Nesting.WHOLE:
            places = [at for at, own in enumerate(state) if step.weight in (0, own)]
            return [(*state[: places[-1]], *state[places[-1] + 1 :])] if places else []
        left = sum(state) - step.weight
        return [] if left < 0 else [(left,) if left else ()]

    def _acquired(self, state: State, weight: int) -> list[State]:
        if self._nesting is Nesting.OUTERMOST:
            return [(sum(state) + weight,)]
        states: list[State] = []
        if sum(state) + weight <= self._capacity:
            nested = self._nesting is Nesting.WHOLE
            states.append((*state, weight) if nested else (sum(state) + weight,))
        return states
