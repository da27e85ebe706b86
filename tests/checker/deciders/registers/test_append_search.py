"""Appends of repeated pieces, narrowed and searched, against the definition.

Of the generated histories 30 to 60 % are violations.
"""

import tracemalloc
from functools import partial

import pytest
from hypothesis import note

from benchmarks.search_histories import appends
from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.decision import Budget
from rumpus.checker.deciders.operation_table import INFO, NEVER, OperationTable
from rumpus.checker.deciders.registers import append_search
from rumpus.checker.deciders.registers.append_narrowing import Narrowed, narrow
from rumpus.checker.deciders.registers.append_only_register import APPEND
from rumpus.checker.deciders.registers.append_search import search_appends
from rumpus.checker.deciders.registers.pieces import TooLong
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

WORDS = {
    "most once": tuple("aabcdefghij"),
    "few": tuple("abc"),
    "one": ("a",),
    "one begins another": ("a", "aa", "ab", "b"),
}


@pytest.mark.parametrize("narrowing", ["narrowed", "too long to be narrowed"])
@pytest.mark.parametrize("words", WORDS)
def test_agrees_with_the_definition(monkeypatch, words, narrowing):
    if narrowing != "narrowed":
        monkeypatch.setattr(append_search, "narrow", too_long)

    def agrees(rng):
        empty, initial = beginning(rng)
        if empty == "" and initial and rng.random() < 0.5:
            initial = rng.choice(WORDS[words])
        rows = orderly(rng, empty, initial, WORDS[words])
        for _ in range(rng.choice((0, 1, 2, 2, 3))):
            corrupt(rng, empty, rows)
        note((initial, rows))
        decision = search_appends(table_of(rows), initial, Budget())
        return refuses_rightly(decision, len(rows), partial(acceptable, rows, empty, initial))

    crosscheck(agrees, share=(0.2, 0.7))


def too_long(*_):
    raise TooLong


TWICE = [append(0, 0, 1, "a"), append(0, 40, 41, "a"), append(1, 0, 1, "b"), append(1, 40, 41, "b")]
"""Pieces appended early and late: what is read in between shows the early ones.

A row's number is its place in order of call.
"""

CASES = {
    "what nobody wrote": (
        [*TWICE, get(2, 10, 11, "abc")],
        [2],
        "get() -> 'abc' of process 2: nobody wrote what stands there at 2, 'c'",
    ),
    "what was replaced before": (
        [put(0, 0, 1, "p"), put(0, 40, 41, "p"), put(1, 2, 3, "q"), get(2, 10, 11, "p")],
        [0, 1, 2, 3],
        (
            "get() -> 'p' of process 2: no put, nor the beginning, can have been followed by that "
            "before it returned and not have been replaced before it was called"
        ),
    ),
    "the beginning after a put": (
        [put(0, 0, 1, "p"), put(0, 40, 41, "p"), get(2, 10, 11, "")],
        [0, 1],
        (
            "put('p') of process 0 returned at position 1, before get() -> '' of process 2 was "
            "called at position 10, which shows nothing of it; and what was replaced by a put does "
            "not come back"
        ),
    ),
    "what is yet to be appended": (
        [append(0, 40, 41, "a"), append(0, 50, 51, "a"), get(2, 10, 11, "a")],
        [0, 1, 2],
        (
            "get() -> 'a' of process 2 returned at position 11, before append('a') of process 0 "
            "was called at position 40, which it shows"
        ),
    ),
    "two orders": (
        [*TWICE, get(2, 10, 11, "ab"), get(3, 10, 11, "ba")],
        [2, 3],
        (
            "get() -> 'ab' of process 2, and get() -> 'ba' of process 3: neither is the beginning "
            "of the other, though nothing was put in between"
        ),
    ),
    "one append in two places": (
        [*TWICE, get(2, 10, 11, "aab")],
        [2, 3],
        (
            "get() -> 'aab' of process 2: no append of 'a' can have come between what it shows "
            "before that and what it shows after it"
        ),
    ),
    "a read that shows less": (
        [*TWICE, get(2, 10, 11, "ab"), get(3, 12, 13, "a")],
        [2, 3],
        (
            "get() -> 'ab' of process 2 returned at position 11, before get() -> 'a' of process 3 "
            "was called at position 12, which shows less"
        ),
    ),
    "a read that may be of two eras, and is of neither": (
        [
            append(2, 3, 6, "a"),
            append(0, 7, 11, "b"),
            append(1, 10, 11, "b"),
            get(1, 12, 13, "b"),
            put(0, 12, NEVER, "b", outcome=INFO),
            get(1, 14, 14, "abb"),
        ],
        [3, 5],
        (
            "get() -> 'b' of process 1: neither the beginning nor any put that it can begin with "
            "goes with what the other reads show"
        ),
    ),
    "an append that no read shows": (
        [*TWICE, append(3, 2, 3, "c"), append(3, 50, 51, "c"), get(2, 10, 11, "ab")],
        [2, 3],
        (
            "append('c') of process 3 returned at position 3, before get() -> 'ab' of process 2 "
            "was called at position 10; and no read shows it"
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_contradiction_is_told(name):
    rows, operations, description = CASES[name]
    witness = search_appends(OperationTable.from_rows(rows), None, Budget()).witness
    assert (witness.operations, witness.minimal) == (operations, True)
    assert witness.description == description


def test_of_a_search_the_state_is_told_that_nothing_can_follow():
    rows = [append(0, 0, 1, "aa"), append(1, 0, 1, "a"), get(2, 10, 11, "aa")]
    witness = search_appends(OperationTable.from_rows(rows), None, Budget()).witness
    assert witness.operations == [1, 2]
    assert witness.description == (
        "get() -> 'aa' of process 2 (called at position 10, returned at position 11) cannot "
        "follow: the value could only be 'a' or one that no read shows"
    )


def test_where_time_tells_repeated_pieces_apart_nothing_is_searched():
    rows = [*TWICE, get(2, 10, 11, "ab"), put(2, 20, 21, "b"), get(2, 50, 51, "bab")]
    assert narrow(OperationTable.from_rows(rows), "", Budget()).settled


def test_an_append_of_unknown_outcome_that_a_read_must_have_seen_is_bounded():
    rows = [
        append(0, 0, NEVER, "a", outcome=INFO),
        append(1, 5, NEVER, "b", outcome=INFO),
        append(2, 6, NEVER, "b", outcome=INFO),
        get(3, 10, 11, "ab"),
        append(0, 12, 13, "a"),
    ]
    found = narrow(OperationTable.from_rows(rows), "", Budget())
    assert isinstance(found, Narrowed)
    (first,) = (part for part in found.parts if part.row == 0)
    assert (first.f, first.call, first.returned, first.certain) == ("place", 0, 11, True)
    assert {part.row for part in found.parts if not part.certain} == {1, 2}


@pytest.mark.parametrize("spoilt", [False, True])
def test_logs_of_many_clients_that_repeat_their_pieces_are_decided(spoilt):
    table = appends(1, 1000, 50, 5, spoilt=spoilt, round_length=6)
    decision = decide(APPEND, table)
    assert decision.valid is not spoilt
    assert not spoilt or decision.witness.minimal


def repeated(pieces):
    """Each piece appended twice by nobody knows when, and a read that shows all of them once."""
    rows = [
        append(process, 0, NEVER, piece, outcome=INFO)
        for process, piece in enumerate([*pieces, *pieces])
    ]
    return OperationTable.from_rows([*rows, get(len(rows), 1, 2, "".join(pieces))])


def peak(call):
    """Bytes that a call takes at most."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_long_text_of_many_pieces_takes_no_more_than_its_length():
    """Half a megabyte; all the texts that begin it would be 60."""
    table = repeated([f"{number:03}{'.' * 2000}" for number in range(240)])
    assert peak(lambda: narrow(table, "", Budget())) < 4_000_000
    assert search_appends(table, None, Budget()).valid is True


def test_a_piece_that_is_shown_more_often_than_it_was_appended_is_a_violation():
    rows = [
        append(0, 0, NEVER, "a", outcome=INFO),
        append(1, 0, NEVER, "a", outcome=INFO),
        get(2, 1, 2, "a" * 10_000),
    ]
    table = OperationTable.from_rows(rows)
    assert peak(lambda: search_appends(table, None, Budget())) < 8_000_000
    witness = search_appends(table, None, Budget()).witness
    assert (witness.operations, witness.minimal) == ([2], True)
    assert "'a' stands there 10000 times, and was appended 2 times" in witness.description


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(bytes=100_000), "the memory budget of 0 MB is spent"),
        (Budget(seconds=0), "the time budget of 0 s is spent"),
    ],
    ids=["memory", "time"],
)
def test_a_narrowing_beyond_its_budget_is_given_up(budget, words):
    table = repeated(["ab"[number % 2] for number in range(300)])
    with pytest.raises(TooLong):
        narrow(table, "", budget)
    decision = search_appends(table, None, budget)
    assert decision.valid == "unknown"
    assert words in decision.unknown[0]
