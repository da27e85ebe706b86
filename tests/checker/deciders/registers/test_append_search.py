"""Appends of repeated pieces, searched, against the definition.

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
from rumpus.checker.deciders.registers.append_only_register import APPEND
from rumpus.checker.deciders.registers.append_search import search_appends
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


@pytest.mark.parametrize("words", WORDS)
def test_agrees_with_the_definition(words):
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


TWICE = [append(0, 0, 1, "a"), append(0, 40, 41, "a"), append(1, 0, 1, "b"), append(1, 40, 41, "b")]
"""Pieces appended early and late: what is read in between shows the early ones.

A row's number is its place in order of call.
"""

CASES = {
    "what nobody wrote": ([*TWICE, get(2, 10, 11, "abc")], [2]),
    "what was replaced before": (
        [put(0, 0, 1, "p"), put(0, 40, 41, "p"), put(1, 2, 3, "q"), get(2, 10, 11, "p")],
        [0, 1, 2, 3],
    ),
    "the beginning after a put": (
        [put(0, 0, 1, "p"), put(0, 40, 41, "p"), get(2, 10, 11, "")],
        [0, 1],
    ),
    "what is yet to be appended": (
        [append(0, 40, 41, "a"), append(0, 50, 51, "a"), get(2, 10, 11, "a")],
        [0, 1, 2],
    ),
    "two orders": ([*TWICE, get(2, 10, 11, "ab"), get(3, 10, 11, "ba")], [2, 3]),
    "one append in two places": ([*TWICE, get(2, 10, 11, "aab")], [2, 3]),
    "a read that shows less": (
        [*TWICE, get(2, 10, 11, "ab"), get(3, 12, 13, "a")],
        [1, 3],
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
    ),
    "an append that no read shows": (
        [*TWICE, append(3, 2, 3, "c"), append(3, 50, 51, "c"), get(2, 10, 11, "ab")],
        [2, 3],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_contradiction_has_a_small_witness(name):
    rows, operations = CASES[name]
    witness = search_appends(OperationTable.from_rows(rows), None, Budget()).witness
    assert (witness.operations, witness.minimal) == (operations, True)


def test_the_state_is_told_that_nothing_can_follow():
    rows = [append(0, 0, 1, "aa"), append(1, 0, 1, "a"), get(2, 10, 11, "aa")]
    witness = search_appends(OperationTable.from_rows(rows), None, Budget()).witness
    assert witness.operations == [1, 2]
    assert witness.description == (
        "get() -> 'aa' of process 2 (called at position 10, returned at position 11) cannot "
        "follow: the value could only be 'a' or one that no read shows"
    )


def test_what_no_read_can_show_makes_a_search_no_longer():
    """Of 200 appends of unknown outcome those before the reads may have taken effect, or not."""
    unseen = [append(k, 0, NEVER, f"u{k % 100}", outcome=INFO) for k in range(200)]
    table = OperationTable.from_rows(
        [
            *unseen,
            *(op | {"process": 300} for op in TWICE),
            get(301, 10, 11, "ab"),
            get(301, 50, 51, "abba"),
        ]
    )
    decision = search_appends(table, None, Budget(bytes=20_000))
    assert decision.valid is True


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
    assert peak(lambda: search_appends(table, None, Budget())) < 4_000_000
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
    assert "the value could only be '' or 'a' or 'aa'" in witness.description


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(bytes=10_000), "the memory budget of 0 MB is spent"),
        (Budget(seconds=0), "the time budget of 0 s is spent"),
    ],
    ids=["memory", "time"],
)
def test_a_search_beyond_its_budget_is_given_up(budget, words):
    table = repeated(["ab"[number % 2] for number in range(300)])
    decision = search_appends(table, None, budget)
    assert decision.valid == "unknown"
    assert words in decision.unknown[0]
