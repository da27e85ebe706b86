"""Whether a history's operations are those of a workload, and carry what its judge reads in them.

A judge passes over a record that it does not know. So a history is held to the operations' types
before it is judged: an operation that its workload has not, a key that does not exist, or an answer
of another type is refused, and does not turn a violation into a green.
"""

from collections.abc import Mapping
from itertools import islice, starmap
from typing import Any

import msgspec

from rumpus.checker.history import History, Op
from rumpus.checker.value_shapes import MANY, all_are

Shapes = Mapping[str, tuple[Any, Any]]
"""Operation -> the types of its call's value and of its ok's, as ``msgspec.convert`` knows them.
Fields that they do not name may be there."""


def check_operations(history: History, workload: str, shapes: Shapes) -> None:
    """Hold the clients' operations to those of a workload.

    Args:
        history: the operations.
        workload: its name.
        shapes: its operations, and what they carry.

    Raises:
        ValueError: one does not fit; the message names the record, and the field or the
            operations that there are.
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
    """Whether all operations do, looked at many at a time; which one does not is not told."""
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
