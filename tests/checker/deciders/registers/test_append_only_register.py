"""Appends against the definition.

Of the generated histories 41 % are violations (measured over 20,000).
"""

from functools import partial

import pytest
from hypothesis import note

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OperationTable
from rumpus.checker.deciders.registers import pieces
from rumpus.checker.deciders.registers.append_eras import decide_appends
from rumpus.checker.deciders.registers.append_only_register import APPEND
from tests.checker.crosscheck import crosscheck
from tests.checker.deciders.append_histories import (
    acceptable,
    append,
    beginning,
    corrupt,
    get,
    orderly,
    put,
    table_of,
)
from tests.checker.forgetting import refuses_rightly


def is_refused_rightly(rows, empty, initial):
    decision = decide_appends(table_of(rows), initial)
    assert decision is not None
    return refuses_rightly(decision, len(rows), partial(acceptable, rows, empty, initial))


def test_agrees_with_the_definition():
    def agrees(rng):
        empty, initial = beginning(rng)
        rows = orderly(rng, empty, initial)
        for _ in range(rng.choice((0, 1, 2, 2, 3))):
            corrupt(rng, empty, rows)
        note((initial, rows))
        return is_refused_rightly(rows, empty, initial)

    crosscheck(agrees)


def test_orderly_histories_stay_valid():
    def stays_valid(rng):
        empty, initial = beginning(rng)
        rows = orderly(rng, empty, initial)
        note((initial, rows))
        decision = decide(APPEND, table_of(rows), initial)
        assert (decision.valid, decision.algorithm) == (True, "prefix order")
        return False

    crosscheck(stays_valid, share=(0, 0))


def test_a_single_corruption_is_found_when_the_definition_finds_it():
    def found(rng):
        empty, initial = beginning(rng)
        rows = orderly(rng, empty, initial)
        corrupt(rng, empty, rows)
        note((initial, rows))
        return is_refused_rightly(rows, empty, initial)

    crosscheck(found, share=(0.2, 0.7))


CASES = {
    "what nobody wrote": (
        [append(0, 0, 5, "ab"), get(1, 6, 7, "abc")],
        None,
        [1],
        "get() -> 'abc' of process 1: nobody wrote what stands there at 2, 'c'",
    ),
    "another beginning": (
        [append(0, 0, 5, "ab"), get(1, 6, 7, "ab")],
        "x",
        [1],
        "get() -> 'ab' of process 1: nobody put that, and it began with 'x'",
    ),
    "a piece twice": (
        [append(0, 0, 5, 7), get(1, 6, 7, [7, 7])],
        None,
        [1],
        "get() -> [7, 7] of process 1: 7 stands there twice, and was appended once",
    ),
    "a put in the middle": (
        [append(0, 0, 5, "a"), put(2, 0, 5, "p"), get(1, 6, 7, "ap")],
        None,
        [2],
        "get() -> 'ap' of process 1: 'p' was put, and cannot follow anything",
    ),
    "two orders": (
        [
            append(0, 0, 5, "a"),
            append(1, 0, 5, "b"),
            get(2, 6, 7, "ab"),
            get(3, 6, 7, "ba"),
        ],
        None,
        [2, 3],
        (
            "get() -> 'ab' of process 2, and get() -> 'ba' of process 3: neither is the beginning "
            "of the other, though nothing was put in between"
        ),
    ),
    "a read that does not show what was appended": (
        [append(0, 0, 10**9, "a"), get(2, 2 * 10**9, 3 * 10**9, None)],
        None,
        [0, 1],
        (
            "append('a') of process 0 returned at 1.000 s, before get() -> None of process 2 "
            "was called at 2.000 s; and no read shows it"
        ),
    ),
    "a read that shows less": (
        [
            append(0, 0, NEVER, "a", outcome=INFO),
            get(1, 2, 3, "a"),
            get(2, 4, 5, ""),
        ],
        None,
        [1, 2],
        (
            "get() -> 'a' of process 1 returned at position 3, before get() -> '' of process 2 was "
            "called at position 4, which shows less"
        ),
    ),
    "a read that shows what is yet to be appended": (
        [get(1, 2, 3, "a"), append(0, 4, NEVER, "a", outcome=INFO)],
        None,
        [0, 1],
        (
            "get() -> 'a' of process 1 returned at position 3, before append('a') of process 0 was "
            "called at position 4, which it shows"
        ),
    ),
    "appends in the wrong order": (
        [append(0, 0, 1, "a"), append(1, 2, 3, "b"), get(2, 0, 9, ["b", "a"])],
        None,
        [0, 1, 2],
        (
            "append('a') of process 0 returned at position 1, before append('b') of process 1 was "
            "called at position 2, which comes first in get() -> ['b', 'a'] of process 2"
        ),
    ),
    "what was replaced comes back": (
        [put(0, 0, 1, "p"), put(1, 2, 3, "q"), append(2, 0, 9, "a"), get(3, 4, 5, "pa")],
        None,
        [0, 2, 3],
        (
            "put('p') of process 0 returned at position 1, before put('q') of process 1 was called "
            "at position 2; but put('q') of process 1 returned at position 3, before get() -> 'pa' "
            "of process 3 was called at position 4; and what was replaced by a put does not come "
            "back"
        ),
    ),
    "an append that is shown after two puts": (
        [append(0, 0, 9, "a"), put(1, 0, 9, "p"), get(2, 0, 9, "a"), get(3, 0, 9, "pa")],
        None,
        [2, 3],
        (
            "get() -> 'a' of process 2, and get() -> 'pa' of process 3: they show 'a' after "
            "different beginnings, and it was appended once"
        ),
    ),
    "a long value is shown by its end": (
        [append(0, 0, 5, "a" * 100), get(1, 6, 7, "a" * 100 + "b")],
        None,
        [1],
        f"get() -> ...{'a' * 38}b' of process 1: nobody wrote what stands there at 100, 'b'",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_contradiction_is_told(name):
    rows, initial, operations, description = CASES[name]
    table = OperationTable.from_rows({**row} for row in rows)
    decision = decide(APPEND, table, initial)
    assert (decision.valid, decision.algorithm) == (False, "prefix order")
    assert decision.witness.minimal
    assert decision.witness.description == description
    assert decision.witness.operations == operations


SEARCHED = {
    "a piece appended twice is shown": (
        [append(0, 0, 1, "a"), append(0, 2, 3, "a"), get(1, 4, 5, "aa")],
        [append(0, 0, 1, "a"), append(0, 2, 3, "a"), get(1, 4, 5, "a")],
    ),
    "one piece begins another": (
        [append(0, 0, 1, "a"), append(0, 2, 3, "aa"), get(1, 4, 5, "aaa")],
        [append(0, 0, 1, "a"), append(0, 2, 3, "aa"), get(1, 4, 5, "aa")],
    ),
    "the empty string is put": (
        [append(0, 0, 1, "a"), put(0, 2, 3, ""), get(1, 4, 5, "")],
        [append(0, 0, 1, "a"), put(0, 2, 3, ""), get(1, 4, 5, "a")],
    ),
    "a list is put": (
        [append(0, 0, 1, 1), put(0, 2, 3, [2]), get(1, 4, 5, [2])],
        [append(0, 0, 1, 1), put(0, 2, 3, [2]), get(1, 4, 5, [1])],
    ),
    "a value put twice is shown": (
        [put(0, 0, 1, "p"), put(0, 2, 3, "p"), get(1, 4, 5, "p")],
        [put(0, 0, 1, "p"), put(0, 2, 3, "p"), get(1, 4, 5, "")],
    ),
}


@pytest.mark.parametrize("name", SEARCHED)
def test_what_cannot_be_decided_by_order_is_searched(name):
    for rows, valid in zip(SEARCHED[name], (True, False), strict=True):
        decision = decide(APPEND, OperationTable.from_rows(rows))
        assert decision.valid is valid
    assert decide_appends(OperationTable.from_rows(SEARCHED[name][0])) is None


def test_to_append_nothing_changes_nothing():
    rows = [append(0, 0, 1, ""), append(0, 0, 1, ""), get(1, 2, 3, ""), append(0, 4, 5, "a")]
    decision = decide(APPEND, OperationTable.from_rows(rows))
    assert (decision.valid, decision.algorithm) == (True, "prefix order")


def test_what_failed_was_not_appended():
    rows = [append(0, 0, 1, "a", outcome=FAIL), get(1, 2, 3, "")]
    assert decide(APPEND, OperationTable.from_rows(rows)).valid is True
    rows[1]["result"] = "a"
    assert decide(APPEND, OperationTable.from_rows(rows)).valid is False


def test_texts_that_would_take_too_long_to_take_apart_are_searched(monkeypatch):
    rows = [append(0, 0, 1, "a"), append(0, 2, 3, "bbbb"), get(1, 4, 5, "abbbb")]
    monkeypatch.setattr(pieces, "MOST_WORK", 3)
    assert decide_appends(OperationTable.from_rows(rows)) is None


def test_keys_are_judged_one_by_one():
    rows = [append(0, 0, 1, "a", key="k"), get(1, 2, 3, "", key="l"), get(1, 4, 5, "", key="k")]
    witness = decide(APPEND, OperationTable.from_rows(rows)).witness
    assert witness.operations == [0, 2]
    assert witness.description.startswith("key 'k': append('a') of process 0 returned at")
