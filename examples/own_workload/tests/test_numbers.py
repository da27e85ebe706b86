import pytest
from numbering.numbers import HastyNumbers, Numbers
from numbering_workload import Numbering

from rumpus import TrialFailed


def test_no_number_is_given_out_twice(rumpus):
    rumpus.run(Numbering, recipe=Numbers, seeds=5).assert_valid()


def test_the_trial_finds_numbers_that_are_given_out_twice(rumpus):
    with pytest.raises(TrialFailed, match="duplicate-sequence"):
        rumpus.run(Numbering, recipe=HastyNumbers, seeds=5).assert_valid()
