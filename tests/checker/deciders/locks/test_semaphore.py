"""The semaphore against its definition: 51 % of the generated histories are violations."""

import pytest

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.locks.holds_table import Nesting
from rumpus.checker.deciders.operation_table import INFO, NEVER, OperationTable
from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.crosscheck import crosscheck
from tests.checker.deciders.lock_definition import agrees, generate, moved, orderly

SEMAPHORE = MODELS["semaphore"]


def compared(table, permits):
    return agrees(
        SEMAPHORE,
        table,
        Nesting.COUNTED,
        permits,
        weight=lambda row: table.argument[row] or 1,
        initial=permits,
    )


def test_agrees_with_the_definition():
    opens = []

    def semaphore(rng):
        permits = rng.randint(1, 3)
        several = rng.random() < 0.5

        def argument(f, last, rng):
            if f == "release" and last is not None and rng.random() < 0.9:
                return last
            return rng.randint(1, permits) if several else None

        nests = rng.choice([0, 0.15])
        size = rng.randint(4, 7)
        table = generate(rng, size=size, shares=(0.12, 0.05), nests=nests, arguments=argument)
        violation, decision = compared(table, permits)
        opens.append(decision.valid == "unknown")
        return violation

    crosscheck(semaphore)
    assert not any(opens)


def test_orderly_histories_are_valid():
    def valid(rng):
        permits = rng.randint(1, 4)
        table = orderly(rng, size=60, permits=permits)
        assert decide(SEMAPHORE, table, permits).valid is True
        return False

    crosscheck(valid, share=(0, 0))


def test_a_hold_moved_over_others_is_found():
    def corrupted(rng):
        permits = rng.randint(1, 2)
        return compared(moved(rng, orderly(rng, size=8, permits=permits)), permits)[0]

    crosscheck(corrupted, share=(0.1, 0.7))


def history(*rows):
    names = ("process", "f", "call", "returned", "argument")
    return OperationTable.from_rows([dict(zip(names, row, strict=False)) for row in rows])


def told(table, permits):
    decision = decide(SEMAPHORE, table, permits)
    assert decision.valid is False
    assert decision.witness.minimal
    return decision.witness.operations, decision.witness.description


def test_more_permits_than_there_are():
    table = history(
        (0, "acquire", 0, 2, 2),
        (1, "acquire", 0, 4, 1),
        (2, "acquire", 0, 5),
        (1, "release", 6, 7),
        (0, "release", 8, 9, 2),
    )
    assert told(table, 2) == (
        [0, 3, 4],
        (
            "3 permits were held of 2 between position 4 and position 6: process 0 (2 permits) "
            "from the return of its acquire at position 2 to the call of its release at position "
            "8; process 1 (1 permit) from the return of its acquire at position 4 to the call of "
            "its release at position 6"
        ),
    )
    assert told(table, 3)[0] == [0, 2, 3, 4]
    assert decide(SEMAPHORE, table, 4).valid is True


@pytest.mark.parametrize("returned", [2, 3])
def test_more_than_all_permits_are_too_many_beside_whatever_else_there_was(returned):
    alone = [(1, "acquire", 5, 6, 1000)]
    assert decide(SEMAPHORE, history(*alone), 5).valid is False
    before = [(0, "acquire", 1, 2, 1), (0, "release", returned, 4, 1)]
    assert decide(SEMAPHORE, history(*before, *alone), 5).valid is False
    itself = [(0, "acquire", 1, 2, 2), (0, "release", 2, 4, 2)]
    assert decide(SEMAPHORE, history(*itself), 1).valid is False


def test_part_of_what_is_held_can_be_released():
    rows = [(0, "acquire", 0, 1, 3), (0, "release", 2, 3, 2), (1, "acquire", 3, 4, 2)]
    assert decide(SEMAPHORE, history(*rows), 3).valid is True
    assert told(history(*rows[:1], rows[2]), 3)[0] == [0, 1]
    assert told(history(*rows[:2], (0, "release", 5, 6, 2)), 3) == (
        [1, 2],
        (
            "process 0's release at position 5 was acknowledged, and it held nothing, or not so "
            "much, after its release answered at position 3"
        ),
    )


def test_a_cleanup_of_several_permits_needs_room_for_all_of_them():
    rows = [
        {"f": "acquire", "process": 0, "call": 0, "outcome": INFO, "argument": 2},
        {"f": "release", "process": 0, "call": 3, "returned": 4, "argument": 2},
        {"f": "acquire", "process": 1, "call": 0, "returned": 1},
        {"f": "release", "process": 1, "call": 6, "returned": 7},
    ]
    table = OperationTable.from_rows(rows)
    assert table.returned[0] == NEVER
    assert decide(SEMAPHORE, table, 3).valid is True
    assert told(table, 2)[0] == [1, 2, 3]


def test_the_field_permits_counts_too():
    rows = [{"f": "acquire", "call": at, "returned": at + 1, "permits": 2} for at in (0, 5)]
    assert decide(SEMAPHORE, OperationTable.from_rows(rows), 4).valid is True
    assert told(OperationTable.from_rows(rows), 3)[0] == [0, 1]


def test_many_holders_are_told_in_short():
    table = history(*((at, "acquire", 0, at + 1) for at in range(40)))
    rows, words = told(table, 39)
    assert len(rows) == 40
    assert words.startswith("40 permits were held of 39 from position 40 on: process 0 (1 permit)")
    assert words.endswith("; and 34 more")


@pytest.mark.parametrize("permits", [None, 0, -1, "3", True, 1.5, 2**31])
def test_the_number_of_permits_must_be_given(permits):
    with pytest.raises(WrongOperations, match="number of permits as the initial value"):
        decide(SEMAPHORE, history((0, "acquire", 0, 1)), permits)


@pytest.mark.parametrize(("wrong", "why"), [(0, "must be positive"), ("two", "'two' is not")])
def test_wrong_numbers_of_permits(wrong, why):
    with pytest.raises(WrongOperations, match=why):
        decide(SEMAPHORE, history((0, "acquire", 0, 1, wrong)), 3)


def test_numbers_of_permits_whose_sum_overflows():
    rows = [{"f": "acquire", "call": at, "permits": 2**62} for at in range(4)]
    table = OperationTable.from_rows([*rows, {"f": "release", "call": 9, "process": 0}])
    assert decide(SEMAPHORE, table, 2**31 - 1).valid is False
    maybe = OperationTable.from_rows(row | {"outcome": INFO} for row in rows)
    assert decide(SEMAPHORE, maybe, 3).valid is True


def test_what_is_released_in_part_at_its_very_acquire_is_not_guessed():
    rows = [
        {"f": "acquire", "process": 1, "call": 0, "returned": 1, "permits": 2},
        {"f": "acquire", "process": 0, "call": 5, "returned": 7, "permits": 2},
        {"f": "release", "process": 0, "call": 7, "returned": 8, "permits": 1},
    ]
    # All of it was held together once, for which there was no room.
    assert decide(SEMAPHORE, OperationTable.from_rows(rows), 3).valid is not True
    assert decide(SEMAPHORE, OperationTable.from_rows(rows), 4).valid is not False
