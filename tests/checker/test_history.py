import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.history import History, Op
from tests.checker.recorded import Recorded


def test_records_are_ordered_by_time_and_ties_keep_the_order_of_the_file():
    history = Recorded().add(5, 0, "invoke", "a").add(1, 1, "invoke", "b").add(5, 2, "invoke", "c")
    assert [op.f for op in history.history()] == ["b", "a", "c"]


def test_calls_are_paired_with_completions_and_open_ones_are_unknown():
    recorded = Recorded().add(1, 0, "invoke", "x").add(2, 1, "invoke", "y").add(3, 0, "fail", "x")
    first, second = recorded.history().operations()
    assert (first.invoke.f, first.outcome, first.indices) == ("x", "fail", [0, 2])
    assert (second.invoke.f, second.outcome, second.completion) == ("y", "info", None)


def test_the_nemesis_has_operations_of_its_own():
    recorded = Recorded().add(1, 0, "invoke", "x")
    recorded.add(2, "nemesis", "invoke", "start").add(3, "nemesis", "info", "start")
    (fault,) = recorded.history().operations(nemesis=True)
    assert fault.invoke.process == "nemesis"
    assert len(recorded.history().operations()) == 1


def test_two_open_operations_of_one_process_are_refused():
    recorded = Recorded().add(1, 0, "invoke", "x").add(2, 0, "invoke", "y")
    with pytest.raises(ValueError, match="record 1: process 0 calls y while its x is still open"):
        recorded.history().operations()


def test_a_completion_without_a_call_is_refused():
    with pytest.raises(ValueError, match="record 0: process 3 completes x"):
        Recorded().add(1, 3, "ok", "x").history().operations()


def test_a_completion_of_something_else_than_was_called_is_refused():
    recorded = Recorded().add(1, 0, "invoke", "write").add(2, 0, "ok", "read")
    with pytest.raises(ValueError, match="record 1: process 0 completes read while its write is"):
        recorded.history().operations()


def test_the_number_of_clients_is_found_from_session_events_or_processes():
    ops = [Op(time=1, process=7, type="invoke", f="x")]
    assert History(ops).clients == 8
    ops.append(Op(time=2, process="session", type="info", f="connected", value={"client": 4}))
    history = History(ops)
    assert history.clients == 5
    assert history.client_of(7) == 2


NAMES = ["session", "link", "control", 0, 1]


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(NAMES), st.sampled_from("ab"))))
def test_events_are_those_that_a_look_at_each_record_finds(records):
    ops = [Op(index=n, time=t, process=p, type="info", f=f) for n, (t, p, f) in enumerate(records)]
    history = History(ops)
    for process in ("session", "link", "control", "witness"):
        found = [op for op in history if op.process == process]
        assert history.events(process) == found
        for f in "abc":
            assert history.events(process, f) == [op for op in found if op.f == f]
