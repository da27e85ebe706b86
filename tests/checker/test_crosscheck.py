"""The driver of cross-checks fails where it should."""

from random import Random

import pytest
from hypothesis import note

from tests.checker.crosscheck import crosscheck, examples


def test_the_share_is_the_generators_and_the_same_each_time():
    seen = []

    def fair(rng):
        seen.append(rng.random())
        return seen[-1] < 0.5

    assert crosscheck(fair) == crosscheck(fair)
    assert len(seen) == 2 * examples() == 2 * len(set(seen))


def test_a_share_out_of_bounds_is_refused():
    with pytest.raises(AssertionError, match="violations, and not 30% to 70%"):
        crosscheck(lambda rng: rng.random() < 0.1)
    with pytest.raises(AssertionError, match="not 0% to 0%"):
        crosscheck(lambda rng: rng.random() < 0.1, share=(0, 0))


def test_a_failure_is_shrunk():
    def fails(rng: Random):
        values = [rng.randint(0, 1000) for _ in range(rng.randint(0, 9))]
        note(f"values {values}")
        assert all(value < 500 for value in values)
        return rng.random() < 0.5

    with pytest.raises(AssertionError) as failure:
        crosscheck(fails)
    assert "values [500]" in failure.value.__notes__


def test_a_full_run_tries_as_many_as_it_is_told(monkeypatch):
    monkeypatch.setenv("RUMPUS_FULL_CHECKS", "1234")
    tried = []
    crosscheck(lambda rng: tried.append(1) or rng.random() < 0.5)
    assert len(tried) == 1234
