"""Several registers, read and written together."""

from collections.abc import Hashable, Iterator

from checker.model import ILLEGAL, UNKNOWN, Model
from checker.operation_table import WrongOperations, freeze

Registers = tuple[tuple[Hashable, Hashable], ...]
"""The state: key and value of every register that is not None, in order."""


class MultiRegister(Model):
    """``txn`` of micro operations; ``read`` and ``write`` of an object of keys and values.

    A ``txn`` is a list of ``["r", key, value]`` and ``["w", key, value]`` (also ``read`` and
    ``write``, as Knossos knows them), done in order and at once: a read within it sees the
    writes before it. The values of reads are those of the result; a ``txn`` without a result
    only writes. Registers that nobody wrote are None; an initial value is an object.

    Raises:
        WrongOperations: an operation is not of that form.
    """

    name = "multi-register"
    functions = frozenset({"txn", "read", "write"})
    initial: Hashable = ()
    observers = frozenset({"read"})

    def __init__(self, initial: Hashable = None) -> None:
        super().__init__(None if initial is None else _in_order(dict(_pairs(initial))))

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The registers next."""
        assert isinstance(state, tuple)
        registers = dict(state)
        for writes, key, value in micro_operations(f, argument, result):
            if writes:
                registers[key] = value
            elif registers.get(key) != value:
                return ILLEGAL
        return state if f == "read" else _in_order(registers)

    def describe_state(self, state: Hashable) -> str:
        """Each register's value."""
        assert isinstance(state, tuple)
        return f"{{{', '.join(f'{key!r}: {value!r}' for key, value in state)}}}"


def micro_operations(
    f: str, argument: Hashable, result: Hashable
) -> Iterator[tuple[bool, Hashable, Hashable]]:
    """What an operation does in turn: whether it writes, the key, and the value.

    Reads whose answer nobody knows are left out.

    Raises:
        WrongOperations: it is not of the form that `MultiRegister` tells.
    """
    known = result is not UNKNOWN and result is not None
    if f == "txn":
        for micro in _listed(result if known else argument):
            match micro:
                case ("w" | "write", key, value):
                    yield True, key, value
                case ("r" | "read", key, *value) if len(value) <= 1:
                    if known:
                        yield False, key, value[0] if value else None
                case _:
                    raise WrongOperations(
                        f'a txn is a list of ["r", key, value] and ["w", key, value]: {micro!r}'
                    )
    elif f == "write":
        yield from ((True, key, value) for key, value in _pairs(argument))
    elif known:
        yield from ((False, key, value) for key, value in _pairs(result))


def _listed(micros: Hashable) -> tuple[Hashable, ...]:
    if isinstance(micros, (tuple, list)):
        return tuple(freeze(micro) for micro in micros)
    raise WrongOperations(f"a txn is a list of micro operations, not {micros!r}")


def _pairs(registers: Hashable) -> tuple[tuple[Hashable, Hashable], ...]:
    """Keys and values of an object, frozen or not."""
    frozen = freeze(registers)
    pairs = frozen if isinstance(frozen, tuple) else (None,)
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise WrongOperations(
            f"registers are read and written as an object of keys and values, not {registers!r}"
        )
    return tuple(pair for pair in pairs if isinstance(pair, tuple))


def _in_order(registers: dict[Hashable, Hashable]) -> Registers:
    held = (pair for pair in registers.items() if pair[1] is not None)
    return tuple(sorted(held, key=lambda pair: repr(pair[0])))
