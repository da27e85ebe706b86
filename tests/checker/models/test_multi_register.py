import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.model import ILLEGAL, UNKNOWN
from checker.models.multi_register import MultiRegister
from checker.operation_table import WrongOperations, freeze
from tests.checker.models.sequential import follow

keys = st.sampled_from("xyz")
values = st.integers(0, 2)
micros = st.tuples(st.sampled_from(["w", "write"]), keys, values) | st.tuples(
    st.sampled_from(["r", "read"]), keys, st.none()
)
calls = st.lists(
    st.tuples(st.just("txn"), st.lists(micros, max_size=4).map(tuple))
    | st.tuples(st.just("write"), st.dictionaries(keys, values, max_size=2).map(freeze))
    | st.tuples(st.just("read"), st.frozensets(keys)),
    max_size=12,
)


@given(calls, st.dictionaries(keys, values))
def test_does_what_a_dict_does(calls, initial):
    registers = dict(initial)

    def plain(f, argument):
        if f == "read":
            return freeze({key: registers.get(key) for key in argument})
        if f == "write":
            return registers.update(argument)
        done = []
        for what, key, value in argument:
            if what.startswith("w"):
                registers[key] = value
            done.append((what, key, registers.get(key)))
        return tuple(done)

    assert dict(follow(MultiRegister(initial), calls, plain)) == registers


def test_wrong_reads_are_illegal():
    step = MultiRegister().step
    state = step((), "txn", (("w", "x", 1),), (("w", "x", 1),))
    assert step(state, "txn", (("r", "x", None),), (("r", "x", None),)) is ILLEGAL
    assert step(state, "txn", (("r", "x"),), (("r", "x", 2),)) is ILLEGAL
    assert (
        step(state, "txn", (("r", "x"), ("w", "x", 2)), (("r", "x", 2), ("w", "x", 2))) is ILLEGAL
    )
    assert step(state, "read", None, (("x", 2),)) is ILLEGAL
    assert step(state, "read", None, (("y", None), ("x", 1))) == state


def test_what_nobody_knows_only_writes():
    txn = (("r", "x", None), ("w", "y", 2))
    assert MultiRegister({"x": 1}).step((("x", 1),), "txn", txn, UNKNOWN) == (("x", 1), ("y", 2))
    assert MultiRegister({"x": 1}).step((("x", 1),), "txn", txn, None) == (("x", 1), ("y", 2))


@pytest.mark.parametrize(
    ("f", "argument", "message"),
    [
        ("txn", 3, "a list of micro operations, not 3"),
        ("txn", (("append", "x", 1),), "append"),
        ("txn", (("r", "x", 1, 2),), "a txn is a list"),
        ("write", 3, "object of keys and values, not 3"),
        ("write", (1, 2), "object of keys and values"),
    ],
)
def test_malformed_operations_are_named(f, argument, message):
    with pytest.raises(WrongOperations, match=message):
        MultiRegister().step((), f, argument, None)


def test_speaks_of_each_register():
    assert MultiRegister({"y": 2, "x": 1}).describe_state((("x", 1), ("y", 2))) == (
        "{'x': 1, 'y': 2}"
    )
