"""Tokens against the definition: a counter that every grant moves up.

Of the generated histories 44 % are violations (measured over 20,000).
"""

from functools import partial
from math import inf

import pytest
from hypothesis import note

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.locks.fencing_tokens import FENCING_TOKENS
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.brute_force import linearizable
from tests.checker.crosscheck import crosscheck, stay_valid
from tests.checker.deciders.register_histories import act
from tests.checker.forgetting import refuses_rightly


def counter(state, operation):
    """State: the largest token; who holds with which token, how often over."""
    largest, holds = state
    f, process, token = operation
    number, depth = dict(holds).get(process, (None, 0))

    def after(largest, hold):
        return [(largest, frozenset((dict(holds) | {process: hold}).items()))]

    if f == "release":
        return after(largest, (number, max(depth - 1, 0)))
    if depth and token == number:
        return after(largest, (number, depth + 1))
    return after(token, (token, 1)) if token > largest else []


def acceptable(rows, forgotten=frozenset()):
    acts = []
    for at, row in enumerate(rows):
        outcome = row.get("outcome", OK)
        if outcome == FAIL or (row["f"] == "acquire" and outcome == INFO):
            continue
        operation = (row["f"], row["process"], row.get("token"))
        acts.append(act(row, operation, forgotten=at in forgotten))
    return linearizable(acts, (-inf, frozenset()), counter)


def orderly(rng):
    """Up to nine operations of up to four processes, with tokens in the order of the grants."""
    rows = []
    for process in range(rng.randint(1, 4)):
        time = rng.randint(0, 12)
        holding = False
        for _ in range(rng.randint(2, 4)):
            f = "release" if holding and rng.random() < 0.7 else "acquire"
            outcome = rng.choices((OK, INFO, FAIL), (8, 1, 1))[0]
            returned = time + rng.randint(0, 5)
            rows.append({"f": f, "process": process, "call": time, "outcome": outcome})
            rows[-1]["returned"] = NEVER if outcome == INFO else returned
            if outcome == INFO:
                break
            if outcome == OK:
                holding = f == "acquire"
            time = returned + rng.randint(1, 4)
    rng.shuffle(rows)
    rows = sorted(rows[:9], key=lambda row: row["call"])
    in_order = sorted(grants(rows), key=lambda row: rng.uniform(row["call"], row["returned"]))
    for number, row in enumerate(in_order, start=1):
        row["token"] = number
    return rows


def grants(rows):
    return [row for row in rows if row["f"] == "acquire" and row.get("outcome", OK) == OK]


def generate(rng):
    """An orderly history, up to three of whose tokens are moved."""
    rows = orderly(rng)
    for _ in range(rng.choice((0, 1, 2, 3)) if grants(rows) else 0):
        row = rng.choice(grants(rows))
        row["token"] = max(1, row["token"] + rng.choice((-3, -2, -2, -1, 1, 2, 3)))
    return rows


def corrupt(rng, rows):
    """One thing is changed: a token lowered, given twice, or swapped; two returns swapped."""
    one, other = rng.sample(grants(rows), 2)
    kind = rng.choice(("lower", "twice", "swap", "returns"))
    if kind == "lower":
        one["token"] -= rng.randint(1, 3)
    elif kind == "twice":
        one["token"] = other["token"]
    elif kind == "swap":
        one["token"], other["token"] = other["token"], one["token"]
    elif one["returned"] >= other["call"] and other["returned"] >= one["call"]:
        one["returned"], other["returned"] = other["returned"], one["returned"]


def judge(rows):
    return decide(FENCING_TOKENS, OperationTable.from_rows(rows))


def agrees(rng):
    rows = generate(rng)
    note(rows)
    return is_refused_rightly(rows)


def is_refused_rightly(rows):
    decision = judge(rows)
    # Only where a process was given the same token again may the witness be larger.
    given = [(row["process"], row["token"]) for row in rows if "token" in row]
    alike = len(set(given)) < len(given)
    return refuses_rightly(decision, len(rows), partial(acceptable, rows), minimal=not alike)


def test_agrees_with_the_definition():
    crosscheck(agrees)


def test_orderly_histories_stay_valid():
    stay_valid(orderly, judge)


def test_a_single_corruption_is_found_when_the_definition_finds_it():
    def found(rng):
        rows = orderly(rng)
        if len(grants(rows)) > 1:
            corrupt(rng, rows)
        note(rows)
        return is_refused_rightly(rows)

    crosscheck(found)


def acquire(process, call, returned, **rest):
    return {"f": "acquire", "process": process, "call": call, "returned": returned, **rest}


def release(process, call, returned):
    return {"f": "release", "process": process, "call": call, "returned": returned}


def test_a_token_that_goes_back_is_told():
    second = 10**9
    rows = [
        acquire(3, 5 * second, 6 * second, token=34, session="0x1", node="/lock/n-1"),
        acquire(7, 6 * second + 1, 9 * second, token=33, session="0x2", node="/lock/n-2"),
    ]
    decision = judge(rows)
    assert decision.valid is False
    assert decision.algorithm == "token order"
    assert decision.witness.operations == [0, 1]
    assert decision.witness.description == (
        "process 3 was granted token 34 by 1.000000000 s, and process 7, which only called at "
        "1.000000001 s, was granted the lower token 33"
    )
    rows[1]["call"] = 6 * second
    assert judge(rows).valid is True


def test_a_token_given_to_two_is_told():
    decision = judge([acquire(1, 10, 30, result=5), acquire(2, 20, 25, result=5)])
    assert decision.witness.description == (
        "process 1 and process 2 were granted the same token 5, by position 30 and by position 25"
    )


def test_a_token_given_twice_to_one_is_told_unless_it_held_already():
    first, again = acquire(1, 10, 11, token=5), acquire(1, 30, 31, token=5)
    assert judge([first, again]).valid is True
    decision = judge([first, release(1, 20, 21), again])
    assert decision.witness.operations == [0, 1, 2]
    assert decision.witness.description == (
        "process 1 was granted token 5 twice, by position 11 and by position 31"
    )
    inner = [acquire(1, 15, 16, token=5), release(1, 18, 19)]
    assert judge([first, *inner, again]).valid is True
    assert judge([first, *inner, release(1, 20, 21), again]).valid is False


def test_grants_of_other_locks_are_not_compared():
    rows = [acquire(1, 10, 11, token=5, key="a"), acquire(2, 20, 21, token=4, key="b")]
    assert judge(rows).valid is True
    decision = judge([*rows, acquire(3, 30, 31, token=4, key="a")])
    assert decision.witness.operations == [0, 2]
    assert decision.witness.description.startswith("key 'a': process 1 was granted token 5 by")


def test_grants_without_tokens_say_nothing():
    decision = judge([acquire(1, 10, 11, node="/lock/n-1"), acquire(2, 20, 21, result=True)])
    assert decision.valid == "unknown"
    assert decision.unknown == ["no grant has a token"]
    mixed = judge([acquire(1, 10, 11, token=1), acquire(2, 20, 21)])
    assert mixed.unknown == ["some grants have no token"]
    assert judge([]).valid is True


def test_an_elections_epochs_and_odd_results_of_others_are_understood():
    rows = [
        {"f": "campaign", "process": 1, "call": 1, "returned": 2, "epoch": 9},
        {"f": "lead", "process": 1, "call": 3, "returned": 4, "result": "seven acts"},
        {"f": "resign", "process": 1, "call": 5, "returned": 6},
        {"f": "campaign", "process": 2, "call": 7, "returned": 8, "epoch": 8},
    ]
    assert judge(rows).witness.operations == [0, 3]


@pytest.mark.parametrize("token", ["33", 1.5, 2**63, True])
def test_tokens_that_are_no_integers_are_refused(token):
    with pytest.raises(WrongOperations, match="tokens must be integers of 64 bits"):
        judge([acquire(1, 10, 11, token=token)])
