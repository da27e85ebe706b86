import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.history import Op, Operation
from rumpus.checker.quantile import quantile
from rumpus.checker.timeline.faults import FaultWindow
from rumpus.results.operation_statistics import OUTSIDE, by_fault, by_function

MS = 1_000_000


def operation(start, length, type="ok", f="acquire"):  # noqa: A002 - the field's name
    call = Op(time=start, process=0, type="invoke", f=f)
    if length is None:
        return Operation(call, None)
    return Operation(call, Op(time=start + length, process=0, type=type, f=f))


def window(kind, begun, ended):
    return FaultWindow(id="1", kind=kind, targets=[], begun=begun, ended=ended)


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 1), (0.5, 50), (0.501, 51), (0.99, 99), (1.0, 100)]
)
def test_quantile_is_the_nearest_rank(share, value):
    assert quantile(range(1, 101), share) == value


def test_quantile_of_nothing_is_none():
    assert quantile([], 0.5) is None


def test_latencies_are_those_of_operations_that_ended_ok():
    operations = [
        operation(0, 2 * MS),
        operation(9, 4 * MS),
        operation(20, 900 * MS, "info"),
        operation(30, 1, "fail"),
        operation(40, None),
        operation(50, MS, f="release"),
    ]
    acquire, release = by_function(operations)
    assert (acquire.name, acquire.count) == ("acquire", 5)
    assert (acquire.ok, acquire.fail, acquire.info) == (2, 1, 2)
    assert (acquire.median, acquire.p99, acquire.longest) == (2.0, 4.0, 4.0)
    assert (release.name, release.median) == ("release", 1.0)


def test_operations_are_told_by_the_faults_under_which_they_were_called():
    windows = [window("kill", 10, 20), window("kill", 12, 14), window("pause", 18, None)]
    operations = [operation(time, 1) for time in (5, 10, 16, 19, 20, 21, 10**15)]
    outside, kill, pause = by_fault(operations, windows)
    assert (outside.name, outside.ok) == (OUTSIDE, 1)
    assert (kill.name, kill.ok) == ("kill", 4)
    assert (pause.name, pause.ok) == ("pause", 4)


def test_a_fault_without_operations_is_told_too():
    assert [s.count for s in by_fault([], [window("kill", 1, 2)])] == [0, 0]


TIMES = st.integers(0, 20)


@given(
    st.lists(TIMES),
    st.lists(st.tuples(st.sampled_from(["kill", "pause"]), TIMES, st.none() | TIMES), max_size=5),
)
def test_each_operation_counts_for_the_kinds_of_the_windows_around_its_call(times, found):
    windows = [window(kind, begun, ended and begun + ended) for kind, begun, ended in found]

    def around(time):
        ended = [(w, 10**9 if w.ended is None else w.ended) for w in windows]
        return {w.kind for w, end in ended if w.begun <= time <= end} or {OUTSIDE}

    for group in by_fault([operation(time, 1) for time in times], windows):
        assert group.ok == sum(group.name in around(time) for time in times)
