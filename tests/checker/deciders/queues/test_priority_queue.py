"""Priority queues against the definition.

Of the generated histories 40 % are violations, of those with repeated values 38 % (measured over
20,000).
"""

import pytest

from rumpus.checker.deciders.queues.priority_queue import PRIORITY_QUEUE
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.crosscheck import corrupted, crosscheck, stay_valid
from tests.checker.deciders.queue_histories import (
    corrupt,
    dequeue,
    enqueue,
    judges,
    orderly,
    unknown,
    urgent,
)

judge, is_refused_rightly = judges(PRIORITY_QUEUE, urgent)


def broken(rng, corruptions=(0, 1, 2, 3, 4), **how):
    rows = orderly(rng, urgent, priorities=rng.choice((None, 2, 3, 9)), **how)
    return corrupted(rng, rows, corrupt, rng.choice(corruptions))


def test_agrees_with_the_definition():
    crosscheck(lambda rng: is_refused_rightly(broken(rng)))


def test_agrees_on_repeated_values():
    more = (1, 2, 3, 4)
    crosscheck(
        lambda rng: is_refused_rightly(broken(rng, distinct=False, corruptions=more)), normally=150
    )


def test_orderly_histories_stay_valid():
    stay_valid(
        lambda rng: orderly(rng, urgent, most=40, priorities=rng.choice((None, 2, 3, 9))), judge
    )


def test_a_single_corruption_is_found_when_the_definition_finds_it():
    def found(rng):
        return is_refused_rightly(broken(rng, corruptions=(1,)))

    crosscheck(found, share=(0.2, 0.7))


def told(rows, operations):
    decision = judge(rows)
    assert decision.valid is False
    assert decision.algorithm == "by urgency"
    assert decision.witness.operations == operations
    return decision.witness.description


def test_one_that_came_out_before_a_more_urgent_one_is_told():
    rows = [enqueue(1, 0, 1, 7), enqueue(1, 2, 3, 3), dequeue(2, 4, 6, 7), dequeue(3, 7, 8, 3)]
    assert told(rows, [1, 2, 3]) == (
        "7 (priority 7) came out to process 2 between position 4 and position 6, but 3 (priority "
        "3) was inside from position 3 to position 7"
    )
    assert told(rows[:3], [1, 2]).endswith("3 (priority 3) was inside from position 3 on")
    assert judge([*rows[:3], rows[3] | {"call": 6}]).valid is True
    assert judge([*rows[:3], unknown(dequeue(3, 6, 9))]).valid is True
    assert told([*rows[:3], unknown(dequeue(3, 7, 9))], [1, 2, 3])


def test_one_that_had_to_wait_for_several_is_told():
    rows = [
        enqueue(1, 0, 1, 9),
        enqueue(1, 2, 3, 1),
        enqueue(1, 4, 6, 2),
        dequeue(2, 5, 9, 9),
        dequeue(3, 7, 8, 1),
        dequeue(3, 10, 11, 2),
    ]
    assert told(rows, [1, 2, 3, 4, 5]).endswith(
        "but 1 (priority 1) was inside from position 3 to position 7 and 2 (priority 2) was "
        "inside from position 6 to position 10"
    )
    assert judge([*rows[:4], rows[4] | {"call": 5}, rows[5]]).valid is True


def test_more_urgent_ones_than_unknown_dequeues_can_have_taken_are_told():
    rows = [enqueue(1, 0, 1, 2), enqueue(2, 0, 1, 1), enqueue(3, 0, 1, 7), dequeue(2, 4, 6, 7)]
    assert told([*rows, unknown(dequeue(3, 4, 9))], [0, 1, 3]) == (
        "process 2 took 7 (priority 7) between position 4 and position 6, but 2 (put in by "
        "process 1, acknowledged at position 1), 1 (put in by process 2, acknowledged at position "
        "1) never came out, and at most 1 of them can have been taken by dequeues of unknown "
        "outcome"
    )
    assert judge([*rows, *[unknown(dequeue(p, 2, 9)) for p in (3, 4)]]).valid is True


def test_equals_leave_in_order_of_arrival():
    first = enqueue(1, 0, 1, "a", priority=5)
    second = enqueue(2, 2, 3, "b", priority=5)
    rows = [first, second, dequeue(3, 4, 6, "b"), dequeue(4, 7, 8, "a")]
    assert told(rows, [0, 1, 2, 3]) == (
        "process 1's enqueue of 'a' (priority 5) had returned at position 1 when process 2 called "
        "that of its equal 'b' at position 2, but 'b' came out by position 6, and the other only "
        "to a dequeue called at position 7"
    )
    assert told(rows[:3], [0, 1, 2]).endswith("and the other never did")
    assert judge([first, second | {"call": 1}, *rows[2:]]).valid is True
    assert judge([first, second | {"priority": 4}, *rows[2:]]).valid is True


def test_an_equal_that_waits_for_a_more_urgent_one_is_overtaken():
    rows = [
        enqueue(1, 0, 1, "a", priority=5),
        enqueue(2, 2, 3, "b", priority=5),
        enqueue(3, 2, 3, "urgent", priority=1),
        dequeue(4, 0, 7, "b"),
        dequeue(5, 5, 20, "a"),
        dequeue(6, 8, 20, "urgent"),
    ]
    assert judge([*rows[:2], *rows[3:5]]).valid is True
    assert judge(rows).valid is False


def test_one_that_cannot_come_out_is_shown_rather_than_that_it_overtook_an_equal():
    rows = [
        enqueue(1, 0, 1, "a", priority=3),
        enqueue(2, 0, 5, "urgent", priority=1),
        dequeue(3, 9, 10, "b"),
        enqueue(4, 10, 11, "b", priority=3),
        dequeue(5, 10, 14, "a"),
        dequeue(6, 13, 15, "urgent"),
    ]
    assert "came out to process 3" in told(rows, [1, 2, 5])


def test_another_priority_coming_out_is_told():
    rows = [enqueue(1, 0, 1, "a", priority=5), dequeue(2, 2, 3, "a", priority=6)]
    assert told(rows, [0, 1]) == (
        "'a' came out to process 2 with priority 6, but process 1 enqueued it with 5"
    )
    rows[1]["priority"] = 5
    assert judge(rows).valid is True


@pytest.mark.parametrize(
    "wrong",
    [
        enqueue(1, 0, 1, "a"),
        enqueue(1, 0, 1, "a", priority="high"),
        enqueue(1, 0, 1, 2**63),
        enqueue(1, 0, 1, "a", priority=2**63),
    ],
)
def test_a_priority_is_an_integer(wrong):
    with pytest.raises(WrongOperations, match="priorit"):
        judge([wrong])
