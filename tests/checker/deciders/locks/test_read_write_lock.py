"""The read-write lock against its definition: 49 % of the histories are violations."""

from functools import partial

import pytest

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.locks.holds_table import Nesting
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.crosscheck import crosscheck
from tests.checker.deciders import lock_definition
from tests.checker.deciders.lock_definition import agrees, generate

LOCK = MODELS["read-write-lock"]


def compared(table):
    everybody = len(table) + 1
    weights = {"read": 1, "write": everybody, None: 0}
    return agrees(
        LOCK, table, Nesting.WHOLE, everybody, weight=lambda row: weights[table.argument[row]]
    )


def test_agrees_with_the_definition():
    opens = []

    def read_write(rng):
        def argument(f, last, rng):
            if f == "acquire":
                return rng.choice(["read", "read", "write"])
            if last is None or rng.random() < 0.05:
                return rng.choice(["read", "write"])
            return rng.choice([None, last, last, last])

        nests = rng.choice([0, 0.1])
        size = rng.randint(4, 7)
        table = generate(rng, size=size, shares=(0.12, 0.05), nests=nests, arguments=argument)
        violation, decision = compared(table)
        opens.append(decision.valid == "unknown")
        return violation

    crosscheck(read_write)
    assert not any(opens)


def history(*rows):
    names = ("process", "f", "call", "returned", "argument")
    return OperationTable.from_rows([dict(zip(names, row, strict=False)) for row in rows])


told = partial(lock_definition.told, LOCK)


def test_a_writer_excludes_readers_and_they_do_not_exclude_each_other():
    readers = [
        (0, "acquire", 0, 1, "read"),
        (1, "acquire", 0, 2, "read"),
        (1, "release", 7, 8),
        (0, "release", 9, 9),
    ]
    assert decide(LOCK, history(*readers)).valid is True
    writer = [(2, "acquire_write", 0, 5), (2, "release_write", 9, 9)]
    assert told(history(*readers, *writer)) == (
        [0, 2, 4, 5],
        (
            "process 0 and process 2 both held it between position 5 and position 9: process 0 "
            "(to read) from the return of its acquire at position 1 to the call of its release at"
            " position 9; process 2 (to write) from the return of its acquire_write at position 5"
            " to the call of its release_write at position 9"
        ),
    )


def test_two_writers():
    rows = [(0, "acquire", 0, 1, "write"), (1, "acquire", 3, 4, "write")]
    assert told(history(*rows))[0] == [0, 1]


def test_a_reader_cannot_become_a_writer():
    rows = [(0, "acquire", 0, 1, "read"), (0, "acquire", 3, 4, "write")]
    assert told(history(*rows))[0] == [0, 1]


def test_what_is_released_must_be_held():
    rows = [(0, "acquire", 0, 1, "read"), (0, "release", 3, 4, "write")]
    assert told(history(*rows))[0] == [1]
    assert decide(LOCK, history(rows[0], (0, "release_read", 3, 4))).valid is True


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ((0, "acquire", 0, 1), "does not say whether to read or to write"),
        ((0, "acquire", 0, 1, "both"), "'both' is neither"),
        ((0, "acquire", 0, 1, 3), "3 is neither"),
    ],
)
def test_the_mode_must_be_told(row, why):
    with pytest.raises(WrongOperations, match=why):
        decide(LOCK, history(row))
