import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumpus
from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.append import AppendRegister
from rumpus.checker.models.model import ILLEGAL
from tests.checker.models.sequential import follow

pieces = st.sampled_from(["", "x", "y", "xy"])
reads = st.tuples(st.sampled_from(["get", "read"]), st.none())
strings = st.tuples(st.sampled_from(["put", "write", "append"]), pieces) | reads
elements = st.sampled_from([0, 1, 2, ""])
lists = (
    st.tuples(st.sampled_from(["put", "write"]), st.lists(elements).map(tuple))
    | st.tuples(st.just("append"), elements)
    | reads
)


@given(st.lists(strings), pieces)
def test_does_what_a_string_does(calls, initial):
    text = [initial]

    def plain(f, argument):
        if f in ("get", "read"):
            return text[0]
        text[0] = text[0] + argument if f == "append" else argument
        return None

    answers = dict.fromkeys(("get", "read"), ("", "x", "y", "xy", "xx", "yx", ("x", "y", "q")))
    assert "".join(follow(AppendRegister(initial), calls, plain, answers)) == text[0]


@given(st.lists(lists))
def test_does_what_a_list_does(calls):
    values = []

    def plain(f, argument):
        if f in ("get", "read"):
            return tuple(values)
        if f == "append":
            return values.append(argument)
        values[:] = argument
        return None

    answers = dict.fromkeys(("get", "read"), ((), (0,), (1, 2), "x"))
    assert list(follow(AppendRegister(), calls, plain, answers)) == values


def test_what_was_never_put_is_empty():
    step = AppendRegister().step
    for nothing in (None, "", ()):
        assert step((), "get", None, nothing) == ()
        assert step(("x",), "get", None, nothing) is ILLEGAL
    assert step(("x",), "put", None, None) == ()


def test_a_number_is_neither_string_nor_list():
    with pytest.raises(WrongOperations, match="a string or a list, not 3"):
        AppendRegister().step((), "put", 3, None)


def test_speaks_of_the_whole():
    assert AppendRegister().describe_state(("x 1", " y")) == "'x 1 y'"
    assert AppendRegister().describe_state((1, 2)) == "[1, 2]"


@pytest.mark.parametrize("form", ["lists", "strings"])
@pytest.mark.parametrize("lost", [False, True])
def test_an_empty_string_is_an_element_of_a_list_and_no_part_of_a_string(form, lost):
    pieces = ["a"] if lost else ["a", ""]
    whole = pieces if form == "lists" else "".join(pieces)
    calls = [("append", "a", None), ("append", "", None), ("read", None, whole)]
    history = [
        {"process": 0, "type": kind, "f": f, "value": value}
        for f, argument, result in calls
        for kind, value in (("invoke", argument), ("ok", result))
    ]
    right = not lost or form == "strings"
    assert rumpus.check(history, "append").outcome == ("valid" if right else "violation")
