"""Linearizability by definition: every order is tried. For small histories.

The classic search (Wing and Gong, Testing and verifying concurrent objects, JPDC 1993) with the
memory of Lowe (Testing for linearizability, CCPE 2017) as its only refinement, over any
nondeterministic object. All specialised deciders are held against it.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple


class Act(NamedTuple):
    """One operation, or anything else that happens at one point of an interval.

    ``optional``: it may as well never happen (an unknown outcome; an expiry).
    ``operation`` is whatever the object's step understands. ``process``: who did it, if the acts
    of one process are in order, also at ties.
    """

    call: int
    returned: float
    operation: Any
    optional: bool = False
    process: int | None = None


def linearizable(
    acts: Sequence[Act],
    initial: Hashable,
    step: Callable[[Any, Any], Iterable[Hashable]],
    internal: Callable[[Any], Iterable[Hashable]] = lambda _: (),
) -> bool:
    """Whether some order explains all acts.

    An act may come next if no other that is still to come *returned before* it was called (a
    return at the very moment of a call does not precede it, unless both are of one process, whose
    acts are listed in its order).

    Args:
        acts: what happened.
        initial: the object's first state.
        step: state, operation -> the states that it may lead to; none if it is illegal.
        internal: state -> the states that the object may turn into by itself, at any time.
    """
    before = {
        (one, other): acts[one].returned < acts[other].call
        or (
            one < other
            and acts[one].returned == acts[other].call
            and acts[one].process is not None
            and acts[one].process == acts[other].process
        )
        for one in range(len(acts))
        for other in range(len(acts))
    }
    seen: set[tuple[frozenset[int], Hashable]] = set()
    stack: list[tuple[frozenset[int], Hashable]] = [(frozenset(range(len(acts))), initial)]
    while stack:
        left, state = stack.pop()
        if (left, state) in seen:
            continue
        seen.add((left, state))
        required = {at for at in left if not acts[at].optional}
        if not required:
            return True
        for at in left:
            # What could only have happened before this one no longer can.
            late = {other for other in left if before[other, at]}
            if not late & required:
                after = left - {at} - late
                stack += [(after, state_) for state_ in step(state, acts[at].operation)]
        stack += [(left, after) for after in internal(state)]
    return False
