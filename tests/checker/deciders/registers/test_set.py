"""Sets against the definition.

Of the generated histories without removals 41 % are violations, of those with removals 36 %
(measured over 20,000).
"""

from functools import partial

import pytest
from hypothesis import note

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.registers.set import SET
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.brute_force import linearizable
from tests.checker.crosscheck import corrupted, crosscheck, stay_valid
from tests.checker.deciders.register_histories import act, change_interval, spread
from tests.checker.forgetting import refuses_rightly


def values(state, operation):
    f, value, result = operation
    if f == "read":
        return [state] if sorted(state) == sorted(result) else []
    if f == "contains":
        return [state] if (value in state) == result else []
    return [state | {value} if f == "add" else state - {value}]


def acceptable(rows, initial=(), forgotten=frozenset()):
    acts = []
    for at, row in enumerate(rows):
        outcome = row.get("outcome", OK)
        observes = row["f"] in ("read", "contains")
        if outcome == FAIL or (observes and (outcome == INFO or at in forgotten)):
            continue
        operation = (row["f"], row.get("argument"), row.get("result"))
        acts.append(act(row, operation, forgotten=at in forgotten))
    return linearizable(acts, frozenset(initial), values)


def orderly(rng, functions, initial=(), most=8):
    rows = spread(rng, functions, most)
    state = frozenset(initial)
    for row in sorted(rows, key=lambda row: rng.uniform(row["call"], row["returned"])):
        row["outcome"] = rng.choices((OK, INFO, FAIL), (8, 1.3, 0.7))[0]
        if row["f"] != "read":
            row["argument"] = rng.randint(1, 4)
        if row["f"] in ("add", "remove"):
            if row["outcome"] == OK or (row["outcome"] == INFO and rng.random() < 0.6):
                [state] = values(state, (row["f"], row["argument"], None))
        elif row["outcome"] == OK:
            listed = row["f"] == "read"
            row["result"] = sorted(state) if listed else row["argument"] in state
        if row["outcome"] == INFO:
            row["returned"] = NEVER
    return rows


def corrupt(rng, rows):
    """One thing is changed: a value lost or made up, an answer turned, an interval moved or cut."""
    answered = [row for row in rows if row.get("result") is not None]
    kind = rng.choice(("lose", "make up", "answer", "shrink", "move"))
    if kind in ("shrink", "move") or not answered:
        change_interval(rng, rows, shrink=kind == "shrink")
        return
    row = rng.choice(answered)
    if row["f"] == "contains":
        row["result"] = not row["result"]
    elif kind == "lose" and row["result"]:
        row["result"] = [value for value in row["result"] if value != row["result"][0]]
    else:
        row["result"] = [*row["result"], rng.randint(1, 4)]


def judge(rows, initial=None):
    return decide(SET, OperationTable.from_rows(rows), initial)


def is_refused_rightly(rows, initial=()):
    note(rows)
    decision = judge(rows, initial)
    return refuses_rightly(decision, len(rows), partial(acceptable, rows, initial))


GROWING = ("add", "add", "read", "contains")
CHANGING = (("add", "add", "remove", "contains", "contains"), ("add", "remove", "contains", "read"))


def broken(rng, functions):
    initial = rng.choice(((), (), (1,), (2, 3)))
    rows = orderly(rng, functions, initial)
    for _ in range(rng.choice((0, 0, 1, 2, 3))):
        corrupt(rng, rows)
    return rows, initial


def test_growing_sets_agree_with_the_definition():
    crosscheck(lambda rng: is_refused_rightly(*broken(rng, GROWING)))


def test_changing_sets_agree_with_the_definition():
    crosscheck(lambda rng: is_refused_rightly(*broken(rng, rng.choice(CHANGING))))


def test_orderly_histories_stay_valid():
    stay_valid(lambda rng: orderly(rng, rng.choice((GROWING, *CHANGING)), most=40), judge)


def test_a_single_corruption_is_found_when_the_definition_finds_it():
    crosscheck(lambda rng: is_refused_rightly(corrupted(rng, orderly(rng, GROWING), corrupt)))


def add(process, call, returned, value, **rest):
    row = {"f": "add", "process": process, "call": call, "returned": returned}
    return row | {"argument": value} | rest


def contains(process, call, returned, value, answer):
    row = {"f": "contains", "process": process, "call": call, "returned": returned}
    return row | {"argument": value, "result": answer}


def read(process, call, returned, *listed):
    row = {"f": "read", "process": process, "call": call, "returned": returned}
    return row | {"result": list(listed)}


def told(rows, operations, initial=None):
    decision = judge(rows, initial)
    assert decision.valid is False
    assert decision.algorithm == "first additions"
    assert decision.witness.operations == operations
    return decision.witness.description


def test_a_value_that_was_lost_is_told():
    rows = [add(1, 0, 1, "a"), add(2, 0, 5, "b"), read(3, 2, 3)]
    assert told(rows, [0, 2]) == (
        "process 1's add of 'a' had returned at position 1, but process 3 read the set (called "
        "at position 2, returned at position 3) without it"
    )
    assert told([rows[0], contains(3, 2, 3, "a", False)], [0, 1]) == (
        "process 1's add of 'a' had returned at position 1, but process 3, who asked at position "
        "2, found 'a' missing"
    )
    assert judge([add(1, 0, NEVER, "a", outcome=INFO), *rows[1:]]).valid is True
    assert judge([add(1, 0, 1, "a", outcome=FAIL), *rows[1:]]).valid is True


def test_a_value_that_nobody_added_is_told():
    assert told([read(3, 2, 3, 5)], [0]) == (
        "process 3 read the set with 5, but nobody ever added that"
    )
    assert told([contains(3, 2, 3, 5, True)], [0]) == (
        "process 3 found 5 in the set by position 3, but nobody ever added 5"
    )
    assert told([read(3, 2, 3, 5), add(1, 4, 5, 5)], [0, 1]) == (
        "process 3 read the set (called at position 2, returned at position 3) with 5, but no "
        "add of 5 was called before position 4"
    )
    assert judge([read(3, 2, 3, 5)], [5]).valid is True
    assert told([read(3, 2, 3)], [0], [5]).endswith("which was in it from the beginning")
    assert told([contains(3, 2, 3, 5, False)], [0], [5]) == (
        "5 was in the set from the beginning, but process 3, who asked at position 2, found 5 "
        "missing"
    )


def test_a_value_that_is_listed_twice_is_told():
    assert told([add(1, 0, 1, 5), read(3, 2, 3, 5, 5)], [1]) == (
        "process 3 read the set with 5 twice"
    )


ADDS = [add(1, 0, 90, 1), add(2, 0, 90, 2)]


def test_reads_that_contradict_each_other_are_told():
    rows = [*ADDS, read(3, 5, 9, 1), read(4, 5, 9, 2)]
    assert told(rows, [2, 3]) == (
        "process 3 read the set (called at position 5, returned at position 9) with 1 and "
        "without 2, and process 4 read the set (called at position 5, returned at position 9) "
        "with 2 and without 1"
    )
    assert told([*ADDS, read(3, 5, 6, 1, 2), read(4, 7, 9, 1)], [2, 3]) == (
        "process 3 read the set (called at position 5, returned at position 6) with 2, and then "
        "process 4 read the set (called at position 7, returned at position 9) without it"
    )
    assert judge([*ADDS, read(3, 5, 7, 1, 2), read(4, 7, 9, 1)]).valid is True


def test_a_read_that_turns_the_order_of_additions_is_told():
    rows = [read(3, 0, 9, "late"), add(1, 1, 2, "early"), add(2, 3, 4, "late")]
    assert told(rows, [0, 1, 2]) == (
        "process 1's add of 'early' had returned at position 2, and no add of 'late' was called "
        "before position 3, but process 3 read the set (called at position 0, returned at "
        "position 9) with 'late' and without 'early'"
    )
    assert judge([rows[0], rows[1], rows[2] | {"call": 2}]).valid is True


def test_what_is_removed_is_searched():
    rows = [add(1, 0, 1, 5), {**add(1, 2, 3, 5), "f": "remove"}, contains(1, 4, 5, 5, True)]
    decision = judge(rows)
    assert (decision.valid, decision.algorithm) == (False, "windowed search")
    assert judge([*rows[:2], contains(1, 4, 5, 5, False), read(1, 6, 7)]).valid is True


@pytest.mark.parametrize(
    "wrong", [add(1, 0, 1, None), contains(1, 0, 1, 5, "yes"), read(1, 0, 1) | {"result": 5}]
)
def test_malformed_operations_are_refused(wrong):
    with pytest.raises(WrongOperations):
        judge([wrong])
