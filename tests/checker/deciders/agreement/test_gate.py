"""The gate against the definition: a bit, and waits that see it cleared.

Of the generated histories 54 % are violations (measured over 3,000).
"""

from functools import partial
from math import inf

import pytest
from hypothesis import note

from rumpus.checker.deciders.agreement.gate import GATE
from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.brute_force import Act, linearizable
from tests.checker.crosscheck import crosscheck
from tests.checker.forgetting import refuses_rightly


def gate(there, operation):
    f, result = operation
    if f == "create":
        return [True]
    if f == "remove":
        return [] if result is (not there) else [False]
    return [] if there and result is not False else [there]


def acceptable(there, rows, forgotten=frozenset()):
    acts = []
    for at, row in enumerate(rows):
        if row["outcome"] == FAIL:
            continue
        known = at not in forgotten
        result = row.get("result") if known else None
        if not known:
            acts.append(Act(-1, inf, (row["f"], result), optional=True))
        elif row["outcome"] == INFO:
            acts.append(Act(row["call"], inf, (row["f"], None), optional=True))
        else:
            acts.append(Act(row["call"], row["returned"], (row["f"], result)))
    return linearizable(acts, there, gate)


def generate(rng):
    """A gate that is set up and removed by one client, or by two; and some who wait."""
    rows = []
    writers = rng.choice((1, 1, 2))
    for process in range(writers):
        time = rng.randint(0, 4)
        f = "create"
        for _ in range(rng.randint(1, 4 // writers)):
            row = {"f": f, "process": process, "call": time, "outcome": OK}
            row["returned"] = time + rng.randint(0, 3)
            if f == "remove":
                row["result"] = rng.choice((True, True, False, None))
            time = row["returned"] + rng.randint(1, 5)
            draw = rng.random()
            rows.append(row)
            if draw < 0.08:
                row |= {"outcome": INFO, "returned": NEVER, "result": None}
                break
            if draw < 0.12:
                row |= {"outcome": FAIL, "result": None}
            elif rng.random() < 0.9:
                f = "remove" if f == "create" else "create"
    for process in range(rng.randint(1, 4)):
        call = rng.randint(0, 16)
        row = {"f": "wait", "process": 10 + process, "call": call, "outcome": OK}
        row["returned"] = call + rng.randint(0, 3)
        row["result"] = rng.choice((True, True, None, False, 0))
        if rng.random() < 0.08:
            row |= {"outcome": INFO, "returned": NEVER, "result": None}
        rows.append(row)
    return sorted(rows, key=lambda row: row["call"])


def judge(rows, there=None):
    return decide(GATE, OperationTable.from_rows(rows), there)


def test_agrees_with_the_definition():
    def agrees(rng):
        there = rng.random() < 0.2
        rows = generate(rng)
        note((there, rows))
        decision = judge(rows, there)
        note(f"{decision}")
        return refuses_rightly(decision, len(rows), partial(acceptable, there, rows))

    crosscheck(agrees)


def operation(f, process, call, returned, **rest):
    return {"f": f, "process": process, "call": call, "returned": returned, **rest}


@pytest.mark.parametrize("answer", [0, 0.0])
def test_nothing_but_false_says_that_time_ran_out(answer):
    rows = [
        operation("create", 1, 0, 3),
        operation("create", 2, 1, 4),
        operation("wait", 3, 5, 6, result=answer),
    ]
    assert judge(rows).valid is False


def test_who_passes_a_gate_that_is_there_is_told():
    rows = [operation("create", 1, 0, 2), operation("wait", 2, 3, 5), operation("remove", 1, 6, 8)]
    decision = judge(rows)
    assert decision.algorithm == "spans of the gate"
    assert decision.witness.operations == [0, 1, 2]
    assert decision.witness.description == (
        "process 2 passed between position 3 and position 5, when the gate was there: create of "
        "process 1 had returned at position 2; process 1 called remove at position 6 only"
    )
    assert judge([rows[0], rows[1], operation("remove", 1, 5, 8)]).valid is True
    assert judge([operation("create", 1, 0, 3), rows[1], rows[2]]).valid is True
    lone = judge(rows[1:2], True)
    assert lone.witness.description.endswith(
        "nobody had created or removed it before; nobody removed it afterwards"
    )
    assert judge([{**rows[1], "result": False}], True).valid is True


def test_who_says_it_removed_nothing_is_told():
    decision = judge([operation("create", 1, 0, 2), operation("remove", 1, 3, 4, result=True)])
    assert decision.valid is True
    decision = judge([operation("remove", 1, 3, 4, result=True)])
    assert decision.witness.description == (
        "process 1 says at position 4 that it removed the gate, and nobody had created or removed "
        "it before"
    )


def test_who_says_that_there_was_nothing_to_remove_is_told():
    create = operation("create", 1, 0, 2)
    decision = judge([create, operation("remove", 2, 3, 4, result=False)])
    assert decision.witness.description == (
        "process 2 says at position 4 that there was no gate to remove, and create of process 1 "
        "had returned at position 2"
    )
    assert judge([create, operation("remove", 2, 2, 4, result=False)]).valid is True
    twice = [operation("remove", 2, 3, 4), operation("remove", 3, 5, 6, result=False)]
    assert judge([create, *twice]).valid is True
    assert judge([operation("remove", 3, 5, 6, result=False)]).valid is True
    assert judge([operation("remove", 3, 5, 6, result=False)], True).valid is False
    waits = [*twice[1:], operation("wait", 1, 7, 8)]
    assert judge([create, *waits]).valid is False


def test_overlapping_writes_are_searched():
    rows = [operation("create", 1, 0, 5), operation("remove", 2, 3, 8)]
    decision = judge([*rows, operation("wait", 3, 9, 10)])
    assert decision.valid is True
    assert decision.algorithm == "windowed search"


def test_a_long_history():
    rows = []
    for at in range(600):
        rows += [operation("create", 1, 10 * at, 10 * at + 1)]
        rows += [operation("remove", 1, 10 * at + 5, 10 * at + 6, result=True)]
        rows += [operation("wait", 2 + at % 5, 10 * at + 3, 10 * at + 7)]
    assert judge(rows).valid is True
    rows[-1]["returned"] -= 3
    decision = judge(rows)
    assert decision.valid is False
    assert decision.witness.minimal is False
    assert {rows[at]["f"] for at in decision.witness.operations} == {"create", "wait", "remove"}


def test_what_is_there_at_first_is_true_or_false():
    with pytest.raises(WrongOperations, match="'open' is neither"):
        judge([operation("wait", 1, 0, 1)], "open")
