"""Operations of a history, as plain data, that end otherwise: what results is a history still.

A change of any record breaks the rule that an operation has a call and one completion, so few of
such histories get past their reader. These changes keep it.
"""

from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

Record = dict[str, Any]
Operation = list[Record]
"""A call, and its completion if it has one."""


def is_history(document: Any) -> bool:
    """Whether a list has records of operations."""
    return isinstance(document, list) and bool(_operations(document))


def change_operation(history: list[Any], chance: Random) -> None:
    """Have one operation be, begin or end otherwise; times stay sorted.

    Args:
        history: records, most of which are as a history has them.
        chance: decides.
    """
    found = _operations(history)
    chance.choice(WAYS)(history, chance.choice(found), found, chance)
    _in_order(history)


def _operations(history: list[Any]) -> list[Operation]:
    found: list[Operation] = []
    still: dict[int, Operation] = {}
    for record in history:
        process = record.get("process") if isinstance(record, dict) else None
        if isinstance(process, bool) or not isinstance(process, int):
            continue
        if record.get("type") == "invoke":
            found.append([record])
            still[process] = found[-1]
        elif process in still:
            still.pop(process).append(record)
    return found


def _in_order(history: list[Any]) -> None:
    """Give the times there are to the records in their order, if they had been sorted."""
    timed = [record for record in history if isinstance(record, dict) and "time" in record]
    times = [record["time"] for record in timed]
    if all(isinstance(time, int) for time in times):
        for record, time in zip(timed, sorted(times), strict=True):
            record["time"] = time


def _at(history: list[Any], record: Record) -> int:
    return next(at for at, each in enumerate(history) if each is record)


def _of(history: list[Any], process: int) -> list[int]:
    """Where the records of a process are."""
    records = [each.get("process") if isinstance(each, dict) else None for each in history]
    return [at for at, each in enumerate(records) if each == process]


def _drop(history: list[Any], one: Operation, _: list[Operation], __: Random) -> None:
    for record in one:
        del history[_at(history, record)]


def _repeat(history: list[Any], one: Operation, all_: list[Operation], chance: Random) -> None:
    """Once more, after any operation of its process that ended."""
    process = one[0]["process"]
    ends = [each[1] for each in all_ if len(each) == 2 and each[0]["process"] == process]
    if len(one) == 2:
        at = _at(history, chance.choice(ends)) + 1
        history[at:at] = deepcopy(one)


def _exchange(_: list[Any], one: Operation, all_: list[Operation], chance: Random) -> None:
    """Exchange what two operations of the same name were called with, or what they answered."""
    alike = [
        each
        for each in all_
        if each[0].get("f") == one[0].get("f")
        and [r.get("type") for r in each] == [r.get("type") for r in one]
    ]
    other, at = chance.choice(alike), chance.randrange(len(one))
    mine, theirs = one[at].get("value"), other[at].get("value")
    one[at]["value"], other[at]["value"] = theirs, mine


def _answer(history: list[Any], one: Operation, _: list[Operation], chance: Random) -> None:
    """A completion of another type; after an unknown outcome a client is another process."""
    if len(one) == 2:
        one[1]["type"] = chance.choice(("ok", "fail", "info"))
        if one[1]["type"] == "info":
            _rename_after(history, one[1])


def _no_answer(history: list[Any], one: Operation, _: list[Operation], __: Random) -> None:
    if len(one) == 2:
        _rename_after(history, one[1])
        del history[_at(history, one[1])]


def _rename_after(history: list[Any], record: Record) -> None:
    """Have a process be another one from here on, of the same client."""
    process, at = record["process"], _at(history, record)
    clients = _clients(history)
    for each in history[at + 1 :]:
        own = each.get("process") if isinstance(each, dict) else None
        if isinstance(own, int) and own >= process and (own - process) % clients == 0:
            each["process"] = own + clients


def _clients(history: list[Any]) -> int:
    """How many clients there are, by the first record or by the processes."""
    first = history[0].get("value") if isinstance(history[0], dict) else None
    told = first.get("clients") if isinstance(first, dict) else None
    if isinstance(told, int) and told > 0:
        return told
    return 1 + max((each[0]["process"] for each in _operations(history)), default=0)


def _end_later(history: list[Any], one: Operation, _: list[Operation], chance: Random) -> None:
    """Up to the next call of its process, or the last record."""
    if len(one) == 2:
        at = _at(history, one[1])
        later = [n for n in _of(history, one[1]["process"]) if n > at]
        end = [*later, len(history) - 1][0]
        history.insert(chance.randrange(at, max(at + 1, end)), history.pop(at))


def _begin_earlier(history: list[Any], one: Operation, _: list[Operation], chance: Random) -> None:
    """Down to the completion before it of its process, or the first record."""
    at = _at(history, one[0])
    before = [n for n in _of(history, one[0]["process"]) if n < at]
    history.insert(chance.randint(min(at, [0, *before][-1] + 1), at), history.pop(at))


def _on_another_key(_: list[Any], one: Operation, all_: list[Operation], chance: Random) -> None:
    """Its call and its completion, where the records have keys."""
    other = chance.choice(all_)
    for record in one:
        if "key" in record and "key" in other[0]:
            record["key"] = other[0]["key"]


WAYS: list[Callable[[list[Any], Operation, list[Operation], Random], None]] = [
    _drop,
    _repeat,
    _exchange,
    _exchange,
    _answer,
    _no_answer,
    _end_later,
    _begin_earlier,
    _on_another_key,
]
