"""Histories of registers for the deciders' benchmark."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.decider_cases.case import Case
from rumpus.checker.deciders.operation_table import INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.values import MISSING, Values

CLIENTS = 20
LOST = 0.002
"""Share of operations of unknown outcome; half of them took effect."""
PERIOD = 1_000
"""Nanoseconds from one operation's effect to the next one's."""
WRITES = 0.3


def reads_and_writes(rows: int, number: str = "", step: int = 1) -> OperationTable:
    """Clients read and write one register; each value is written once.

    With the field ``number`` the answers carry versions, or zxids that grow by up to ``step``.
    """
    rng = np.random.default_rng(rows)
    point = np.arange(1, rows + 1) * PERIOD
    length = CLIENTS * PERIOD // 2 - 1
    call = point - rng.integers(0, length, rows)
    returned = point + rng.integers(0, length, rows)
    writes = rng.random(rows) < WRITES
    lost = rng.random(rows) < LOST
    effective = writes & ~(lost & (rng.random(rows) < 0.5))
    client = np.arange(rows) % CLIENTS
    lives = np.zeros(rows, dtype=np.int64)
    for each in range(CLIENTS):
        lives[each::CLIENTS] = np.cumsum(lost[each::CLIENTS]) - lost[each::CLIENTS]
    value = np.arange(1, rows + 1)
    latest = np.maximum.accumulate(np.where(effective, value, 0))
    versions = np.cumsum(np.where(effective, rng.integers(1, step + 1, rows), 0))
    order = np.argsort(call, kind="stable")

    def column(numbers: np.ndarray, where: np.ndarray) -> Values:
        return Values(np.where(where, numbers, MISSING)[order])

    return OperationTable(
        functions=("read", "write"),
        f=writes[order].astype(np.int16),
        outcome=np.where(lost, INFO, OK)[order].astype(np.int8),
        process=(client + CLIENTS * lives)[order],
        call=call[order],
        returned=np.where(lost, NEVER, returned)[order],
        argument=column(value, writes),
        result=column(latest, ~writes & ~lost),
        fields={number: column(versions, ~lost)} if number else {},
    )


def appends(clients: int, rounds: int, *, fresh: bool = False) -> OperationTable:
    """Clients append to keys, get and put, as in the data sets that Porcupine ships.

    There are as many keys as clients. A piece names its client and how many that has written; in
    each round the clients begin to count anew, unless ``fresh``.
    """
    rng = np.random.default_rng(clients)
    rows = []
    texts: dict[str, str] = {}
    written = [0] * clients
    for number in range(rounds * clients * OPERATIONS_A_ROUND):
        client = number % clients
        if number % (clients * OPERATIONS_A_ROUND) == 0 and not fresh:
            written = [0] * clients
        key = str(rng.integers(0, clients))
        kind = rng.random()
        f = "append" if kind < 0.5 else "put" if kind < 0.6 else "get"
        row: dict[str, Any] = {"f": f, "process": client, "key": key}
        if f == "get":
            row["result"] = texts.get(key, "")
        else:
            row["argument"] = f"x {client} {written[client]} y"
            written[client] += 1
            texts[key] = (texts.get(key, "") if f == "append" else "") + row["argument"]
        point = (number + 1) * PERIOD
        length = clients * PERIOD // 2 - 1
        row["call"] = point - int(rng.integers(0, length))
        row["returned"] = point + int(rng.integers(0, length))
        rows.append(row)
    return OperationTable.from_rows(rows)


OPERATIONS_A_ROUND = 12


def _appends_of(rows: int, *, fresh: bool) -> OperationTable:
    return appends(50, max(1, rows // (50 * OPERATIONS_A_ROUND)), fresh=fresh)


def _numbered(number: str, step: int) -> Callable[[int], OperationTable]:
    return lambda rows: reads_and_writes(rows, number, step)


CASES = {
    "register": Case("register", reads_and_writes, 0, target=0.5),
    "register-versions": Case("versioned-register", _numbered("version", 1), 0, target=0.5),
    "register-zxids": Case("versioned-register", _numbered("zxid", 5), 0, target=0.5),
    "append": Case("append", partial(_appends_of, fresh=True), largest=10**5),
    "append-repeated": Case("append", partial(_appends_of, fresh=False), largest=10**5),
}
