"""Equal numbers for equal values, whatever the columns hold."""

from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.registers.value_numbers import one_numbering
from rumpus.checker.deciders.values import Values, freeze

INTEGERS = st.none() | st.integers(0, 9) | st.integers(-(2**62), 2**62)
ANYTHING = INTEGERS | st.booleans() | st.text("ab", max_size=1) | st.lists(st.integers(0, 1))


@given(st.lists(st.lists(INTEGERS) | st.lists(ANYTHING), min_size=1, max_size=3))
def test_values_have_the_same_number_if_and_only_if_they_are_the_same(columns):
    numbers, count = one_numbering([Values.of(column) for column in columns])
    names = {}
    for column, numbered in zip(columns, numbers, strict=True):
        assert len(column) == len(numbered)
        for value, number in zip(column, numbered.tolist(), strict=True):
            assert 0 <= number < count
            frozen = freeze(value)
            assert names.setdefault((type(frozen), frozen), number) == number
    assert len(set(names.values())) == len(names)
