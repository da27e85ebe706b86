"""The classic search for linearizability, to compare with: as Porcupine has it, in Python.

Wing and Gong's search over a doubly linked list of calls and returns, with Lowe's memory of
(set of linearized operations, state). The set is one integer with a bit for each operation.
"""

from typing import Any

from rumpus.checker.deciders.operation_table import FAIL, INFO, OK, OperationTable
from rumpus.checker.models.model import ILLEGAL, REFUSED, UNKNOWN, Model


def linearizable(model: Model, table: OperationTable) -> bool:
    """Whether one object's operations are linearizable; unknown outcomes return at the end."""
    arguments = model.arguments(table)
    operations: list[tuple[str, Any, Any]] = []
    events: list[tuple[int, int, int]] = []
    for row in range(len(table)):
        outcome, f = table.outcome[row], table.function(row)
        if outcome == FAIL and not (table.refused[row] and f in model.refusable):
            continue
        if outcome == INFO and f in model.observers:
            continue
        number = len(operations)
        result = {OK: table.result[row], FAIL: REFUSED, INFO: UNKNOWN}[int(outcome)]
        operations.append((f, arguments[row], result))
        events.append((int(table.call[row]), 0, number))
        events.append((int(table.returned[row]), 1, number))
    events.sort()
    size = len(events)
    head = size
    following = [*range(1, size + 1), 0]
    before = [head, *range(size)]
    match = [0] * size
    place: dict[int, int] = {}
    for at, (_, _, number) in enumerate(events):
        if number in place:
            match[place[number]] = at
        else:
            place[number] = at
    optional = [result is UNKNOWN for _, _, result in operations]
    left = optional.count(False)

    def lift(at: int) -> None:
        following[before[at]], before[following[at]] = following[at], before[at]

    def unlift(at: int) -> None:
        following[before[at]] = before[following[at]] = at

    state: Any = model.initial
    done = 0
    seen: set[tuple[int, Any]] = set()
    stack: list[tuple[int, Any]] = []
    at = following[head]
    while left:
        _, is_return, number = events[at] if at != head else (0, 1, -1)
        if not is_return:
            after = model.step(state, *operations[number])
            key = (done | 1 << number, after)
            if after is not ILLEGAL and key not in seen:
                seen.add(key)
                stack.append((at, state))
                state, done = after, key[0]
                left -= not optional[number]
                lift(at)
                lift(match[at])
                at = following[head]
            else:
                at = following[at]
        else:
            # An unknown outcome returns behind all others, when nothing is left but such.
            if not stack:
                return False
            at, state = stack.pop()
            number = events[at][2]
            done &= ~(1 << number)
            left += not optional[number]
            unlift(match[at])
            unlift(at)
            at = following[at]
    return True
