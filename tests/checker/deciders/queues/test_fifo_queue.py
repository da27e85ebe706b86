"""FIFO queues against the definition.

Of the generated histories 40 % are violations, of those with repeated values 38 % (measured over
20,000).
"""

import pytest

from rumpus.checker.deciders.operation_table import FAIL
from rumpus.checker.deciders.queues.fifo_queue import FIFO_QUEUE
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.crosscheck import corrupted, crosscheck, stay_valid
from tests.checker.deciders.queue_histories import (
    corrupt,
    dequeue,
    enqueue,
    fifo,
    judges,
    orderly,
    unknown,
)

judge, is_refused_rightly = judges(FIFO_QUEUE, fifo)


def broken(rng, corruptions=(0, 1, 2, 3, 4), **how):
    rows = orderly(rng, fifo, **how)
    return corrupted(rng, rows, corrupt, rng.choice(corruptions))


def test_agrees_with_the_definition():
    crosscheck(lambda rng: is_refused_rightly(broken(rng)))


def test_agrees_on_repeated_values():
    crosscheck(
        lambda rng: is_refused_rightly(broken(rng, distinct=False, corruptions=(1, 2, 3, 4))),
        normally=150,
    )


def test_orderly_histories_stay_valid():
    stay_valid(lambda rng: orderly(rng, fifo, most=40), judge)


def test_a_single_corruption_is_found_when_the_definition_finds_it():
    crosscheck(
        lambda rng: is_refused_rightly(corrupted(rng, orderly(rng, fifo), corrupt)),
        share=(0.2, 0.7),
    )


def told(rows, operations):
    decision = judge(rows)
    assert decision.valid is False
    assert decision.algorithm == "order of entry"
    assert decision.witness.operations == operations
    return decision.witness.description


TWO = [enqueue(1, 0, 2, 5), enqueue(2, 3, 4, 6)]


def test_one_that_was_overtaken_is_told():
    assert told([*TWO, dequeue(3, 5, 7, 6), dequeue(4, 8, 9, 5)], [0, 1, 2, 3]) == (
        "process 1's enqueue of 5 had returned at position 2 when process 2 called that of 6 at "
        "position 3, but 6 came out to process 3 by position 7, and 5 only to process 4, whose "
        "dequeue was called at position 8"
    )
    assert judge([*TWO, dequeue(3, 5, 7, 6), dequeue(4, 7, 9, 5)]).valid is True


def test_one_that_was_left_behind_is_told():
    assert told([*TWO, dequeue(3, 5, 7, 6)], [0, 1, 2]) == (
        "process 1's enqueue of 5 had returned at position 2 when process 2 called that of 6 at "
        "position 3, but 6 came out to process 3 by position 7, and 5 never did"
    )
    late = unknown(dequeue(4, 8, 9))
    assert told([*TWO, dequeue(3, 5, 7, 6), late], [0, 1, 2, 3]).endswith(
        "and 5 never did; no dequeue of unknown outcome had been called by then"
    )
    assert judge([*TWO, dequeue(3, 5, 7, 6), late | {"call": 7}]).valid is True
    before = enqueue(1, -3, -2, 4)
    assert told([before, *TWO, dequeue(3, 5, 7, 6), late | {"call": 7}], [0, 1, 2, 3]).endswith(
        "and 5 never did, nor did 1 more that went in before; by then only 1 dequeues of unknown "
        "outcome had been called"
    )


def test_what_comes_out_of_thin_air_is_told():
    assert told([dequeue(3, 5, 7, 6)], [0]) == (
        "6 came out once (process 3 by position 7), but nobody ever enqueued it"
    )
    assert told([enqueue(1, 0, 2, 6, outcome=FAIL), dequeue(3, 5, 7, 6)], [1]) == (
        "6 came out once (process 3 by position 7), but every enqueue of it had failed, as "
        "process 1 was told"
    )
    assert told([dequeue(3, 0, 2, 5), enqueue(1, 3, 4, 5)], [0, 1]) == (
        "5 came out once (process 3 by position 2), but it was not enqueued before process 1 "
        "called at position 3"
    )


def test_one_that_comes_out_twice_is_told():
    rows = [enqueue(1, 0, 2, 5), dequeue(2, 3, 4, 5), dequeue(3, 3, 6, 5)]
    assert told(rows, [1, 2]) == (
        "5 came out twice (process 2 by position 4 and process 3 by position 6), but it was "
        "enqueued once only"
    )
    rows = [enqueue(1, 0, 2, 5), dequeue(2, 3, 4, 5), dequeue(3, 3, 6, 5), enqueue(1, 7, 8, 5)]
    assert told(rows, [1, 2, 3]) == (
        "5 came out twice (process 2 by position 4 and process 3 by position 6), but by then at "
        "most once of its 2 enqueues had been called"
    )


def test_a_queue_found_empty_that_was_not_is_told():
    rows = [enqueue(1, 0, 2, "a"), dequeue(2, 3, 4), dequeue(3, 5, 6, "a")]
    assert told(rows, [0, 1, 2]) == (
        "process 2 found the queue empty between position 3 and position 4, but 'a' was in it "
        "from position 2 (process 1's enqueue had returned) to position 5 (process 3's dequeue "
        "had not been called)"
    )
    assert told(rows[:2], [0, 1]) == (
        "process 2 found the queue empty between position 3 and position 4, but 'a' (put in by "
        "process 1, acknowledged at position 2) never came out"
    )
    assert judge([*rows[:2], unknown(dequeue(4, 4, 9))]).valid is True
    assert told([*rows[:2], unknown(dequeue(4, 5, 9))], [0, 1, 2])


def test_elements_one_after_the_other_keep_the_queue_from_being_empty():
    rows = [
        enqueue(1, 0, 2, "a"),
        enqueue(1, 3, 5, "b"),
        dequeue(2, 4, 8),
        dequeue(3, 6, 7, "a"),
        dequeue(3, 9, 10, "b"),
    ]
    assert told(rows, [0, 1, 2, 3, 4])
    for changed in ({"call": 5}, {"call": 1}):
        assert judge([*rows[:3], rows[3] | changed, rows[4]]).valid is True


def test_a_value_put_in_again_is_decided_in_turn():
    again = [enqueue(1, 0, 1, 5), dequeue(2, 2, 3, 5), enqueue(1, 4, 5, 5), dequeue(2, 6, 7, 5)]
    assert judge(again).valid is True
    assert judge(again).algorithm == "order of entry"
    overlapping = [enqueue(1, 0, 9, 5), enqueue(2, 1, 2, 6), enqueue(3, 3, 4, 5)]
    rows = [*overlapping, dequeue(2, 20, 21, 6), dequeue(2, 22, 23, 5), dequeue(2, 24, 25, 6)]
    assert judge(rows).valid is False
    rows[-1]["result"] = 5
    assert judge(rows).valid is True


def test_a_failed_dequeue_took_nothing():
    rows = [enqueue(1, 0, 1, 5), dequeue(2, 2, 3, outcome=FAIL, refused=True)]
    assert judge([*rows, dequeue(2, 4, 5, 5)]).valid is True


def test_queues_are_judged_key_by_key():
    rows = [row | {"key": key} for key in "ab" for row in TWO]
    assert judge([*rows, dequeue(3, 5, 6, 6, key="b"), dequeue(3, 7, 8, 5, key="b")]).valid is False
    assert judge([*rows, dequeue(3, 5, 6, 5, key="b"), dequeue(3, 7, 8, 5, key="a")]).valid is True


def test_an_enqueue_without_a_value_is_refused():
    with pytest.raises(WrongOperations, match="enqueue needs a value"):
        judge([enqueue(1, 0, 1, None)])
