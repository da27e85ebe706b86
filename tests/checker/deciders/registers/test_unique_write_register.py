"""Registers with unique writes against the definition.

Of the generated histories 41 % are violations (measured over 20,000).
"""

from functools import partial

import pytest
from hypothesis import note

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.registers.unique_write_register import (
    CAS_REGISTER,
    REGISTER,
    decide_unique_writes,
)
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.brute_force import linearizable
from tests.checker.crosscheck import crosscheck
from tests.checker.deciders.register_histories import acts, calls, in_effect, swap_returns
from tests.checker.forgetting import refuses_rightly


def register(state, operation):
    f, value = operation
    if f == "write":
        return [value]
    return [state] if state == value else []


def operation(row, *, known):
    if row["f"] == "write":
        return "write", row["argument"]
    return ("read", row.get("result")) if known else None


def acceptable(rows, initial, forgotten=frozenset()):
    return linearizable(acts(rows, operation, forgotten), initial, register)


def orderly(rng, initial):
    """A history of a register with values written once, but for some that nobody reads."""
    rows = calls(rng, ("read", "read", "write"))
    style = rng.choice((int, str, lambda number: number * 10**12, lambda number: [number]))
    for number, row in enumerate(rows, start=1):
        if row["f"] == "write":
            row["argument"] = style(number)
    value = initial
    for row in in_effect(rows):
        if row["f"] == "write":
            value = row["argument"]
        elif row["outcome"] == OK:
            row["result"] = value
    read = [row.get("result") for row in rows]
    for row in rows:
        if row["f"] == "write" and row["argument"] not in read and rng.random() < 0.2:
            row["argument"] = style(0)
    return rows


def corrupt(rng, rows):
    """A read's value is moved to another; or two returns are swapped."""
    reads = [row for row in rows if row["f"] == "read" and row["outcome"] == OK]
    values = [row["argument"] for row in rows if row["f"] == "write"]
    if reads and rng.random() < 0.7:
        others = [read["result"] for read in reads]
        rng.choice(reads)["result"] = rng.choice([*values, *values, *others, 77])
    else:
        swap_returns(rng, rows)


def table_of(rows):
    return OperationTable.from_rows(
        [{name: value for name, value in row.items() if name != "point"} for row in rows]
    )


def is_refused_rightly(rows, initial):
    frozen = [dict(row) for row in rows]
    for row in frozen:
        for name in ("argument", "result"):
            if isinstance(row.get(name), list):
                row[name] = tuple(row[name])
    decision = decide_unique_writes(table_of(rows), initial)
    if decision is None:  # the corruption made a value read that was written twice
        decision = decide(REGISTER, table_of(rows), initial)
        assert decision.algorithm == "windowed search"
    return refuses_rightly(decision, len(rows), partial(acceptable, frozen, initial))


def test_agrees_with_the_definition():
    def agrees(rng):
        initial = rng.choice((None, None, -5, "x"))
        rows = orderly(rng, initial)
        for _ in range(rng.choice((0, 1, 2, 2, 3))):
            corrupt(rng, rows)
        note(rows)
        return is_refused_rightly(rows, initial)

    crosscheck(agrees)


def test_orderly_histories_stay_valid():
    def stays_valid(rng):
        initial = rng.choice((None, -5, "x"))
        rows = orderly(rng, initial)
        note(rows)
        assert decide(REGISTER, table_of(rows), initial).valid is True
        assert decide(CAS_REGISTER, table_of(rows), initial).algorithm == "zones"
        return False

    crosscheck(stays_valid, share=(0, 0))


def test_a_single_corruption_is_found_when_the_definition_finds_it():
    def found(rng):
        rows = orderly(rng, None)
        corrupt(rng, rows)
        note(rows)
        return is_refused_rightly(rows, None)

    crosscheck(found, share=(0.2, 0.7))


def write(process, call, returned, value, **rest):
    return {
        "f": "write",
        "process": process,
        "call": call,
        "returned": returned,
        "argument": value,
        "outcome": OK,
        **rest,
    }


def read(process, call, returned, value, **rest):
    return {
        "f": "read",
        "process": process,
        "call": call,
        "returned": returned,
        "result": value,
        "outcome": OK,
        **rest,
    }


def refusal(rows, initial=None, entry=REGISTER):
    decision = decide(entry, OperationTable.from_rows(rows), initial)
    assert decision.valid is False
    assert decision.algorithm == "zones"
    return decision.witness


def test_a_value_that_nobody_wrote_is_told():
    rows = [write(0, 0, 5, 1), read(3, 10, 20, 7), write(0, 30, 40, 7, outcome=FAIL)]
    witness = refusal(rows)
    assert witness.operations == [1]
    assert witness.description == "read() -> 7 of process 3, and nobody ever wrote that"


def test_a_value_read_before_it_was_written_is_told():
    second = 10**9
    rows = [
        read(3, 1 * second, 2 * second, "a"),
        write(4, 3 * second, NEVER, "a", outcome=INFO),
    ]
    witness = refusal(rows)
    assert witness.operations == [0, 1]
    assert witness.description == (
        "read() -> 'a' of process 3 returned at 1.000 s, before the only write of that value was "
        "called: write('a') of process 4 at 2.000 s"
    )
    rows[1]["call"] = 2 * second
    assert decide(REGISTER, OperationTable.from_rows(rows)).valid is True


def test_a_stale_read_is_told():
    witness = refusal([write(0, 0, 5, 1), write(1, 6, 10, 2), read(2, 11, 12, 1)])
    assert witness.operations == [0, 1, 2]
    assert witness.description == (
        "write(1) of process 0 returned at position 5, before write(2) of process 1 was called "
        "at position 6; but write(2) of process 1 returned at position 10, before read() -> 1 of "
        "process 2 was called at position 11; and each of the two values was written only once"
    )


def test_a_read_of_the_beginning_after_a_write_is_told():
    rows = [write(0, 0, 5, 1), read(2, 11, 12, "x")]
    assert refusal(rows, "x", CAS_REGISTER).description == (
        "write(1) of process 0 returned at position 5, before read() -> 'x' of process 2 was "
        "called at position 11; but 'x' was only there at the beginning, and nobody wrote it"
    )


def test_keys_are_judged_one_by_one():
    rows = [write(0, 0, 5, 1, key="a"), read(1, 6, 7, 1, key="b"), read(1, 8, 9, 1, key="a")]
    witness = refusal(rows)
    assert witness.operations == [1]
    assert witness.description.startswith("key 'b': read() -> 1 of process 1")
    rows[1]["result"] = None
    decision = decide(REGISTER, OperationTable.from_rows(rows))
    assert (decision.valid, decision.algorithm) == (True, "zones")


def test_values_read_that_were_written_twice_are_searched():
    rows = [write(0, 0, 5, 1), write(1, 6, 10, 1), read(2, 11, 12, 1)]
    decision = decide(REGISTER, OperationTable.from_rows(rows))
    assert (decision.valid, decision.algorithm) == (True, "windowed search")
    rows[2]["result"] = None
    decision = decide(REGISTER, OperationTable.from_rows(rows))
    assert decision.valid is False


@pytest.mark.parametrize(("outcome", "valid"), [(OK, False), (INFO, True), (FAIL, True)])
def test_whatever_compares_is_searched(outcome, valid):
    cas = {"f": "cas", "process": 1, "call": 6, "argument": [2, 3], "outcome": outcome}
    cas["returned"] = NEVER if outcome == INFO else 10
    rows = [write(0, 0, 5, 1), cas, read(2, 11, 12, 1)]
    decision = decide(CAS_REGISTER, OperationTable.from_rows(rows))
    assert decision.valid is valid
    assert decision.algorithm == ("zones" if outcome == FAIL else "windowed search")
    rows[1].update(outcome=FAIL, argument=[1, 3], refused=True)
    assert decide(CAS_REGISTER, OperationTable.from_rows(rows)).valid is False


@pytest.mark.parametrize("argument", [None, 1, "12", [1, 2, 3]])
def test_a_cas_takes_a_pair(argument):
    cas = {"f": "cas", "process": 1, "call": 6, "returned": 7, "argument": argument}
    with pytest.raises(WrongOperations, match="the argument of a cas is"):
        decide(CAS_REGISTER, OperationTable.from_rows([cas]))
