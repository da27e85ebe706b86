import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.model import ILLEGAL, UNKNOWN
from rumpus.checker.models.set import Set
from tests.checker.models.sequential import follow

functions = st.sampled_from(["add", "remove", "contains"])
calls = st.lists(
    st.tuples(functions, st.integers(0, 3)) | st.tuples(st.just("read"), st.none()), max_size=20
)


@given(calls, st.frozensets(st.integers(0, 3)), st.booleans())
def test_does_what_a_set_does(calls, initial, tells):
    values = set(initial)

    def plain(f, argument):
        if f == "read":
            return tuple(sorted(values))
        there = argument in values
        if f == "contains":
            return there
        (values.add if f == "add" else values.discard)(argument)
        changed = there == (f == "remove")
        return changed if tells else None

    answers = {"contains": [True, False], "read": [(), (0,), (0, 0), (1, 2)]}
    if tells:
        answers |= {"add": [True, False], "remove": [True, False]}
    assert follow(Set(initial), calls, plain, answers) == values


def test_a_list_is_read_in_any_order_and_names_each_value_once():
    step = Set().step
    state = frozenset({1, 2})
    assert step(state, "read", None, (2, 1)) == state
    assert step(state, "read", None, frozenset({2, 1})) == state
    assert step(state, "read", None, (2, 1, 1)) is ILLEGAL
    assert step(frozenset(), "read", None, None) == frozenset()
    assert step(state, "read", None, UNKNOWN) == state


def test_a_completion_may_repeat_the_value():
    assert Set().step(frozenset({1}), "add", 1, 1) == {1}
    assert Set().step(frozenset({True}), "add", True, True) == {True}


def test_reads_as_a_list():
    with pytest.raises(WrongOperations, match="list of its values, not as 3"):
        Set().step(frozenset(), "read", None, 3)


def test_speaks_of_values():
    assert Set().describe_state(frozenset({2, 1})) == "{1, 2}"
