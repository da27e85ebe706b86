"""Histories of appends, puts and reads, the definition of their value, and operations by hand."""

from functools import partial

from rumpus.checker.deciders.operation_table import OK, OperationTable
from tests.checker.brute_force import linearizable
from tests.checker.deciders.register_histories import acts, calls, in_effect, op, swap_returns

ONCE = tuple("abcdefghi")
"""Each piece is written once."""


def text(state, operation):
    f, value = operation
    if f == "append":
        return [state + value]
    if f == "put":
        return [value]
    return [state] if state == value else []


def operation(empty, row, *, known):
    if row["f"] in ("append", "put"):
        value = row["argument"]
        return row["f"], (value,) if empty == () and row["f"] == "append" else value
    whole = row.get("result")
    return ("read", empty if whole is None else whole) if known else None


def acceptable(rows, empty, initial, forgotten=frozenset()):
    return linearizable(acts(rows, partial(operation, empty), forgotten), initial, text)


def orderly(rng, empty, initial, words=ONCE):
    """Operations in effect one after the other; ``words`` in order, or any of a few."""
    functions = ("read", "read", "append", "append", *(("put",) if empty == "" else ()))
    rows = calls(rng, functions)
    for number, row in enumerate(rows):
        if row["f"] != "read":
            letter = words[number] if words is ONCE else rng.choice(words)
            row["argument"] = (
                letter
                if empty == () or words is not ONCE
                else rng.choice((letter, f"{letter}'", f"({letter})"))
            )
    value = initial
    for row in in_effect(rows):
        if row["f"] == "read" and row["outcome"] == OK:
            row["result"] = value or rng.choice((None, empty))
        elif row["f"] != "read":
            value = text(value, operation(empty, row, known=False))[0]
    return rows


def corrupt(rng, empty, rows):
    """A read is moved to another text, or two returns are swapped."""
    reads = [row for row in rows if row["f"] == "read" and row["outcome"] == OK]
    written = [row["argument"] for row in rows if row["f"] != "read"]
    if reads and written and rng.random() < 0.5:
        row = rng.choice(reads)
        whole = row["result"] or empty
        word = rng.choice([*written, "z"])
        piece = (word,) if empty == () else word
        other = rng.choice(reads)["result"]
        row["result"] = rng.choice(
            (whole + piece, piece + whole, whole[:-1], whole[:-1], other, whole[-1:], piece)
        )
    else:
        swap_returns(rng, rows)


def table_of(rows):
    return OperationTable.from_rows(
        [{name: each for name, each in row.items() if name != "point"} for row in rows]
    )


def beginning(rng):
    empty = rng.choice(("", "", ()))
    return empty, empty if rng.random() < 0.7 else ("[x]" if empty == "" else ("x", "y"))


def append(process, call, returned, piece, **rest):
    return op("append", process, call, returned, piece, **rest)


def get(process, call, returned, whole, **rest):
    return op("get", process, call, returned, result=whole, **rest)


def put(process, call, returned, whole, **rest):
    return op("put", process, call, returned, whole, **rest)
