import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OperationTable
from rumpus.checker.deciders.registers.multi_register import MULTI_REGISTER
from rumpus.checker.deciders.values import WrongOperations, freeze
from rumpus.checker.models.model import ILLEGAL, UNKNOWN
from rumpus.checker.models.multi_register import MultiRegister, independent_groups
from tests.checker.brute_force import Act, linearizable
from tests.checker.crosscheck import crosscheck
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


def txn(rng, call, number):
    """A transaction with made-up reads; it may fail, or nobody may know."""
    keys = rng.sample("xyzw", rng.choice((1, 1, 2)))
    micros = [
        ["w", key, number] if rng.random() < 0.65 else ["r", key, rng.randrange(-1, number) + 1]
        for key in keys
    ]
    outcome = rng.choice([0] * 8 + [INFO, FAIL])
    row = {"f": "txn", "call": call, "outcome": outcome, "argument": micros, "process": number}
    if outcome != INFO:
        row["returned"] = call + rng.randrange(8)
    return row | ({"result": micros} if outcome == 0 else {})


def test_group_by_group_the_verdict_is_that_of_the_definition():
    def agrees(rng):
        rows = [txn(rng, rng.randrange(8), number + 1) for number in range(rng.randint(2, 6))]
        table = OperationTable.from_rows(rows)
        initial = dict.fromkeys("xyzw", 0)
        model = MultiRegister(initial)
        acts = [
            Act(row["call"], row.get("returned", NEVER), row, row["outcome"] == INFO)
            for row in rows
            if row["outcome"] != FAIL
        ]

        def step(state, row):
            argument, result = freeze(row["argument"]), freeze(row.get("result", UNKNOWN))
            after = model.step(state, "txn", argument, result)
            return [] if after is ILLEGAL else [after]

        decision = decide(MULTI_REGISTER, table, initial)
        assert decision.valid is linearizable(acts, model.initial, step)
        return decision.valid is False

    crosscheck(agrees)


def test_registers_touched_together_are_one_group():
    rows = [
        {"f": "txn", "call": 0, "result": [["r", "a", None], ["w", "b", 1]]},
        {"f": "write", "call": 1, "argument": {"c": 1, "d": 2}},
        {"f": "write", "call": 2, "argument": {"e": 1, "a": 2}},
        {"f": "write", "call": 3, "argument": {"e": 1, "c": 2}, "outcome": FAIL},
    ]
    groups = independent_groups(OperationTable.from_rows(rows))
    assert groups["a"] == groups["b"] == groups["e"] != groups["c"] == groups["d"]


@pytest.mark.parametrize(
    "answer",
    [
        [],
        [["w", "x", 1]],
        [["r", "y", 5]],
        [["w", "x", 2], ["r", "y", 5]],
        [["w", "z", 1], ["r", "y", 5]],
        [["r", "y", 5], ["w", "x", 1]],
        [["w", "x", 1], ["r", "y", 5], ["w", "z", 3]],
    ],
)
def test_an_answer_to_another_txn_is_no_answer(answer):
    rows = [{"f": "txn", "call": 0, "argument": [["w", "x", 1], ["r", "y", None]]}]
    with pytest.raises(WrongOperations, match="a txn answers the list that it was called with"):
        decide(MULTI_REGISTER, OperationTable.from_rows([rows[0] | {"result": answer}]))
    for right in ([["write", "x", 1], ["read", "y", None]], None):
        table = OperationTable.from_rows([rows[0] | {"result": right}])
        assert decide(MULTI_REGISTER, table).valid is True


def test_a_torn_read_is_refused_with_its_operations():
    both = [["w", "x", 1], ["w", "y", 1]]
    rows = [
        {"f": "txn", "call": 0, "returned": 9, "argument": both, "result": both},
        {"f": "read", "call": 2, "returned": 3, "result": {"x": 1}},
        {"f": "read", "call": 4, "returned": 5, "result": {"y": None}},
        {"f": "write", "call": 6, "returned": 7, "argument": {"z": 1}},
    ]
    decision = decide(MULTI_REGISTER, OperationTable.from_rows(rows))
    assert decision.valid is False
    assert decision.algorithm == "windowed search"
    assert decision.witness.operations == [1, 2]
    assert decision.witness.minimal
