"""The C extension as C: it compiles without a warning, and survives being used wrongly."""

import gc
import shutil
import subprocess
import sys
import sysconfig
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from rumpus.checker.deciders.decision import Budget
from rumpus.checker.deciders.operation_table import INFO, OperationTable
from rumpus.checker.linearizability.search import C, check_linearizable
from rumpus.checker.models.register import CasRegister, Register
from tests.checker.linearizability.backends import needs_c

SOURCES = Path(__file__).resolve().parents[3] / "checker" / "linearizability" / "windowed_search_c"
HEADERS = Path(sysconfig.get_paths()["include"])


def table(size, **last):
    rows = [{"f": "write", "argument": k % 3, "call": k, "returned": k} for k in range(size)]
    return OperationTable.from_rows([*rows, {"f": "read", "call": size + 1, **last}])


def operations(model, history):
    transitions = C.transitions(model)
    return C.operations(transitions, history, model.arguments(history), model.refusable)


@pytest.mark.skipif(
    shutil.which("gcc") is None or not (HEADERS / "Python.h").exists(),
    reason="no gcc, or no headers of Python",
)
def test_it_compiles_without_a_warning():
    flags = ["-O2", "-std=c11", "-Wall", "-Wextra", "-Wshadow", "-Werror", f"-I{HEADERS}"]
    for source in sorted(SOURCES.glob("*.c")):
        command = ["gcc", *flags, "-c", "-o", "/dev/null", str(source)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


@needs_c
def test_arguments_are_looked_at():
    model = Register()
    history = table(3, result=2)
    some = operations(model, history)
    with pytest.raises(TypeError):
        C.operations(model, history, history.argument, frozenset())
    with pytest.raises(TypeError):
        C.search(history)
    with pytest.raises(ValueError, match="a byte for each operation, or none at all"):
        C.search(some, b"12")
    given = (C.transitions(model), history, history.argument, frozenset())
    with pytest.raises(IndexError, match="no such row"):
        C.operations(*given, np.array([7], dtype=np.int64))
    with pytest.raises(ValueError, match="rows must be of 64 bits"):
        C.operations(*given, np.array([1], dtype=np.int32))
    search = C.search(some)
    assert search.run(100) is True
    with pytest.raises(IndexError, match="nothing is stuck"):
        search.stuck()


@needs_c
def test_columns_of_another_size_are_refused():
    history = table(3, result=2)
    history.outcome.resize(2, refcheck=False)
    with pytest.raises(ValueError, match="the column outcome has not the expected size"):
        operations(Register(), history)


@needs_c
def test_a_search_that_failed_cannot_be_taken_up():
    class Broken(Register):
        def step(self, state, f, argument, result):
            if f == "write" and argument == 2:
                raise LookupError("two")
            return super().step(state, f, argument, result)

    model = Broken()
    search = C.search(operations(model, table(3, result=2)))
    with pytest.raises(LookupError):
        search.run(100)
    with pytest.raises(RuntimeError, match="the search has failed before"):
        search.run(100)


@needs_c
def test_a_model_may_search_too():
    """Its steps run a search of the same model, which shares the memory that is being filled."""

    class Nested(Register):
        def step(self, state, f, argument, result):
            if f == "write" and argument and state != "inner":
                inner = OperationTable.from_rows(
                    [{"f": "write", "argument": f"{argument}.{k}", "call": k} for k in range(50)]
                )
                depth.append(1)
                if len(depth) == 1:
                    decision = check_linearizable(self, inner, Budget(), backend="c")
                    assert decision.valid is True
                depth.pop()
            return super().step(state, f, argument, result)

    depth = []
    model = Nested()
    decision = check_linearizable(model, table(6, result=2), Budget(), backend="c")
    assert decision.valid is True


@needs_c
def test_nothing_is_left_behind():
    """Not a reference to values or states, whatever the outcome; and no block of memory."""

    class Value:
        def __init__(self, number):
            self.number = number

        def __eq__(self, other):
            return isinstance(other, Value) and self.number == other.number

        def __hash__(self):
            return hash(self.number)

    def decide(result):
        values = [Value(k) for k in range(5)]
        rows = [
            {"f": "write", "argument": value, "call": k, "returned": k + 3}
            for k, value in enumerate(values)
        ]
        rows.append({"f": "write", "argument": Value(9), "call": 3, "outcome": INFO})
        rows.append({"f": "cas", "argument": (Value(9), Value(1)), "call": 4, "outcome": INFO})
        rows.append({"f": "read", "result": Value(result), "call": 20, "returned": 21})
        history = OperationTable.from_rows(rows)
        valid = check_linearizable(CasRegister(), history, Budget(), backend="c").valid
        assert valid is (result != 7)

    def blocks():
        gc.collect()
        return sys.getallocatedblocks()

    def many():
        for _ in range(200):
            decide(1)
            decide(7)
        return blocks()

    # Python itself keeps some hundred blocks in the beginning, and then no more.
    growth = [after - before for before, after in pairwise([many() for _ in range(6)])]
    assert min(growth) < 50
    assert not [each for each in gc.get_objects() if isinstance(each, Value)]
