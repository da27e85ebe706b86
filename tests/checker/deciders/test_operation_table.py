"""Columns of values, and tables from rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.operation_table import INFO, NEVER, OperationTable
from rumpus.checker.deciders.values import MISSING, Values, ValuesBuilder, WrongOperations, freeze

ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([-(2**63), 2**63 - 1, 2**63, 1.0, 0.5, "1", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)


def typed(values):
    return [(type(value), value) for value in values]


@given(st.lists(ANY, max_size=8), st.integers(1, 4))
def test_a_column_gives_back_what_was_put_in_also_in_pieces(values, piece):
    builder = ValuesBuilder()
    for start in range(0, len(values), piece):
        builder.extend(values[start : start + piece])
    column = builder.build()
    assert typed(column) == typed(map(freeze, values))
    assert typed(Values.of(values)) == typed(column)
    assert column.present.tolist() == [value is not None for value in values]


@given(st.lists(ANY, max_size=8))
def test_equal_values_of_a_type_have_one_number_and_others_have_not(values):
    column = Values.of(values)
    if column.objects is None:
        return
    known = {}
    for frozen, number in zip(map(freeze, values), column.numbers.tolist(), strict=True):
        name = (type(frozen), frozen)
        assert known.setdefault(name, number) == number
    assert len(set(known.values())) == len(known)


def test_integers_stay_numbers():
    column = Values.of([3, None, -4])
    assert column.objects is None
    assert column.numbers.tolist() == [3, MISSING, -4]
    assert column.ints("tokens").tolist() == [3, MISSING, -4]


@pytest.mark.parametrize("value", ["7", 0.5, True, [1]])
def test_what_is_no_integer_is_named(value):
    with pytest.raises(WrongOperations, match="tokens must be integers"):
        Values.of([1, value]).ints("tokens")


@pytest.mark.parametrize("value", [2**63, -(2**63), 2**64 - 1])
def test_an_integer_that_no_column_can_hold_is_named(value):
    with pytest.raises(WrongOperations, match=f"63 bits at most, and {value} has not"):
        Values.of([1, value]).ints("tokens")


def test_values_too_deep_to_compare_are_refused():
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(WrongOperations, match="nested"):
        Values.of([value])


def test_rows_are_ordered_by_call_and_unknown_ones_never_return():
    table = OperationTable.from_rows(
        [{"f": "write", "call": 5, "outcome": INFO, "argument": 2}, {"f": "read", "call": 1}]
    )
    assert table.functions == ("read", "write")
    assert table.returned.tolist() == [1, NEVER]
    assert list(table.take(table.is_f("write")).argument) == [2]
