"""Whether a history's operations are those of a workload, with values of the declared types.

A checker skips a record that it does not know. So a history is checked against the operations'
types before it is judged. An operation that the workload does not have, a key that does not exist
or an answer of another type is refused, for else a violation in such a record would go unseen.
"""

from collections.abc import Mapping
from itertools import islice, starmap
from typing import Any

import msgspec

from rumpus.checker.history import History, Op
from rumpus.checker.value_shapes import MANY, all_are

Shapes = Mapping[str, tuple[Any, Any]]
"""Operation -> the types of its call's value and of its ok's value, as ``msgspec.convert`` takes
them. Values may have further fields."""


def check_operations(history: History, workload: str, shapes: Shapes) -> None:
    """Check the clients' operations against those that a workload declares.

    Args:
        history: the operations.
        workload: the workload's name, for messages.
        shapes: the workload's operations, and the types of their values.

    Raises:
        ValueError: an operation does not fit. The message names the record, and the field or the
            operations that the workload has.
    """
    if _all_fit(history, shapes):
        return
    for operation in history.operations():
        call, done = operation
        shape = shapes.get(call.f)
        if shape is None:
            raise ValueError(
                f"record {call.index}: {workload} has no operation {call.f!r}; it has "
                f"{', '.join(shapes)}"
            )
        _hold(call, shape[0])
        if done is not None and done.type == "ok":
            _hold(done, shape[1])
            asked, told = (_key(op.value) for op in operation if op is not None)
            if asked is not None and told is not None and asked != told:
                raise ValueError(
                    f"record {done.index}: {done.f} of key {told!r}, called with key {asked!r}"
                )


def _all_fit(history: History, shapes: Shapes) -> bool:
    """Whether all operations fit: fast, many at a time, but without telling which does not."""
    operations = iter(history.operations())
    while many := list(islice(operations, MANY)):
        columns: dict[Any, list[Any]] = {}
        for call, done in many:
            shape = shapes.get(call.f)
            if shape is None:
                return False
            asked = call.value
            if shape[0] is not Any:
                columns.setdefault(shape[0], []).append(asked)
            if done is not None and done.type == "ok":
                told = done.value
                if shape[1] is not Any:
                    columns.setdefault(shape[1], []).append(told)
                if None not in (_key(asked), _key(told)) and _key(asked) != _key(told):
                    return False
        if not all(starmap(all_are, columns.items())):
            return False
    return True


def _hold(op: Op, shape: Any) -> None:
    if shape is Any:
        return
    try:
        msgspec.convert(op.value, shape)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        where = f"value{path.rstrip('`')}"
        raise ValueError(f"record {op.index} ({op.process} {op.f}): {where}: {what}") from error


def _key(value: Any) -> Any:
    return value.get("key") if isinstance(value, dict) else None
