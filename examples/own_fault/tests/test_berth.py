import pytest
from harbour.berth import Berth, WatchfulBerth
from trials.queue_clearing import QueueClearing

from rumpus import TrialFailed


def put_on_trial(rumpus, berth):
    return rumpus.run("lock", recipe=berth, nemesis=[QueueClearing], seeds=3, time_limit=10)


def test_a_berth_has_two_ships_after_the_queue_was_cleared(rumpus):
    with pytest.raises(TrialFailed, match="split-brain"):
        put_on_trial(rumpus, Berth).assert_valid()


def test_a_watchful_berth_never_has(rumpus):
    put_on_trial(rumpus, WatchfulBerth).assert_valid()
