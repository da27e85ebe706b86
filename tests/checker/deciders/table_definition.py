"""What the table of a history is, said operation by operation."""

from typing import Any

from rumpus.checker.deciders.operation_table import (
    FAIL,
    FIELDS,
    INFO,
    NEVER,
    OK,
    OperationTable,
    other_key,
)
from rumpus.checker.deciders.values import freeze
from rumpus.checker.history import History


def defined_table(history: History) -> OperationTable:
    """The clients' operations of a history.

    Raises:
        ValueError: calls and completions do not pair (`History.operations`), or not by key.
    """
    rows: list[dict[str, Any]] = []
    for invoke, completion in history.operations():
        outcome = "info" if completion is None else completion.type
        row = {
            "f": invoke.f,
            "process": invoke.process,
            "call": invoke.time,
            "returned": completion.time if completion and outcome != "info" else NEVER,
            "outcome": {"ok": OK, "fail": FAIL}.get(outcome, INFO),
            "refused": outcome == "fail" and completion is not None and not completion.error,
            "index": invoke.index,
            "completion": completion.index if completion else -1,
            **_parts("argument", invoke.value),
        }
        if completion is not None and outcome == "ok":
            result = _parts("result", completion.value)
            asked, told = freeze(row.get("key")), freeze(result.get("key"))
            if None not in (asked, told) and (type(asked), asked) != (type(told), told):
                raise other_key(completion.index, asked, told)
            row.update(result)
        rows.append(row)
    return OperationTable.from_rows(rows)


def _parts(name: str, value: Any) -> dict[str, Any]:
    """A value under its column's name, or taken apart where it is an object of `FIELDS`."""
    if not isinstance(value, dict) or not value or not FIELDS.issuperset(value):
        return {name: value}
    return {(name if part == "value" else part): each for part, each in value.items()}
