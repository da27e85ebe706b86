"""A string or list to which pieces are appended."""

from collections.abc import Hashable

from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.model import ILLEGAL, UNKNOWN, Model


class AppendRegister(Model):
    """``put`` (or ``write``) a value, ``append`` a piece, ``get`` (or ``read``) the whole.

    The values are strings, as in Porcupine's key-value logs. If reads return lists they are lists,
    and an ``append`` adds one element, also if that is ``""``. The value is empty at first: it
    reads as None, ``""`` or ``[]``. The state is the tuple of pieces.

    Raises:
        WrongOperations: a value that was put or read is neither a string nor a list.
    """

    name = "append"
    functions = frozenset({"put", "write", "append", "get", "read"})
    initial: Hashable = ()
    observers = frozenset({"get", "read"})
    blind = frozenset({"put", "write"})

    def __init__(self, initial: Hashable = None) -> None:
        super().__init__(None if initial is None else _pieces(initial))

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The pieces after the operation."""
        assert isinstance(state, tuple)
        if f == "append":
            return (*state, argument)
        if f in ("put", "write"):
            return _pieces(argument)
        if result is UNKNOWN:
            return state
        if result is None or isinstance(result, str):
            strings = all(isinstance(piece, str) for piece in state)
            same = strings and "".join(state) == (result or "")
        else:
            same = state == _pieces(result)
        return state if same else ILLEGAL

    def describe_state(self, state: Hashable) -> str:
        """The pieces, as one string where all are strings."""
        assert isinstance(state, tuple)
        if all(isinstance(piece, str) for piece in state):
            return repr("".join(state))
        return repr(list(state))


def _pieces(value: Hashable) -> tuple[Hashable, ...]:
    """The pieces of a whole value."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (tuple, list)):
        return tuple(value)
    raise WrongOperations(f"what is appended to is a string or a list, not {value!r}")
