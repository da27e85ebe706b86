"""Small histories of several models, most of them nearly right, and the definition for them.

A history is made by running a model: each operation takes effect at a point of its interval, so
that it is linearizable by construction; then perhaps something is spoilt. Times are few, so
there are many ties; some outcomes are unknown, some operations failed, some were refused.
"""

from math import inf
from random import Random

from rumpus.checker.deciders.operation_table import FAIL, INFO, OK, OperationTable
from rumpus.checker.models.fifo_queue import FifoQueue
from rumpus.checker.models.model import ILLEGAL, REFUSED, UNKNOWN
from rumpus.checker.models.mutex import Mutex
from rumpus.checker.models.register import CasRegister, Register
from tests.checker.brute_force import Act, linearizable

VALUES = (1, 2, 3)


def _register(rng):
    return rng.choice([("read", None), ("write", rng.choice(VALUES))])


def _cas_register(rng):
    pair = (rng.choice(VALUES), rng.choice(VALUES))
    return rng.choice([("read", None), ("write", rng.choice(VALUES)), ("cas", pair)])


def _queue(rng):
    return rng.choice([("enqueue", rng.choice(VALUES)), ("dequeue", None)])


def _mutex(rng):
    return rng.choice([("acquire", None), ("release", None), ("try_acquire", None)])


KINDS = {
    "register": (Register(), _register),
    "cas-register": (CasRegister(), _cas_register),
    "fifo-queue": (FifoQueue(), _queue),
    "mutex": (Mutex(), _mutex),
}


def generate(rng: Random, kind: str) -> OperationTable:
    """At most nine operations of at most four processes."""
    model, draw = KINDS[kind]
    rows = []
    free = dict.fromkeys(range(rng.randint(2, 4)), 0)
    for _ in range(rng.randint(4, 9)):
        process = rng.choice(list(free))
        f, argument = draw(rng)
        call = free[process] + rng.randint(0, 4)
        point = call + rng.randint(0, 3)
        returned = point + rng.randint(0, 3)
        row = {"f": f, "argument": argument, "process": process, "call": call}
        rows.append({**row, "returned": returned, "point": point})
        free[process] = returned + rng.randint(0, 1)
    state = model.initial
    for row in sorted(rows, key=lambda row: (row.pop("point"), rng.random())):
        asked = (row["process"], row["argument"]) if model.columns else row["argument"]
        unknown = rng.random() < 0.2
        if unknown:
            row["outcome"] = INFO
            row.pop("returned")
            if rng.random() < 0.5:
                continue
        answers = [UNKNOWN] if unknown else [None, *VALUES, REFUSED]
        for answer in answers:
            after = model.step(state, row["f"], asked, answer)
            if after is not ILLEGAL and (answer is not REFUSED or row["f"] in model.refusable):
                state = after
                if answer is REFUSED:
                    row |= {"outcome": FAIL, "refused": True}
                elif not unknown:
                    row["result"] = answer
                break
        else:
            if not unknown and rng.random() < 0.8:
                row |= {"outcome": FAIL, "refused": row["f"] not in model.refusable}
    if rng.random() < 0.9:
        spoilt = rng.randint(2, 4) if kind != "mutex" else rng.randint(0, 2)
        for row in rng.sample(rows, spoilt):
            _spoil(rng, row)
    return OperationTable.from_rows(rows)


def _spoil(rng: Random, row: dict) -> None:
    """Another answer, a shorter interval, or a refusal that was none."""
    if row.get("outcome", OK) == FAIL:
        row["outcome"] = OK
    elif row.get("result") is not None:
        row["result"] = rng.choice([None, *VALUES])
    elif "returned" in row:
        row["call"] = row["returned"] = rng.randint(0, row["returned"])


def acceptable(model, table: OperationTable, kept=None) -> bool:
    """By definition; with all operations forgotten but those kept, if it says which."""
    arguments = model.arguments(table)
    acts = []
    for row in range(len(table)):
        outcome, f = table.outcome[row], table.function(row)
        if outcome == FAIL and not (table.refused[row] and f in model.refusable):
            continue
        result = {OK: table.result[row], FAIL: REFUSED, INFO: UNKNOWN}[int(outcome)]
        forgotten = kept is not None and row not in kept
        call = -1 if forgotten else int(table.call[row])
        returned = inf if forgotten or outcome == INFO else int(table.returned[row])
        operation = (f, arguments[row], result)
        acts.append(Act(call, returned, operation, forgotten or outcome == INFO))

    def step(state, operation):
        after = model.step(state, *operation)
        return [] if after is ILLEGAL else [after]

    return linearizable(acts, model.initial, step)
