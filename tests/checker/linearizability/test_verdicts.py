"""What the search says of single histories, and when it does not know."""

import gc
import weakref

import numpy as np
import pytest

from rumpus.checker.deciders.decision import Budget
from rumpus.checker.deciders.operation_table import FAIL, INFO, OperationTable
from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.linearizability import search
from rumpus.checker.linearizability.operation_types import WrongModel
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.fifo_queue import FifoQueue
from rumpus.checker.models.model import ILLEGAL, Model
from rumpus.checker.models.register import CasRegister, Register
from tests.checker.linearizability.backends import both

SECOND = 10**9


def op(process, call, returned, f, argument=None, result=None, **more):
    row = {"process": process, "call": call, "f": f, "argument": argument, "result": result}
    return {**row, **({} if returned is None else {"returned": returned}), **more}


def decide(model, *rows, backend, budget=None, **options):
    history = OperationTable.from_rows(rows)
    return check_linearizable(model, history, budget or Budget(), backend=backend, **options)


@both
def test_a_stale_read_is_explained_in_words(backend):
    decision = decide(
        Register(),
        op(1, SECOND, 2 * SECOND, "write", 1),
        op(2, 3 * SECOND, 4 * SECOND, "write", 2),
        op(3, 5 * SECOND, 6 * SECOND, "read", None, 1),
        backend=backend,
    )
    assert decision.valid is False
    assert decision.model == "register"
    assert decision.operations == 3
    witness = decision.witness
    assert witness.operations == [0, 1, 2]
    assert witness.minimal
    assert witness.prefix == [0, 1]
    assert witness.stuck == 2
    assert witness.states == ["2"]
    assert witness.description == (
        "process 3's read() -> 1 (called 4.000 s, returned 5.000 s) cannot follow: "
        "the state could only be 2 (after process 2's write(2))"
    )


@both
def test_without_explanation_there_is_still_the_prefix(backend):
    rows = [op(0, 1, 2, "write", 1), op(0, 3, 4, "read", None, 2), op(0, 5, 6, "write", 2)]
    witness = decide(Register(), *rows, backend=backend, explain=False).witness
    assert (witness.prefix, witness.stuck, witness.minimal) == ([0], 1, False)
    assert witness.operations == [0, 1]
    assert decide(Register(), *rows, backend=backend).witness.operations == [1, 2]


@both
def test_writing_what_is_there_already_is_no_observation(backend):
    """write(3) in state 3 leaves the state, and yet must wait for its place behind write(4)."""
    rows = [
        op(0, 1, 2, "write", 3),
        op(1, 3, 20, "write", 3),
        op(2, 5, 6, "write", 4),
        op(3, 7, 8, "read", None, 4),
        op(4, 9, 10, "read", None, 3),
    ]
    assert decide(Register(), *rows, backend=backend).valid is True
    rows[1]["returned"] = 4
    assert decide(Register(), *rows, backend=backend).valid is False


@both
def test_a_history_without_operations_is_accepted(backend):
    assert decide(Register(), backend=backend).valid is True
    only = [op(0, 1, None, "write", 3, outcome=INFO), op(1, 1, 2, "write", 3, outcome=FAIL)]
    assert decide(Register(), *only, backend=backend).valid is True


@both
def test_a_refusal_counts_where_the_model_says_so(backend):
    rows = [
        op(0, 1, 2, "write", 1),
        op(0, 3, 4, "cas", (1, 2), outcome=FAIL, refused=True),
    ]
    decision = decide(CasRegister(), *rows, backend=backend)
    assert decision.valid is False
    assert "cas((1, 2)) -> refused" in decision.witness.description
    rows[1]["refused"] = False
    assert decide(CasRegister(), *rows, backend=backend).valid is True


@both
def test_equal_values_of_different_types_are_different_operations(backend):
    class Typed(Register):
        def step(self, state, f, argument, result):
            return super().step(state, f, str(argument), str(result))

    rows = [op(0, 1, 2, "write", 1), op(0, 3, 4, "read", None, True)]
    assert decide(Typed(), *rows, backend=backend).valid is False
    rows[1]["result"] = 1
    assert decide(Typed(), *rows, backend=backend).valid is True


@both
def test_keys_are_independent_and_rows_are_those_of_the_whole_table(backend):
    good = [op(0, 10 * k, 10 * k + 1, "write", k, key=f"k{k}") for k in range(5)]
    stale = op(0, 99, 100, "read", None, 7, key="k3")
    decision = decide(Register(), *good, stale, backend=backend)
    assert decision.valid is False
    assert decision.witness.operations == [5]
    assert decision.witness.prefix == [3]
    stale["result"] = 3
    assert decide(Register(), *good, stale, backend=backend).valid is True


@both
def test_a_model_may_part_its_object(backend):
    class Registers(Model):
        name = "registers"
        functions = frozenset({"read", "write"})
        observers = frozenset({"read"})

        def step(self, state, f, argument, result):
            if f == "write":
                return argument[1]
            return state if result == state else ILLEGAL

        def partition(self, f, argument, result):  # noqa: ARG002 - the interface of models
            return argument[0]

    rows = [op(0, 1, 2, "write", ("x", 1)), op(1, 3, 4, "write", ("y", 2))]
    fresh = op(2, 5, 6, "read", ("x",), 1)
    stale = op(2, 7, 8, "read", ("y",), 1)
    assert decide(Registers(), *rows, fresh, backend=backend).valid is True
    decision = decide(Registers(), *rows, fresh, stale, backend=backend)
    assert decision.valid is False
    assert decision.witness.stuck == 3
    assert set(decision.witness.operations) <= {1, 3}


class Counting(Register):
    """Counts how often it was asked."""

    def __init__(self):
        super().__init__()
        self.steps = 0

    def step(self, state, f, argument, result):
        self.steps += 1
        return super().step(state, f, argument, result)


@both
def test_histories_of_one_model_share_what_is_known_of_it(backend):
    model = Counting()
    rows = [op(0, 1, 2, "write", 1), op(0, 3, 4, "read", None, 1)]
    decide(model, *rows, backend=backend)
    asked = model.steps
    assert asked
    decide(model, *rows, backend=backend)
    assert model.steps == asked


@both
def test_what_is_known_of_a_model_goes_with_it(backend):
    model = Counting()
    decide(model, op(0, 1, 2, "write", 1), backend=backend)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def hard(size=12, reads=3):
    """Nobody knows which of many concurrent writes happened; the reads want another order."""
    rows = [op(k, 1, 100, "enqueue", k) for k in range(size)]
    rows += [op(100 + k, 1, 100, "dequeue", None, size + 1) for k in range(reads)]
    return rows


@both
def test_spent_time_gives_unknown_and_says_how_far_it_came(backend):
    ticks = iter(range(10**9))
    budget = Budget(seconds=50, clock=lambda: next(ticks))
    decision = decide(FifoQueue(), *hard(), backend=backend, budget=budget)
    assert decision.valid == "unknown"
    assert decision.witness is None
    why, how_far = decision.unknown
    assert why == "the time budget of 50 s is spent"
    assert how_far.startswith("an order is known for the first 12 of 15 returns, after ")


@both
def test_spent_memory_gives_unknown(backend):
    budget = Budget(bytes=300_000)
    decision = decide(FifoQueue(), *hard(), backend=backend, budget=budget)
    assert decision.valid == "unknown"
    assert decision.unknown[0] == "the memory budget of 0 MB is spent"


@both
def test_a_hard_part_does_not_hide_a_violation_in_another(backend):
    rows = [{**row, "key": "hard"} for row in hard()]
    rows += [op(0, 200, 201, "enqueue", 1, key="easy"), op(0, 202, 203, "enqueue", 1, key="fine")]
    rows += [op(0, 204, 205, "dequeue", None, 2, key="easy")]
    budget = Budget(seconds=60)
    decision = decide(FifoQueue(), *rows, backend=backend, budget=budget)
    assert decision.valid is False
    assert decision.witness.operations == [17]
    ticks = iter(range(10**9))
    budget = Budget(seconds=8000, clock=lambda: next(ticks))
    decision = decide(FifoQueue(), *rows[:-1], backend=backend, budget=budget)
    assert decision.valid == "unknown"
    assert "1 of 3 independent parts are undecided" in decision.unknown[0]
    assert decision.unknown[1].startswith("part 'hard': ")


@both
def test_a_witness_that_is_not_known_to_be_minimal_says_so(backend):
    """The clock stands still until the verdict is there."""
    rows = [op(0, 10 * k, 10 * k + 1, "write", k) for k in range(20)]
    rows.append(op(0, 300, 301, "read", None, 3))
    times = iter([0.0] * 8)
    budget = Budget(seconds=50, clock=lambda: next(times, 49.0))
    decision = decide(Register(), *rows, backend=backend, budget=budget)
    assert decision.valid is False
    assert not decision.witness.minimal
    assert set(decision.witness.operations) == set(range(21))


@both
def test_long_histories_do_not_recurse(backend):
    size = 5_000
    rows = [op(0, 10 * k, 10 * k + 5, "write", k % 7) for k in range(size)]
    assert decide(Register(), *rows, backend=backend).valid is True
    rows.append(op(0, 10 * size, 10 * size + 1, "read", None, 7))
    decision = decide(Register(), *rows, backend=backend)
    assert decision.valid is False
    assert decision.witness.operations == [size]
    assert decision.witness.prefix == list(range(size))


@both
def test_more_than_64_operations_may_be_open_at_once(backend):
    rows = [op(k, k, 1000, "write", k) for k in range(150)]
    rows += [op(200, 2000 + 10 * k, 2001 + 10 * k, "read", None, 149) for k in range(2)]
    assert decide(Register(), *rows, backend=backend).valid is True
    rows[-1]["result"] = 148
    decision = decide(Register(), *rows, backend=backend)
    assert decision.valid is False
    assert decision.witness.operations[-2:] == [150, 151]


@both
def test_errors_of_a_model_come_through(backend):
    class Broken(Register):
        def step(self, state, f, argument, result):
            if argument == 3:
                raise LookupError("three")
            return super().step(state, f, argument, result)

    model = Broken()
    rows = [op(0, 10 * k, 10 * k + 1, "write", k) for k in range(5)]
    for _ in range(3):
        with pytest.raises(LookupError, match="three"):
            decide(model, *rows, backend=backend)
    assert decide(model, *rows[:3], backend=backend).valid is True


@both
def test_an_interrupt_is_heard(backend):
    class Interrupted(Register):
        def step(self, state, f, argument, result):  # noqa: ARG002 - the interface of models
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decide(Interrupted(), op(0, 1, 2, "write", 1), backend=backend)


@both
def test_states_must_be_hashable(backend):
    class Listing(Register):
        def step(self, state, f, argument, result):  # noqa: ARG002 - the interface of models
            return [argument]

    with pytest.raises(TypeError, match="unhashable"):
        decide(Listing(), op(0, 1, 2, "write", 1), backend=backend)


@both
def test_an_observer_that_changes_the_state_is_a_wrong_model(backend):
    class Popping(FifoQueue):
        observers = frozenset({"dequeue"})

    rows = [op(0, 1, 2, "enqueue", 1), op(0, 3, 4, "dequeue", None, 1)]
    with pytest.raises(WrongModel, match=r"fifo-queue: dequeue with .* changed the state \(1,\)"):
        decide(Popping(), *rows, backend=backend)


@both
def test_operations_that_the_model_does_not_know_are_named(backend):
    with pytest.raises(WrongOperations, match="register knows no operation 'cas', 'pop'; it kn"):
        decide(Register(), op(0, 1, 2, "pop"), op(0, 3, 4, "cas", (1, 2)), backend=backend)


@both
def test_rows_must_be_in_order(backend):
    history = OperationTable.from_rows([op(0, 1, 2, "write", 1), op(0, 3, 4, "write", 2)])
    history.call[:] = [2, 1]
    with pytest.raises(ValueError, match="row 1 was called before the row above it"):
        check_linearizable(Register(), history, Budget(), backend=backend)
    history.call[:] = [1, 5]
    with pytest.raises(ValueError, match="row 1 returned before it was called"):
        check_linearizable(Register(), history, Budget(), backend=backend)


@both
def test_a_taken_table_is_as_good(backend):
    rows = [op(0, k, k, "write", k) for k in range(10)] + [op(0, 20, 21, "read", None, 8)]
    history = OperationTable.from_rows(rows)
    odd = history.take(np.arange(len(history)) % 2 == 0)
    decision = check_linearizable(Register(), odd, Budget(), backend=backend)
    assert decision.valid is True


def test_without_the_extension_plain_python_is_used(monkeypatch):
    monkeypatch.setattr(search, "C", None)
    assert search.engine().name == "plain Python"
    with pytest.raises(ImportError, match="the C extension of the search is not there"):
        search.engine("c")
    assert decide(Register(), op(0, 1, 2, "read", None, 3), backend="auto").valid is False
