"""Counters against the definition.

Of the generated histories with equal amounts 39 % are violations, with different ones 39 %
(measured over 20,000).
"""

from functools import partial

import pytest
from hypothesis import note

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.registers.counter import COUNTER
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.brute_force import linearizable
from tests.checker.crosscheck import corrupted, crosscheck, stay_valid
from tests.checker.deciders.register_histories import act, change_interval, spread
from tests.checker.forgetting import refuses_rightly


def counter(state, operation):
    f, number = operation
    if f == "read":
        return [state] if state == number else []
    return [state + number]


def amount(row):
    number = 1 if row.get("argument") is None else row["argument"]
    return -number if row["f"] == "decrement" else number


def acceptable(rows, initial=0, forgotten=frozenset()):
    acts = []
    for at, row in enumerate(rows):
        outcome = row.get("outcome", OK)
        if outcome == FAIL or (row["f"] == "read" and (outcome == INFO or at in forgotten)):
            continue
        operation = ("read", row["result"]) if row["f"] == "read" else ("add", amount(row))
        acts.append(act(row, operation, forgotten=at in forgotten))
    return linearizable(acts, initial, counter)


def orderly(rng, amounts, initial=0, most=8):
    rows = spread(rng, ("read", "read", "add", "add", "increment"), most)
    state = initial
    for row in sorted(rows, key=lambda row: rng.uniform(row["call"], row["returned"])):
        row["outcome"] = rng.choices((OK, INFO, FAIL), (8, 1.3, 0.7))[0]
        if row["f"] == "read":
            row["result"] = state if row["outcome"] == OK else None
        else:
            row["argument"] = rng.choice(amounts)
            if row["argument"] is not None and row["argument"] < 0 and rng.random() < 0.5:
                row["f"], row["argument"] = "decrement", -row["argument"]
            if row["outcome"] == OK or (row["outcome"] == INFO and rng.random() < 0.6):
                state += amount(row)
        if row["outcome"] == INFO:
            row["returned"] = NEVER
    return rows


def corrupt(rng, rows):
    """One thing is changed: a total moved or swapped with another; an interval moved or cut."""
    reads = [row for row in rows if row["f"] == "read" and row["outcome"] == OK]
    kind = rng.choice(("more", "less", "swap", "shrink", "move"))
    if kind in ("shrink", "move") or not reads:
        change_interval(rng, rows, shrink=kind == "shrink")
        return
    one, other = rng.choice(reads), rng.choice(reads)
    if kind == "swap":
        one["result"], other["result"] = other["result"], one["result"]
    else:
        one["result"] += rng.choice((1, 1, 2)) * (1 if kind == "more" else -1)


def judge(rows, initial=None):
    return decide(COUNTER, OperationTable.from_rows(rows), initial)


def is_refused_rightly(rows, initial=0):
    note(rows)
    decision = judge(rows, initial)
    return refuses_rightly(decision, len(rows), partial(acceptable, rows, initial))


EQUAL = ((1,), (None,), (1, None), (-1,), (3,), (1, 0))
MIXED = ((1, 2), (1, -1), (1, 2, 5), (1, 3, -2), (2, -1, 0))


def broken(rng, amounts):
    initial = rng.choice((0, 0, 7))
    rows = orderly(rng, rng.choice(amounts), initial)
    for _ in range(rng.choice((0, 1, 2, 3))):
        corrupt(rng, rows)
    return rows, initial


def test_equal_amounts_agree_with_the_definition():
    crosscheck(lambda rng: is_refused_rightly(*broken(rng, EQUAL)))


def test_different_amounts_agree_with_the_definition():
    crosscheck(lambda rng: is_refused_rightly(*broken(rng, MIXED)))


def test_orderly_histories_stay_valid():
    stay_valid(lambda rng: orderly(rng, rng.choice((*EQUAL, *MIXED)), most=40), judge)


def test_a_single_corruption_is_found_when_the_definition_finds_it():
    crosscheck(
        lambda rng: is_refused_rightly(
            corrupted(rng, orderly(rng, rng.choice((*EQUAL, *MIXED))), corrupt)
        )
    )


def add(call, returned, number=1, **rest):
    return {"f": "add", "process": 1, "call": call, "returned": returned, "argument": number} | rest


def read(process, call, returned, total, **rest):
    row = {"f": "read", "process": process, "call": call, "returned": returned}
    return row | {"result": total} | rest


def told(rows, operations, initial=None):
    decision = judge(rows, initial)
    assert decision.valid is False
    assert decision.witness.operations == operations
    return decision.witness.description


def test_a_read_of_too_much_is_told():
    rows = [add(0, 1), read(2, 2, 3, 2), add(4, 5)]
    assert told(rows, [1, 2]) == (
        "process 2 read 2 (called at position 2, returned at position 3), which is 2 additions, "
        "but at most 1 additions had been called by then"
    )
    assert judge([*rows[:2], rows[2] | {"call": 3}]).valid is True
    assert told(rows[:2], [1]).endswith("but 1 was added at most 1 times")
    assert judge(rows[:2], 1).valid is True


def test_a_read_of_too_little_is_told():
    rows = [add(0, 1), add(0, 2), read(2, 3, 4, 1)]
    assert told(rows, [0, 1, 2]) == (
        "process 2 read 1 (called at position 3, returned at position 4), which is 1 additions, "
        "but 2 had returned before that"
    )
    assert judge([add(0, 1), add(0, NEVER, outcome=INFO), rows[2]]).valid is True
    assert judge([add(0, 1), add(0, 2, outcome=FAIL), rows[2]]).valid is True
    assert judge([add(0, 1), add(0, 3), rows[2]]).valid is True


def test_a_read_that_went_back_is_told():
    rows = [add(0, 9), read(2, 1, 2, 1), read(3, 3, 4, 0)]
    assert told(rows, [1, 2]) == (
        "process 2 read 1 (called at position 1, returned at position 2), and then process 3 "
        "read 0 (called at position 3, returned at position 4), but nothing was ever taken away"
    )


def test_more_between_two_reads_than_they_differ_is_told():
    rows = [add(0, 50), add(0, 50), read(2, 1, 2, 1), add(3, 4), add(3, 5), read(3, 6, 7, 2)]
    assert told(rows, [2, 3, 4, 5]) == (
        "process 2 read 1 (called at position 1, returned at position 2) and process 3 read 2 "
        "(called at position 6, returned at position 7), but 2 additions lie between, and not 1"
    )


def test_what_no_multiple_is_cannot_be_read():
    assert told([add(0, 1, 5), read(2, 0, 1, 4)], [1]).endswith("nothing but 5 was ever added")


def test_bounds_refuse_long_histories_of_different_amounts():
    long = [add(2 * t, 2 * t + 1, 1 + t % 2) for t in range(2_000)]
    right = 3_000
    decision = judge([*long, read(2, 9_000, 9_001, right + 1)])
    assert (decision.algorithm, decision.witness.minimal) == ("bounds", False)
    assert decision.witness.description == (
        "process 2 read 3001 (called at position 9000, returned at position 9001), but by then "
        "it was at most 3000"
    )
    assert told([*long, read(2, 9_000, 9_001, right - 1)], list(range(2_001))).endswith(
        "it was at least 3000"
    )
    forth, back = read(2, 9_000, 9_009, 3_002), read(3, 9_010, 9_019, 3_000)
    assert told([*long, add(8_000, 9_500, 2), forth, back], [2001, 2002]).endswith(
        "but nothing was ever taken away"
    )
    pulled = [add(8_000, 9_500, 2), forth, back, add(9_000, 9_018, -2)]
    assert judge([*long, *pulled]).valid is True


@pytest.mark.parametrize("huge", [2**61, 2**62])
def test_huge_numbers_do_not_overflow(huge):
    rows = [add(0, 1, huge), add(2, 3, huge), add(4, 5, huge), read(2, 6, 7, 3 * huge)]
    assert judge(rows).valid is True
    assert judge([*rows[:3], read(2, 6, 7, 3 * huge + 1)]).valid is False


def test_a_bound_near_the_largest_does_not_overflow():
    rows = [add(0, 1, 1), add(2, 3, 2**62), read(2, 6, 7, 2**62 + 2)]
    assert judge(rows).valid is False


def test_a_counter_may_begin_with_a_fraction():
    assert judge([add(0, 1, 0.1), read(2, 2, 3, 0.3)], 0.2).valid is True
    assert judge([add(0, 1, 0.1), read(2, 2, 3, 0.4)], 0.2).valid is False


def test_fractions_are_counted():
    assert judge([add(0, 1, 0.5), read(2, 2, 3, 0.5)]).valid is True
    assert judge([add(0, 1, 0.5), read(2, 2, 3, 1)]).valid is False


@pytest.mark.parametrize(
    ("rows", "valid"),
    [
        ([add(0, 1, 0.1), add(2, 3, 0.2), read(2, 4, 5, 0.3)], True),
        ([add(0, 1, 0.1), add(2, 3, 0.2), read(2, 4, 5, 0.1 + 0.2)], "unknown"),
        ([add(0, 1, 0.1), add(2, 3, 0.2), read(2, 4, 5, 0.2)], False),
        ([add(0, 1, 1e16), add(2, 3, 1.0), read(2, 4, 5, 1e16)], "unknown"),
        ([add(0, 1, 1e16), add(2, 3, 1.0), read(2, 4, 5, 10**16 + 1)], True),
        (
            [add(0, 1, 2**53), add(2, 3, 1), add(4, 5, 0.5), add(6, 7, -0.5), read(2, 8, 9, 2**53)],
            "unknown",
        ),
    ],
)
def test_rounding_is_no_excuse_for_a_lost_addition(rows, valid):
    decision = judge(rows)
    assert decision.valid == valid
    assert (valid == "unknown") == ("whole numbers" in " ".join(decision.unknown))


@pytest.mark.parametrize(
    ("rows", "initial"),
    [
        ([add(0, 1, "two")], None),
        ([add(0, 1, True)], None),
        ([read(2, 0, 1, "two")], None),
        ([read(2, 0, 1, None)], None),
        ([read(2, 0, 1, 0)], "two"),
        ([add(0, 1, float("inf"))], None),
        ([read(2, 0, 1, float("nan"))], None),
    ],
)
def test_what_is_no_number_is_refused(rows, initial):
    with pytest.raises(WrongOperations, match="number"):
        judge(rows, initial)
