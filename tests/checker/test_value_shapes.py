from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.value_shapes import all_are


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
