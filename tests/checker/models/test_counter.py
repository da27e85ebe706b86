import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.counter import Counter
from tests.checker.models.sequential import follow

changes = st.sampled_from(["add", "increment", "inc", "decrement", "dec"])
calls = st.lists(
    st.tuples(changes, st.none() | st.integers(-2, 3)) | st.tuples(st.just("read"), st.none())
)


@given(calls, st.integers(-3, 3))
def test_adds(calls, initial):
    total = [initial]

    def plain(f, argument):
        if f == "read":
            return total[0]
        number = 1 if argument is None else argument
        total[0] += -number if f.startswith("dec") else number
        return None

    answers = {"read": range(-5, 6)}
    assert follow(Counter(initial), calls, plain, answers) == total[0]


@pytest.mark.parametrize("number", ["1", True, (1,)])
def test_adds_numbers(number):
    with pytest.raises(WrongOperations, match="takes a number"):
        Counter().step(0, "add", number, None)
