"""Histories of locks for the deciders' benchmark."""

import dataclasses

import numpy as np

from benchmarks.decider_cases.case import Case
from rumpus.checker.deciders.operation_table import INFO, NEVER, OperationTable
from rumpus.checker.deciders.values import MISSING, Values

CLIENTS = 20
LOST = 0.002
"""Share of releases of unknown outcome; the client goes on as another process."""


def table(
    functions: tuple[str, ...],
    f: np.ndarray,
    call: np.ndarray,
    returned: np.ndarray,
    process: np.ndarray,
    argument: Values | None = None,
    outcome: np.ndarray | None = None,
) -> OperationTable:
    """Rows put in order of their calls."""
    order = np.argsort(call, kind="stable")
    nothing = Values(np.full(len(f), MISSING, dtype=np.int64))
    return OperationTable(
        functions=functions,
        f=f[order].astype(np.int16),
        outcome=(np.zeros(len(f)) if outcome is None else outcome)[order].astype(np.int8),
        process=process[order].astype(np.int64),
        call=call[order].astype(np.int64),
        returned=returned[order].astype(np.int64),
        argument=nothing if argument is None else argument[order],
        result=nothing,
    )


def locks(
    rows: int, permits: int = 1, *, kinds: bool = False, sessions: bool = False
) -> OperationTable:
    """Clients who queue for a lock; ``permits`` of them hold it at once, each 1 µs and more.

    With ``kinds`` every third hold writes and the others read: readers hold together. With
    ``sessions`` acquires tell theirs, a session for each process.
    """
    rng = np.random.default_rng(rows)
    holds = rows // 2
    number = np.arange(holds)
    if kinds:
        write = (rng.random(holds) < 1 / 3) | (number % (CLIENTS // 2) == 0)
        # All readers between two writers hold in one room of time.
        room = np.cumsum(write | np.concatenate(([False], write[:-1])))
    else:
        write = np.zeros(holds, dtype=bool)
        room = number // permits
    begin = room * 10_000 + rng.integers(0, 2_000, holds)
    end = begin + rng.integers(1_000, 6_000, holds)
    waited = rng.integers(0, 10_000 * CLIENTS // 2, holds)
    lost = rng.random(holds) < LOST
    process = number % CLIENTS + CLIENTS * _lives(lost, number % CLIENTS)
    # A client calls again only after its release has returned.
    call = np.maximum(begin - waited, _earlier(end + 900, CLIENTS))
    answered = np.where(lost, NEVER, end + 900)
    argument = None
    if kinds:
        argument = Values(np.tile(write.astype(np.int64), 2), ["read", "write"])
    history = table(
        ("acquire", "release"),
        np.repeat([0, 1], holds),
        np.concatenate((call, end)),
        np.concatenate((begin, answered)),
        np.tile(process, 2),
        argument,
        np.concatenate((np.zeros(holds), np.where(lost, INFO, 0))),
    )
    if not sessions:
        return history
    session = np.where(history.f == 0, history.process, MISSING)
    names = [f"0x{number:x}" for number in range(int(process.max()) + 1)]
    return dataclasses.replace(history, fields={"session": Values(session, names)})


def _lives(lost: np.ndarray, client: np.ndarray) -> np.ndarray:
    """How many processes each hold's client has used up before it."""
    lives = np.zeros(len(lost), dtype=np.int64)
    for each in range(CLIENTS):
        own = client == each
        lives[own] = np.cumsum(lost[own]) - lost[own]
    return lives


def _earlier(times: np.ndarray, back: int) -> np.ndarray:
    """The latest of the times up to ``back`` places before."""
    latest = np.maximum.accumulate(times) + 1
    return np.concatenate((np.zeros(min(back, len(times)), dtype=np.int64), latest[:-back]))


CASES = {
    "mutex": Case("mutex", locks, target=0.15, largest=10**7),
    "mutex, sessions": Case("mutex", lambda rows: locks(rows, sessions=True), target=0.15),
    "reentrant-mutex": Case("reentrant-mutex", locks, target=0.15),
    "semaphore": Case("semaphore", lambda rows: locks(rows, 5), 5, target=0.15),
    "read-write-lock": Case("read-write-lock", lambda rows: locks(rows, kinds=True), target=0.15),
}
