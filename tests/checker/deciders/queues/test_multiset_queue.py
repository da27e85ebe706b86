"""Queues without an order against the definition.

Of the generated histories 44 % are violations, of those with repeated values 37 % (measured over
20,000).
"""

from functools import partial

import pytest
from hypothesis import note

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.queues.multiset_queue import MULTISET_QUEUE
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.crosscheck import corrupted, crosscheck, stay_valid
from tests.checker.deciders.queue_histories import (
    acceptable,
    bag,
    corrupt,
    enqueue,
    orderly,
    take,
    unknown,
)
from tests.checker.forgetting import refuses_rightly


def judge(rows):
    return decide(MULTISET_QUEUE, OperationTable.from_rows(rows))


def is_refused_rightly(rows, *, exact=True):
    note(rows)
    decision = judge(rows)
    if decision.valid == "unknown" and not exact:
        return not acceptable(rows, bag)
    return refuses_rightly(decision, len(rows), partial(acceptable, rows, bag), minimal=exact)


def broken(rng, **how):
    rows = orderly(rng, bag, drains=rng.random() < 0.5, most=6, **how)
    return corrupted(rng, rows, corrupt, rng.choice((0, 1, 2, 3, 4, 5, 6)))


def test_agrees_with_the_definition():
    crosscheck(lambda rng: is_refused_rightly(broken(rng)))


def test_agrees_on_repeated_values():
    crosscheck(lambda rng: is_refused_rightly(broken(rng, distinct=False), exact=False))


def test_orderly_histories_stay_valid():
    stay_valid(lambda rng: orderly(rng, bag, most=40, drains=True), judge)


def test_a_single_corruption_is_found_when_the_definition_finds_it():
    crosscheck(
        lambda rng: is_refused_rightly(
            corrupted(rng, orderly(rng, bag, drains=True, most=6), corrupt)
        ),
        share=(0.2, 0.7),
    )


def told(rows, operations):
    decision = judge(rows)
    assert decision.valid is False
    assert decision.witness.operations == operations
    return decision.witness.description


def test_what_a_drain_does_not_find_is_lost():
    rows = [enqueue(1, 0, 1, "a"), enqueue(2, 0, 2, "b"), take("drain", 1, 3, 9, ["b"])]
    assert told(rows, [0, 2]) == (
        "process 1 found the queue empty between position 3 and position 9, but 'a' (put in by "
        "process 1, acknowledged at position 1) never came out"
    )
    assert judge([*rows[:2], take("drain", 1, 3, 9, ["b", "a"])]).valid is True
    assert judge([unknown(rows[0]), *rows[1:]]).valid is True
    assert judge(rows[:2]).valid is True


@pytest.mark.parametrize("f", ["dequeue", "drain"])
def test_what_an_unknown_dequeue_may_have_taken_is_not_lost(f):
    rows = [enqueue(1, 0, 1, "a"), enqueue(2, 0, 2, "b"), take("drain", 1, 3, 9, ["b"])]
    assert judge([*rows, unknown(take(f, 3, 9, 0))]).valid is True
    assert judge([*rows, unknown(take(f, 3, 10, 0))]).valid is False
    two_lost = [*rows[:2], take("drain", 1, 3, 9), unknown(take(f, 3, 4, 0))]
    assert judge(two_lost).valid is (f == "drain")
    if f == "dequeue":
        assert told(two_lost, [0, 1, 2]).endswith(
            "and at most 1 of them can have been taken by dequeues of unknown outcome"
        )


def test_what_comes_out_twice_or_from_nowhere_is_told():
    rows = [enqueue(1, 0, 1, "a"), take("dequeue", 2, 2, 3, "a"), take("drain", 1, 4, 5, ["a"])]
    assert "'a' came out twice" in told(rows, [1, 2])
    assert "nobody ever enqueued it" in told([take("drain", 1, 4, 5, ["a"])], [0])
    assert "'a' came out twice" in told([rows[0], take("drain", 1, 4, 5, ["a", "a"])], [1])
    assert "nobody ever enqueued it" in told([*rows[:1], take("drain", 1, 4, 5, ["a", None])], [1])


def test_the_order_does_not_matter():
    rows = [enqueue(1, 0, 1, 5), enqueue(1, 2, 3, 6), take("dequeue", 1, 4, 5, 6)]
    assert judge([*rows, take("dequeue", 1, 6, 7, 5)]).valid is True


def test_values_that_repeat_are_counted():
    rows = [enqueue(1, 0, 9, 5), enqueue(2, 0, 9, 5), take("drain", 1, 10, 11, [5, 5])]
    assert judge(rows).valid is True
    assert judge([*rows, take("dequeue", 1, 12, 13, 5)]).valid is False
    assert judge([*rows[:2], take("drain", 1, 10, 11, [5])]).valid is False


def test_a_drain_answers_a_list():
    with pytest.raises(WrongOperations, match="a drain answers the list of what came out, not 5"):
        judge([take("drain", 1, 0, 1, 5)])
