import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.decision import Witness
from rumpus.checker.deciders.operation_table import FAIL, INFO, OperationTable
from rumpus.results.escapes import escaped
from rumpus.results.pictures.witness_layout import (
    fitting,
    folded,
    operation_words,
    panels,
    spans_of,
    width,
    witness_layout,
)
from tests.results.witnesses import NASTY, many, split_brain, stale_read, witnesses


@given(witnesses())
def test_one_is_before_another_in_the_picture_just_when_it_was(case):
    table, witness = case
    bars = witness_layout(table, witness, 99).bars
    for a in bars:
        for b in bars:
            returned, called = table.returned[a.row], table.call[b.row]
            if returned != called:
                assert (a.last < b.first) == (returned < called), (a, b)
            assert a is b or a.lane != b.lane or a.last < b.first or b.last < a.first


def test_at_one_time_a_process_returns_before_it_calls_and_others_overlap():
    rows = [
        {"f": "read", "process": process, "call": call, "returned": call + 1}
        for process, call in ((0, 1), (0, 2), (1, 2), (2, 1))
    ]
    table = OperationTable.from_rows(rows)
    bars = witness_layout(table, Witness(operations=[0, 1, 2, 3], description=""), 99).bars
    before = {(a.row, b.row) for a in bars for b in bars if a.last < b.first}
    own = [row for row in range(4) if table.process[row] == 0]
    assert before == {(own[0], own[1])}


@given(witnesses())
def test_shows_the_witness_and_the_end_of_the_prefix(case):
    table, witness = case
    layout = witness_layout(table, witness, 99)
    shown = {bar.row for bar in layout.bars}
    assert shown >= set(witness.operations)
    assert {bar.row for bar in layout.bars if bar.against} >= set(witness.operations)
    assert [bar.row for bar in layout.bars if bar.stuck] == (
        [] if witness.stuck is None else [witness.stuck]
    )
    for bar in layout.bars:
        assert layout.lanes[bar.lane] == f"process {table.process[bar.row]}"
        if bar.order is not None:
            assert witness.prefix[bar.order - 1] == bar.row


@given(witnesses(), st.integers(60, 120))
def test_every_column_has_a_place_and_every_operation_room(case, wide):
    layout = witness_layout(*case, 99)

    def room(bar):
        return min(width(bar.label), 20)

    drawn = panels(layout, room, 1, wide)
    assert [n for p in drawn for n in range(p.first, p.last + 1)] == list(
        range(len(layout.times) + 1)
    )
    for panel in drawn:
        assert panel.places[0] == 0
        assert panel.places[-1] <= wide + 1e-6
        assert all(b - a >= 1 for a, b in zip(panel.places, panel.places[1:], strict=False))
    parts = [span for spans in spans_of(layout, drawn, room) for span in spans]
    for bar in layout.bars:
        own = [span for span in parts if span.bar is bar]
        assert [span.labelled for span in own].count(True) == 1
        assert [span.begins for span in own].count(True) == 1
        assert [span.ends for span in own].count(True) == 1
        if len(drawn) == 1:
            assert own[0].right - own[0].left >= room(bar) - 1e-6


def test_what_is_held_is_shown_from_the_grant_to_the_call_of_the_release():
    layout = witness_layout(*split_brain(), 99)
    assert [(layout.lanes[lane], layout.times[first]) for lane, first, _ in layout.holds] == [
        ("process 7", "2.031 s"),
        ("process 3", "1.900 s"),
    ]
    assert [layout.times[last : last + 1] for _, _, last in layout.holds] == [[], ["2.480 s"]]


def test_a_hold_whose_release_is_not_shown_is_not_shown_either():
    table, _ = split_brain()
    layout = witness_layout(table, Witness(operations=[0, 1], description=""), 99)
    assert [layout.lanes[hold.lane] for hold in layout.holds] == ["process 7"]


def test_the_search_shows_its_order_and_what_cannot_follow():
    layout = witness_layout(*stale_read(), 99)
    assert [bar.label for bar in layout.bars] == [
        "1. write(1)",
        "2. write(2) -> ?",
        "3. read() -> 2",
        "4. cas((1, 3)) -> refused",
        "✘ read() -> 1",
    ]
    assert [bar.against for bar in layout.bars] == [False, False, True, False, True]
    assert layout.times[0] == "0"
    assert layout.remarks[1] == "Possible before ✘: 2."


def test_of_very_many_the_last_are_shown():
    layout = witness_layout(*many(500), 60)
    assert len(layout.bars) == 60
    assert layout.left_out == 440
    assert layout.bars[-1].row == 499


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"f": "read", "result": 3}, "read() -> 3"),
        ({"f": "read", "result": 3, "version": 4, "zxid": 7}, "read() -> 3, v4, zxid 7"),
        ({"f": "write", "argument": "x", "version": 4}, "write('x') -> v4"),
        ({"f": "write", "argument": 3, "result": 3}, "write(3)"),
        ({"f": "contains", "argument": 1, "result": True}, "contains(1) -> True"),
        ({"f": "write", "argument": 3, "key": "/a"}, "'/a': write(3)"),
        ({"f": "acquire", "token": 8, "session": "0x1"}, "acquire() -> token 8"),
        ({"f": "acquire", "permits": 2}, "acquire(permits 2)"),
        ({"f": "enqueue", "argument": "a", "priority": 2}, "enqueue('a', priority 2)"),
        ({"f": "dequeue", "result": "a", "priority": 2}, "dequeue() -> 'a', priority 2"),
        ({"f": "write", "argument": 1, "outcome": INFO}, "write(1) -> ?"),
        ({"f": "write", "argument": 1, "outcome": FAIL}, "write(1) -> failed"),
        ({"f": "\x1b[2J"}, "\\x1b[2J()"),
    ],
)
def test_operations_in_words(row, words):
    table = OperationTable.from_rows([{"call": 0, **row}])
    assert operation_words(table, 0, answers=False) == words


def test_nothing_is_an_answer_where_others_answer():
    rows = [{"f": "dequeue", "call": 0, "result": 1}, {"f": "dequeue", "call": 1}]
    layout = witness_layout(
        OperationTable.from_rows(rows), Witness(operations=[0, 1], description=""), 9
    )
    assert [bar.words for bar in layout.bars] == ["dequeue() -> 1", "dequeue() -> None"]


def test_objects_are_named_where_there_are_several():
    rows = [{"f": "read", "call": n, "key": key} for n, key in enumerate("aab")]
    table = OperationTable.from_rows(rows)

    def words(rows):
        layout = witness_layout(table, Witness(operations=rows, description=""), 9)
        return [bar.words for bar in layout.bars]

    assert words([0, 1]) == ["read()", "read()"]
    assert words([1, 2]) == ["'a': read()", "'b': read()"]


@given(st.text(), st.integers(0, 12))
def test_words_are_cut_to_columns_and_made_harmless(words, columns):
    assert escaped(words).isprintable()
    cut = fitting(escaped(words), columns)
    assert width(cut) <= columns
    assert cut == escaped(words) or cut.endswith("…") or not columns


@given(st.text(min_size=1), st.integers(7, 12), st.integers(1, 4))
def test_folded_words_are_whole_or_end_in_an_ellipsis(words, columns, most):
    words = escaped(words)
    lines = folded(words, columns, most)
    assert len(lines) <= most
    assert max(map(width, lines)) <= columns
    whole = lines[0] + "".join(line[4:] for line in lines[1:])
    assert whole == words or (whole.endswith("…") and len(lines) == most)


def test_escapes_what_a_terminal_obeys():
    assert escaped("abc 幅") == "abc 幅"
    assert escaped(NASTY).endswith("\\x1b[2J\\x00\\u202e")
