"""A set of values."""

from collections.abc import Hashable

from rumpus.checker.deciders.typed_values import BOOLEAN
from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.model import ILLEGAL, UNKNOWN, Model


class Set(Model):
    """``add`` and ``remove`` a value, ask whether it ``contains`` one, ``read`` all of them.

    If an ``add`` or a ``remove`` answers True or False, that is whether it changed the set.
    The state is a frozenset; an initial value is a list of values.
    """

    name = "set"
    functions = frozenset({"add", "remove", "contains", "read"})
    initial: Hashable = frozenset()
    observers = frozenset({"contains", "read"})

    def __init__(self, initial: Hashable = None) -> None:
        super().__init__(None if initial is None else _values(initial))

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The set after the operation."""
        assert isinstance(state, frozenset)
        if f == "read":
            if result is UNKNOWN:
                return state
            listed = _values(result)
            once = len(listed) == len(result) if isinstance(result, tuple) else True
            return state if once and listed == state else ILLEGAL
        there = argument in state
        if f == "contains":
            return state if result in (there, UNKNOWN) else ILLEGAL
        changes = there == (f == "remove")
        # A completion may also repeat the value, as in Jepsen's histories.
        if isinstance(result, BOOLEAN) and not isinstance(argument, BOOLEAN) and result != changes:
            return ILLEGAL
        return state | {argument} if f == "add" else state - {argument}

    def describe_state(self, state: Hashable) -> str:
        """Its values, sorted by their text."""
        assert isinstance(state, frozenset)
        return f"{{{', '.join(sorted(map(repr, state)))}}}"


def _values(listed: Hashable) -> frozenset[Hashable]:
    """The values that a ``read`` listed; None lists nothing."""
    if listed is None:
        return frozenset()
    if isinstance(listed, (tuple, list, set, frozenset)):
        return frozenset(listed)
    raise WrongOperations(f"a set reads as a list of its values, not as {listed!r}")
