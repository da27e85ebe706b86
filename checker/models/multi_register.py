"""Several registers, read and written together.

Groups of registers that no operation connects are independent objects, and a history is
linearizable if and only if each of its objects is (Herlihy and Wing, Linearizability, TOPLAS 1990,
section 3.2). So each group is searched by itself.
"""

from collections.abc import Hashable, Iterator, Mapping

from rumpus.checker.deciders.operation_table import FAIL, INFO, OperationTable
from rumpus.checker.deciders.values import AlikeValues, WrongOperations, freeze
from rumpus.checker.models.model import ILLEGAL, UNKNOWN, Mark, Model

Registers = tuple[tuple[Hashable, Hashable], ...]
"""The state: key and value of every register that is not None, sorted by key."""


class MultiRegister(Model):
    """``txn`` of micro operations; ``read`` and ``write`` of an object of keys and values.

    A ``txn`` is a list of ``["r", key, value]`` and ``["w", key, value]`` (also ``read`` and
    ``write``, as in Knossos), done in order and atomically: a read sees the writes before it in
    the list. The values of reads are those of the result; a ``txn`` without a result only writes.
    Registers never written are None; an initial value is an object.

    Args:
        initial: the registers at first.
        groups: the group of each key (`independent_groups`); None for one group.

    Raises:
        WrongOperations: an operation does not have that form.
    """

    name = "multi-register"
    functions = frozenset({"txn", "read", "write"})
    initial: Hashable = ()
    observers = frozenset({"read"})

    def __init__(
        self, initial: object = None, groups: Mapping[Hashable, Hashable] | None = None
    ) -> None:
        super().__init__(None if initial is None else _in_order(dict(_pairs(initial))))
        self._groups = groups or {}

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The registers after the operation."""
        assert isinstance(state, tuple)
        registers = dict(state)
        for writes, key, value in micro_operations(f, argument, result):
            if writes:
                registers[key] = value
            elif registers.get(key) != value:
                return ILLEGAL
        return state if f == "read" else _in_order(registers)

    def partition(self, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The group of the registers that an operation uses."""
        keys = (key for _, key, _ in micro_operations(f, argument, result))
        return self._groups.get(next(keys, None))

    def describe_state(self, state: Hashable) -> str:
        """Each register's value."""
        assert isinstance(state, tuple)
        return f"{{{', '.join(f'{key!r}: {value!r}' for key, value in state)}}}"


def micro_operations(
    f: str, argument: Hashable, result: Hashable
) -> Iterator[tuple[bool, Hashable, Hashable]]:
    """The micro operations of an operation: whether each writes, the key, and the value.

    Reads of unknown result are left out.

    Raises:
        WrongOperations: the operation does not have the form that `MultiRegister` describes.
    """
    known = result is not None and not isinstance(result, Mark)
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


def _pairs(registers: object) -> tuple[tuple[Hashable, Hashable], ...]:
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


def _asked(micros: Hashable, unknown: Hashable = None) -> list[tuple[bool, Hashable, Hashable]]:
    """What a txn asks for: its reads, without values, and its writes.

    Args:
        micros: of a call, or of an answer.
        unknown: in place of an answer that is not known.
    """
    told = unknown if micros is None or isinstance(micros, Mark) else micros
    found = micro_operations("txn", None, told)
    return [(writes, key, value if writes else None) for writes, key, value in found]


def independent_groups(table: OperationTable) -> dict[Hashable, Hashable]:
    """The group of each key: keys connected by operations have the same one (union-find).

    Raises:
        WrongOperations: an operation does not have the form that `MultiRegister` describes.
    """
    group: dict[Hashable, Hashable] = {}
    alike = AlikeValues()

    def find(key: Hashable) -> Hashable:
        if key not in group:
            alike.add(key)
            group[key] = key
        while group[key] != key:
            group[key] = group[group[key]]
            key = group[key]
        return key

    for row in range(len(table)):
        if table.outcome[row] == FAIL:
            continue
        result = UNKNOWN if table.outcome[row] == INFO else table.result[row]
        f, argument = table.function(row), table.argument[row]
        touched = list(micro_operations(f, argument, result))
        if f == "txn" and argument is not None and _asked(argument) != _asked(result, argument):
            raise WrongOperations(
                f"a txn answers the list that it was called with, with what was read; "
                f"{result!r} does not answer {argument!r}"
            )
        roots = [find(key) for _, key, _ in touched]
        group.update((root, roots[0]) for root in roots)
    return {key: find(key) for key in group}
