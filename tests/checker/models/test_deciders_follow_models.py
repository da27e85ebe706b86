"""The ready models and the deciders of their names give the same verdicts.

Histories are made by stepping a model, and then spoilt: between 30 and 70 % are violations.
"""

import pytest
from hypothesis import note

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.decision import Budget
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OperationTable
from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.deciders.values import freeze
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.counter import Counter
from rumpus.checker.models.fifo_queue import FifoQueue
from rumpus.checker.models.model import ILLEGAL, REFUSED
from rumpus.checker.models.mutex import Mutex
from rumpus.checker.models.priority_queue import PriorityQueue
from rumpus.checker.models.reentrant_mutex import ReentrantMutex
from rumpus.checker.models.semaphore import Semaphore
from rumpus.checker.models.set import Set
from tests.checker.crosscheck import crosscheck


def lock(rng, _):
    return {"f": rng.choice(["acquire", "release"])}


def try_lock(rng, _):
    refused = {"outcome": FAIL, "refused": True}
    tried = {"f": "try_acquire", **rng.choice(({"result": True}, refused, refused))}
    return rng.choice((lock(rng, None), tried))


def permits(rng, _):
    return lock(rng, None) | rng.choice(({}, {}, {"permits": 2}))


def queue(rng, number):
    if rng.random() < 0.5:
        return {"f": "enqueue", "argument": number}
    return {"f": "dequeue", "result": rng.choice([None, *range(number)])}


def members(rng, _):
    f = rng.choice(["add", "remove", "contains", "read"])
    if f == "read":
        return {"f": f, "result": [each for each in (0, 1) if rng.random() < 0.5]}
    return {"f": f, "argument": rng.randrange(2)} | (
        {"result": rng.random() < 0.5} if f == "contains" else {}
    )


def total(rng, _):
    if rng.random() < 0.5:
        return {"f": "add", "argument": rng.choice((1, 1, 2, -1))}
    return {"f": "read", "result": rng.randrange(-1, 5)}


MADE = {
    "mutex": (Mutex(), try_lock, None),
    "reentrant-mutex": (ReentrantMutex(), lock, None),
    "semaphore": (Semaphore(2), permits, 2),
    "fifo-queue": (FifoQueue(), queue, None),
    "priority-queue": (PriorityQueue(), queue, None),
    "set": (Set(), members, None),
    "counter": (Counter(), total, None),
}


def legal(rng, model, make, state, number, process):
    """Some operation that is legal in a state, and the state after it; None if none is found."""
    for _ in range(20):
        row = make(rng, number) | {"process": process}
        table = OperationTable.from_rows([row | {"call": 0}])
        result = REFUSED if row.get("refused") else freeze(row.get("result"))
        after = model.step(state, row["f"], model.arguments(table)[0], result)
        if after is not ILLEGAL:
            return row, after
    return None


def history(rng, model, make):
    """A linearizable history, and maybe not so any more."""
    rows, state, free = [], model.initial, dict.fromkeys(range(3), 0)
    for number in range(rng.randint(4, 8)):
        process = rng.choice(list(free))
        point = 3 * number + rng.randrange(3)
        made = legal(rng, model, make, state, number, process)
        if made is None or point < free[process]:
            continue
        row, state = made
        call = max(free[process], point - rng.randrange(6))
        row |= {"call": call, "returned": point + rng.randrange(6)}
        free[process] = row["returned"] + 1
        if rng.random() < 0.1 and not row.get("refused") and row["f"] != "release":
            row |= {"outcome": INFO, "returned": NEVER}
            row.pop("result", None)
            del free[process]
        rows.append(row)
        if not free:
            break
    for number in rng.sample(range(len(rows)), min(len(rows), rng.choice((0, 2, 4, 6)))):
        if (row := rows[number])["returned"] != NEVER:
            kept = {name: row[name] for name in ("process", "call", "returned")}
            rows[number] = make(rng, number) | kept
    return rows


@pytest.mark.parametrize("name", MADE)
def test_same_verdict(name):
    model, make, initial = MADE[name]

    def agrees(rng):
        rows = history(rng, model, make)
        note(repr(rows))
        table = OperationTable.from_rows(rows)
        searched = check_linearizable(model, table, Budget(), explain=False)
        assert decide(MODELS[name], table, initial).valid is searched.valid
        return searched.valid is False

    crosscheck(agrees, normally=100)
