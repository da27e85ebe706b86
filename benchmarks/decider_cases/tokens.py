"""Histories of tokens, elections, ids, barriers and transactions for the deciders' benchmark."""

from dataclasses import replace

import numpy as np

from benchmarks.decider_cases.case import Case
from benchmarks.decider_cases.exclusion import locks, table
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.values import MISSING, Values


def tokens(rows: int, field: str = "token") -> OperationTable:
    """A lock's history whose acquires are given zxids, in the order of the holds."""
    history = locks(rows)
    acquires = np.flatnonzero(history.f == 0)
    given = np.full(len(history), MISSING, dtype=np.int64)
    given[acquires[np.argsort(history.returned[acquires], kind="stable")]] = (
        4 << 32
    ) + 7 * np.arange(1, len(acquires) + 1)
    names = [f"0x{0x100000000000000 + process:x}" for process in range(history.process.max() + 1)]
    session = Values(np.where(history.f == 0, history.process, MISSING), names)
    return replace(
        history,
        functions=("campaign", "resign") if field == "epoch" else history.functions,
        fields={field: Values(given), "session": session},
    )


def ids(rows: int) -> OperationTable:
    """Twenty clients draw numbers from a counter, in no order."""
    rng = np.random.default_rng(rows)
    call = np.arange(rows) * 1_000
    history = table(
        ("generate",),
        np.zeros(rows),
        call,
        call + rng.integers(1_000, 15_000, rows),
        np.arange(rows) % 20,
    )
    result = Values(rng.permutation(rows) + (4 << 32))
    return replace(history, result=result)


def meetings(rows: int, number: int = 20) -> OperationTable:
    """As many clients as a barrier has parties meet, generation after generation."""
    rng = np.random.default_rng(rows)
    generation = np.arange(rows - rows % number) // number
    opens = generation * 10_000
    return table(
        ("enter",),
        np.zeros(len(opens)),
        opens - rng.integers(0, 4_000, len(opens)),
        opens + rng.integers(0, 4_000, len(opens)),
        np.arange(len(opens)) % number,
    )


def gates(rows: int) -> OperationTable:
    """A gate is set up and removed over and over, and eighteen clients wait for it each time."""
    rng = np.random.default_rng(rows)
    row = np.arange(rows - rows % 20)
    place, time = row % 20, row // 20 * 20_000
    waits = place >= 2
    call = time + np.where(waits, rng.integers(2_000, 9_000, len(row)), place * 10_000)
    returned = np.where(waits, time + rng.integers(10_000, 15_000, len(row)), call + 1_000)
    return table(("create", "remove", "wait"), np.minimum(place, 2), call, returned, place)


def rounds(rows: int, number: int = 20) -> OperationTable:
    """The same meet and part, round after round."""
    met = meetings(rows, number)
    generation = np.arange(len(met)) // number
    functions = ("enter", "leave")
    return table(functions, generation % 2, met.call, met.returned, met.process)


def transactions(rows: int) -> OperationTable:
    """Transactions of five participants who all vote yes, and then learn that it commits."""
    rng = np.random.default_rng(rows)
    row = np.arange(rows - rows % 10)
    decides = row % 10 >= 5
    call = row // 10 * 1_000 + np.where(decides, 500, 0) + rng.integers(0, 200, len(row))
    history = table(
        ("vote", "decide"),
        decides,
        call,
        call + rng.integers(1, 200, len(row)),
        row % 5,
        Values(np.where(decides, MISSING, 0), ["yes"]),
    )
    return replace(
        history,
        result=Values(np.where(history.f == 1, 0, MISSING), ["commit"]),
        fields={"key": Values(history.call // 1_000)},
    )


CASES = {
    "fenced-mutex": Case("fenced-mutex", tokens, target=0.15),
    "fencing-tokens": Case("fencing-tokens", tokens, target=0.15),
    "leader-election": Case("leader-election", lambda rows: tokens(rows, "epoch"), target=0.15),
    "unique-ids": Case("unique-ids", ids),
    "atomic-commitment": Case("atomic-commitment", transactions, 5),
    "barrier": Case("barrier", meetings, 20),
    "double-barrier": Case("double-barrier", rounds, 20),
    "gate": Case("gate", gates),
}
