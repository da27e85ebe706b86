"""Values of different types are different at every depth, for every model and in every format."""

import copy
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumpus.checker.deciders.typed_values import FALSE, TRUE
from rumpus.checker.deciders.values import freeze
from rumpus.history_check import check

LEAVES = st.sampled_from([True, False, 0, 1, 0.0, 1.0, 2**60, float(2**60), "1", "a"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner | st.none(), max_size=2)
        | st.dictionaries(st.sampled_from("ab"), inner | st.none(), max_size=2)
    ),
    max_leaves=4,
)


def put_and_get(put, get):
    """A history of one process: ``put(a)`` and ``get(b)`` are pairs of f, argument and result."""

    def history(a, b):
        calls = (put(a), get(b))
        return [
            {"process": 0, "type": type_, "f": f, "value": value}
            for f, argument, result in calls
            for type_, value in (("invoke", argument), ("ok", result))
        ]

    return history


def returned(f, argument=None):
    return lambda b: (f, argument, b)


MODELS = {
    "register": put_and_get(lambda a: ("write", a, None), returned("read")),
    "cas-register": put_and_get(lambda a: ("write", a, None), lambda b: ("cas", [b, "new"], None)),
    "fifo-queue": put_and_get(lambda a: ("enqueue", a, None), returned("dequeue")),
    "queue": put_and_get(lambda a: ("enqueue", a, None), returned("dequeue")),
    "set": put_and_get(lambda a: ("add", a, None), lambda b: ("read", None, [b])),
    "append": put_and_get(lambda a: ("append", a, None), lambda b: ("read", None, [b])),
    "multi-register": put_and_get(
        lambda a: ("write", {"k": a}, None), lambda b: ("read", None, {"k": b})
    ),
    "versioned-register": put_and_get(
        lambda a: ("write", a, {"version": 1}), lambda b: ("read", None, {"value": b, "version": 1})
    ),
}


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=150)
@given(VALUES, VALUES)
def test_what_is_read_is_what_was_written_if_and_only_if_its_json_is_the_same(model, a, b):
    same = json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)
    history = MODELS[model]
    assert check(history(a, b), model).outcome == ("valid" if same else "violation")
    assert check(history(a, copy.deepcopy(a)), model).outcome == "valid"


ALIKE_IN_PYTHON = [
    ("[1]", "[true]"),
    ("[1]", "[1.0]"),
    ("[1]", "[1M]"),
    ("[1.0]", "[1.0M]"),
    ("[0.5]", "[1/2]"),
    ("#{1}", "#{true}"),
    ("{1 2}", "{true 2}"),
    ("{:a 0}", "{:a false}"),
    ("{:a 1}", "[[:a 1]]"),
    ("{}", "[]"),
]


@pytest.mark.parametrize(("written", "read"), ALIKE_IN_PYTHON)
def test_values_of_edn_that_python_holds_equal(file, written, read):
    def outcome(shown):
        return check(
            file(
                f"{{:process 0 :type :invoke :f :write :value {written}}}\n"
                "{:process 0 :type :ok :f :write}\n"
                "{:process 0 :type :invoke :f :read}\n"
                f"{{:process 0 :type :ok :f :read :value {shown}}}\n"
            ),
            "register",
        ).outcome

    assert outcome(read) == "violation"
    assert outcome(written) == "valid"


def test_numbers_of_a_type_are_equal_however_they_are_written():
    assert freeze([1.0, -0.0]) == freeze([1e0, 0.0])
    assert freeze(float("nan")) == freeze(float("nan"))
    assert hash(freeze([float("nan")])) == hash(freeze([float("nan")]))


def test_a_boolean_is_a_boolean_wherever_it_goes():
    assert freeze(True) is TRUE
    assert TRUE == True and FALSE == False and TRUE and not FALSE  # noqa: E712, PT018
    assert TRUE != 1 and FALSE != 0  # noqa: PT018
    for each in (TRUE, FALSE):
        assert copy.deepcopy(each) is each
        assert pickle.loads(pickle.dumps(each)) is each
    assert repr(freeze([True])) == "(True,)"
