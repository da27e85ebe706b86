"""Appends against the definition.

Of the generated histories SHARE % are violations (measured over 20,000).
"""

from functools import partial

import pytest
from hypothesis import note

from checker.decide import decide
from checker.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from checker.specialised import pieces
from checker.specialised.append_only_register import APPEND, decide_appends
from tests.checker.brute_force import linearizable
from tests.checker.crosscheck import crosscheck
from tests.checker.forgetting import assert_witness
from tests.checker.specialised.register_histories import acts, calls, in_effect, swap_returns


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


def orderly(rng, empty, initial):
    functions = ("read", "read", "append", "append", *(("put",) if empty == "" else ()))
    rows = calls(rng, functions)
    for number, row in enumerate(rows):
        if row["f"] != "read":
            letter = "abcdefghi"[number]
            row["argument"] = (
                letter if empty == () else rng.choice((letter, f"{letter}'", f"({letter})"))
            )
    value = initial
    for row in in_effect(rows):
        if row["f"] == "read" and row["outcome"] == OK:
            row["result"] = value or rng.choice((None, empty))
        elif row["f"] != "read":
            value = text(value, operation(empty, row, known=False))[0]
    return rows


def corrupt(rng, empty, initial, rows):
    """A read is moved to another text, or two returns are swapped."""
    reads = [row for row in rows if row["f"] == "read" and row["outcome"] == OK]
    written = [row["argument"] for row in rows if row["f"] != "read"]
    if reads and written and rng.random() < 0.5:
        row = rng.choice(reads)
        whole = row["result"] or empty
        word = rng.choice([*written, "z"])
        piece = (word,) if empty == () else word
        row["result"] = rng.choice(
            (whole + piece, piece + whole, whole[:-1], whole[:-1], rng.choice(reads)["result"])
        )
    else:
        swap_returns(rng, rows)


def table_of(rows):
    return OperationTable.from_rows(
        [{name: each for name, each in row.items() if name != "point"} for row in rows]
    )


def is_refused_rightly(rows, empty, initial):
    decision = decide_appends(table_of(rows), initial)
    assert decision is not None
    expected = acceptable(rows, empty, initial)
    assert decision.valid is expected
    if not expected:
        assert_witness(decision, len(rows), partial(acceptable, rows, empty, initial))
    return not expected


def beginning(rng):
    empty = rng.choice(("", "", ()))
    return empty, empty if rng.random() < 0.7 else ("[x]" if empty == "" else ("x", "y"))


def test_agrees_with_the_definition():
    def agrees(rng):
        empty, initial = beginning(rng)
        rows = orderly(rng, empty, initial)
        for _ in range(rng.choice((0, 1, 2, 2, 3))):
            corrupt(rng, empty, initial, rows)
        note((initial, rows))
        return is_refused_rightly(rows, empty, initial)

    crosscheck(agrees)


def test_orderly_histories_stay_valid():
    def stays_valid(rng):
        empty, initial = beginning(rng)
        rows = orderly(rng, empty, initial)
        note((initial, rows))
        decision = decide(APPEND, table_of(rows), initial)
        assert (decision.valid, decision.algorithm) == (True, "prefix order")
        return False

    crosscheck(stays_valid, share=(0, 0))


def test_a_single_corruption_is_found_when_the_definition_finds_it():
    def found(rng):
        empty, initial = beginning(rng)
        rows = orderly(rng, empty, initial)
        corrupt(rng, empty, initial, rows)
        note((initial, rows))
        return is_refused_rightly(rows, empty, initial)

    crosscheck(found, share=(0.2, 0.7))
