from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.families.growing_numbers import check_growth
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def history(answers):
    """From (called, took, number): a process each."""
    recorded = Recorded(len(answers))
    records = []
    for process, (called, took, number) in enumerate(answers):
        records.append((called, process, "invoke", None))
        records.append((called + took, process, "ok", number))
    for ms, process, type_, value in sorted(records, key=lambda each: each[0]):
        recorded.add(ms, process, type_, "generate", value)
    return recorded.end(1000).history()


def regressions(answers):
    return [
        anomaly.ops for anomaly in check_growth(laid_out(history(answers)), f="generate").anomalies
    ]


def test_later_numbers_are_larger():
    assert regressions([(0, 1, 5), (2, 1, 6), (4, 1, 9)]) == []
    (ops,) = regressions([(0, 1, 5), (2, 1, 4)])
    assert ops == [0, 1, 2, 3]


def test_numbers_of_calls_that_overlap_may_come_in_any_order():
    assert regressions([(0, 5, 7), (3, 5, 2)]) == []


answers = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 10), st.integers(0, 12)), max_size=12
)


@given(answers)
def test_as_by_definition(answers):
    later_ones = {
        (called, took, number)
        for called, took, number in answers
        if any(c + t < called and n > number for c, t, n in answers)
    }
    assert bool(regressions(answers)) == bool(later_ones)
    found = {ops[-2:][0] for ops in regressions(answers)}
    assert len(found) == sum(each in later_ones for each in answers)
