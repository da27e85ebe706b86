"""The minimiser: what it keeps is needed, whatever the contradictions are."""

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.minimal_rows import minimise

ROWS = 40


@given(st.lists(st.frozensets(st.integers(0, ROWS - 1), min_size=1), min_size=1, max_size=5))
def test_what_is_kept_is_one_of_the_contradictions_that_contain_no_other(contradictions):
    def refuses(kept):
        return any(each <= set(kept) for each in contradictions)

    rows, doubtful = minimise(range(ROWS), refuses)
    assert rows == sorted(rows)
    assert refuses(rows)
    assert not any(refuses([row for row in rows if row != left]) for left in rows)
    assert not doubtful


def test_a_few_rows_of_many_are_found_by_few_questions():
    asked = []

    def refuses(kept):
        asked.append(kept)
        return {100, 90_000} <= set(kept)

    assert minimise(range(100_000), refuses).rows == [100, 90_000]
    assert len(asked) < 100


def test_what_is_not_known_is_kept_and_doubtful():
    def refuses(kept):
        return None if 7 not in kept else 3 in kept

    assert minimise(range(10), refuses) == ([3, 7], [7])


def test_what_is_left_when_the_budget_is_spent_is_doubtful():
    asked = count()
    rows, doubtful = minimise(range(8), lambda kept: 7 in kept, lambda: next(asked) == 2)
    assert rows == doubtful
    assert 7 in rows
