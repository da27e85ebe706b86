"""Histories of registers by construction, and their operations as the definition takes them."""

from math import inf

from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK
from tests.checker.brute_force import Act

AT_ANY_TIME = -1


def calls(rng, functions, *, most=9, unknown=0.15, length=4):
    """Up to ``most`` calls of up to four processes, each with a ``point`` at which it happens.

    The point is None if it never happens. Times are small, so that there are many ties.
    """
    rows = []
    for process in range(max(rng.randint(1, 4), rng.randint(1, 4))):
        time = rng.randint(0, 10)
        for _ in range(max(rng.randint(1, 5), rng.randint(1, 5))):
            outcome = rng.choices((OK, INFO, FAIL), (1 - unknown, unknown, 0.05))[0]
            returned = time + rng.randint(0, length)
            latest = returned + 12 * (outcome == INFO)
            happens = outcome == OK or (outcome == INFO and rng.random() < 0.6)
            rows.append(
                {
                    "f": rng.choice(functions),
                    "process": process,
                    "call": time,
                    "returned": NEVER if outcome == INFO else returned,
                    "outcome": outcome,
                    "point": rng.uniform(time, latest) if happens else None,
                }
            )
            if outcome == INFO:
                break
            time = returned + rng.randint(1, 3)
    rng.shuffle(rows)
    return sorted(rows[:most], key=lambda row: row["call"])


def spread(rng, functions, most):
    """Up to ``most`` calls of two to four processes, still without arguments and results."""
    rows = []
    for process in range(rng.randint(2, 4)):
        time = rng.randint(0, 8)
        for _ in range(rng.randint(2, 4)):
            returned = time + rng.randint(0, 5)
            row = {"f": rng.choice(functions), "process": process, "call": time}
            rows.append(row | {"returned": returned})
            time = returned + rng.randint(1, 4)
    rng.shuffle(rows)
    return sorted(rows[:most], key=lambda row: row["call"])


def in_effect(rows):
    """Those that happen, in order of their points."""
    return sorted((r for r in rows if r["point"] is not None), key=lambda row: row["point"])


def act(row, operation, *, forgotten):
    """The row for the brute force; if forgotten it may have happened at any time, or never."""
    if forgotten:
        return Act(AT_ANY_TIME, inf, operation, optional=True)
    if row.get("outcome", OK) == INFO:
        return Act(row["call"], inf, operation, optional=True)
    return Act(row["call"], row["returned"], operation)


def acts(rows, operation, forgotten=frozenset()):
    """The rows for the brute force.

    Args:
        rows: as `OperationTable.from_rows` takes them.
        operation: row, whether its outcome is known -> what the object's step understands; None
            for an operation that says nothing.
        forgotten: numbers of rows that may have happened at any time, or never.
    """
    found = []
    for number, row in enumerate(rows):
        outcome = row["outcome"]
        if number in forgotten and outcome != FAIL:
            act = Act(AT_ANY_TIME, inf, operation(row, known=False), optional=True)
        elif outcome == INFO:
            act = Act(row["call"], inf, operation(row, known=False), optional=True)
        elif outcome == OK or (row.get("refused") and number not in forgotten):
            act = Act(row["call"], row["returned"], operation(row, known=True))
        else:
            continue
        if act.operation is not None:
            found.append(act)
    return found


def swap_returns(rng, rows):
    """Two acknowledged operations exchange the times of their returns, if both can."""
    known = [row for row in rows if row["outcome"] == OK]
    if len(known) > 1:
        one, other = rng.sample(known, 2)
        if one["returned"] >= other["call"] and other["returned"] >= one["call"]:
            one["returned"], other["returned"] = other["returned"], one["returned"]


def change_interval(rng, rows, *, shrink):
    """An operation's interval is cut to a point, or moved; an open one begins later."""
    row = rng.choice([row for row in rows if row["outcome"] != INFO] or rows)
    if row["outcome"] == INFO:
        row["call"] += rng.randint(0, 6)
    elif shrink:
        row["call"] = row["returned"] = rng.randint(row["call"], row["returned"])
    else:
        by = max(rng.randint(-6, 6), -row["call"])
        row["call"], row["returned"] = row["call"] + by, row["returned"] + by
    rows.sort(key=lambda row: row["call"])


def op(f, process, call, returned, argument=None, result=None, **rest):
    """A row; its outcome is known if nothing else is said."""
    return {
        "f": f,
        "process": process,
        "call": call,
        "returned": returned,
        "argument": argument,
        "result": result,
        "outcome": OK,
        **rest,
    }
