from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.value_shapes import all_are, whole_number


class Grant(msgspec.Struct):
    session: str
    token: int | None = None


VALUES = st.none() | st.integers() | st.sampled_from(["a", {"session": "0x1"}, {"token": 1}, [1]])


def is_one(shape, value):
    try:
        msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return False
    return True


@pytest.mark.parametrize("shape", [Grant, Grant | None, int, dict[str, int], Literal["a"]])
@given(values=st.lists(VALUES, max_size=4))
def test_many_are_of_a_shape_if_each_is(shape, values):
    assert all_are(shape, values) == all(is_one(shape, value) for value in values)


@given(text=st.text("0129²٣-+ _x", max_size=21) | st.integers(0).map(str))
def test_a_number_is_written_in_plain_digits(text):
    plain = 0 < len(text) <= 19 and set(text) <= set("0123456789")
    assert whole_number(text) == (int(text) if plain else None)
    assert whole_number(text.encode()) == whole_number(text)


def test_a_number_has_an_end():
    assert whole_number("9" * 5000) is None
