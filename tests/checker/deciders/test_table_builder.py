"""The quick way to a table comes to the same table as the definition, and to the same errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.operation_table import FIELDS, NEVER, WITHOUT_VALUE
from rumpus.checker.deciders.table_builder import MAX_FUNCTIONS, TableBuilder
from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.history import History, Op
from tests.checker.deciders.table_definition import defined_table

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([-(2**63), 2**63 - 1, 2**63, 1.0, 0.5, "1", "a", "b"])
)
VALUES = (
    SCALARS
    | st.lists(SCALARS, max_size=3)
    | st.dictionaries(st.sampled_from([*sorted(FIELDS)[:4], "value", "other"]), SCALARS, max_size=3)
)


@st.composite
def records(draw, values=VALUES):
    """Records as runs make them: processes that call and complete; times nearly in order."""
    ops, open_calls = [], {}
    for index in range(draw(st.integers(0, 14))):
        process = draw(st.sampled_from([0, 1, 2, 70_000, "nemesis", "control"]))
        kind = "info"
        if isinstance(process, int):
            kind = draw(st.sampled_from(["ok", "fail", "info"]))
            kind = kind if open_calls.pop(process, False) else "invoke"
            open_calls[process] = kind == "invoke"
        ops.append(
            Op(
                index=2 * index,
                time=index // 2 * 10 + draw(st.integers(0, 5)),
                process=process,
                type=kind,
                f=draw(st.sampled_from(["read", "write", "acquire"])),
                value=draw(values),
                error=draw(st.sampled_from([None, "", "no answer"])),
            )
        )
    return ops


def built(ops, piece):
    builder = TableBuilder()
    for start in range(0, len(ops), piece):
        builder.add(ops[start : start + piece])
    return builder.build()


def typed(values):
    return [(type(value), value) for value in values]


def same(one, other):
    assert one.functions == other.functions
    for name in ("f", "outcome", "process", "call", "returned", "refused", "index", "completion"):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert ours.dtype == theirs.dtype, name
        assert np.array_equal(ours, theirs), name
    assert typed(one.argument) == typed(other.argument)
    assert typed(one.result) == typed(other.result)
    ours, theirs = (each.fields.keys() - {WITHOUT_VALUE} for each in (one, other))
    assert ours == theirs
    for name in ours:
        column = one.fields[name]
        assert typed(column) == typed(other.fields[name]), name


def attempt(make):
    try:
        return make()
    except ValueError as error:
        return str(error)


@given(records(), st.integers(1, 5))
def test_it_is_the_table_of_the_history(ops, piece):
    expected = attempt(lambda: defined_table(History(ops)))
    found = attempt(lambda: built(ops, piece))
    if isinstance(expected, str):
        assert found == expected
    else:
        same(found, expected)


@given(records(st.none()), st.data())
def test_what_does_not_pair_is_refused_in_the_same_words(ops, data):
    """One record is taken out or repeated: most often a process then calls or returns twice."""
    if ops:
        at = data.draw(st.integers(0, len(ops) - 1))
        ops[at : at + 1] = [ops[at]] * data.draw(st.sampled_from([0, 2]))
    expected = attempt(lambda: defined_table(History(ops)))
    found = attempt(lambda: built(ops, 3))
    assert isinstance(found, str) == isinstance(expected, str)
    if isinstance(found, str):
        assert found == expected


def op(time, process, kind, f="read", value=None, error=None):
    return Op(index=time, time=time, process=process, type=kind, f=f, value=value, error=error)


def test_columns_of_a_small_history():
    table = built(
        [
            op(1, 0, "invoke", "acquire", {"timeout": 5.0}),
            op(2, 1, "invoke", "cas", [1, 2]),
            op(3, 0, "ok", "acquire", {"session": "0x1", "token": 7, "node": None}),
            op(4, 1, "fail", "cas"),
            op(5, 2, "invoke", "cas", [1, 2]),
            op(6, 1, "invoke", "cas", [2, 1]),
            op(7, 2, "fail", "cas", None, "no connection"),
            op(8, 1, "info", "cas", None, "no answer"),
        ],
        2,
    )
    assert table.functions == ("acquire", "cas")
    assert table.call.tolist() == [1, 2, 5, 6]
    assert table.returned.tolist() == [3, 4, 7, NEVER]
    assert table.refused.tolist() == [False, True, False, False]
    assert table.completion.tolist() == [3, 4, 7, 8]
    assert list(table.argument) == [None, (1, 2), (1, 2), (2, 1)]
    assert list(table.field("token")) == [7, None, None, None]
    assert list(table.field("session")) == ["0x1", None, None, None]
    assert list(table.field("timeout")) == [5.0, None, None, None]


def test_values_that_have_only_other_fields():
    ops = [op(1, 0, "invoke", "acquire", {"timeout": 5.0}), op(2, 0, "ok", "acquire", {"token": 7})]
    same(built(ops, 2), defined_table(History(ops)))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (op(1, 10**30, "invoke"), "process is too large"),
        (op(1, -1, "invoke"), "process is too small"),
        (op(10**40, 0, "invoke"), "time is too large"),
        (op(-(2**63), 0, "invoke"), "is too small"),
        (op(1, 0, "invoke", value=eval("[" * 65 + "]" * 65)), "nested more than 64 deep"),
        (op(1, 0, "invoke", value=1 << 64), "an integer of more than 64 bits"),
        (op(1, 0, "invoke", value=[{"a": -1 << 65}]), "an integer of more than 64 bits"),
    ],
)
def test_what_is_beyond_reason_is_refused(wrong, named):
    with pytest.raises(WrongOperations, match=named):
        built([op(0, 1, "invoke"), wrong], 2)


def test_functions_without_end_are_refused():
    with pytest.raises(WrongOperations, match="more than 1000 different"):
        built([op(at, at, "invoke", f"f{at}") for at in range(MAX_FUNCTIONS + 1)], 100)
