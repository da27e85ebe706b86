"""Unique ids against the definition: a set of ids that have been given away.

Of the generated histories 38 % are violations (measured over 20,000).
"""

from functools import partial
from math import inf

import pytest
from hypothesis import note

from rumpus.checker.deciders.agreement.unique_ids import UNIQUE_IDS
from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.brute_force import Act, linearizable
from tests.checker.crosscheck import crosscheck
from tests.checker.forgetting import refuses_rightly


def generator(given, number):
    return [] if number in given else [given | {number}]


def acceptable(rows, forgotten=frozenset()):
    acts = [
        Act(-1, inf, (type(row["result"]), row["result"]), optional=True)
        if at in forgotten
        else Act(row["call"], row["returned"], (type(row["result"]), row["result"]))
        for at, row in enumerate(rows)
        if row["outcome"] == OK
    ]
    return linearizable(acts, frozenset(), generator)


def generate(rng):
    """Up to eight ids, of which there are sixteen, and of two types."""
    rows = []
    for process in range(rng.randint(2, 8)):
        call = rng.randint(0, 9)
        outcome = rng.choices((OK, INFO, FAIL), (8, 1, 1))[0]
        row = {"f": "generate", "process": process, "call": call, "outcome": outcome}
        row["returned"] = NEVER if outcome == INFO else call + rng.randint(0, 5)
        if outcome == OK:
            number = rng.randint(1, 8)
            row["result"] = number if rng.random() < 0.7 else str(number)
        rows.append(row)
    return sorted(rows, key=lambda row: row["call"])


def judge(rows):
    return decide(UNIQUE_IDS, OperationTable.from_rows(rows))


def agrees(rng):
    rows = generate(rng)
    note(rows)
    decision = judge(rows)
    return refuses_rightly(decision, len(rows), partial(acceptable, rows))


def test_agrees_with_the_definition():
    crosscheck(agrees)


def generated(process, call, result, **rest):
    row = {"f": "generate", "process": process, "call": call, "returned": call + 5}
    return {**row, "result": result, **rest}


def test_different_ids_stay_valid_and_one_given_twice_is_found():
    rows = [generated(at % 5, 10 * at, 3 * at) for at in range(1000)]
    assert judge(rows).valid is True
    rows[700]["result"] = rows[20]["result"]
    assert judge(rows).witness.operations == [20, 700]


def test_an_id_given_twice_is_told():
    decision = judge([generated(1, 10, "a"), generated(2, 12, "b"), generated(3, 20, "a")])
    assert decision.algorithm == "sorted ids"
    assert decision.witness.operations == [0, 2]
    assert decision.witness.description == (
        "process 1 and process 3 were both given the id 'a', by position 15 and by position 25"
    )


def test_ids_of_different_types_or_keys_are_different():
    assert judge([generated(1, 10, 1), generated(2, 20, "1"), generated(3, 30, True)]).valid is True
    rows = [generated(1, 10, 1, key="a"), generated(2, 20, 1, key="b")]
    assert judge(rows).valid is True
    assert judge([*rows, generated(3, 30, 1, key="b")]).witness.operations == [1, 2]


def test_an_answer_without_an_id_is_refused():
    with pytest.raises(WrongOperations, match="process 2 was acknowledged without an id"):
        judge([generated(1, 10, 1), generated(2, 20, None)])
