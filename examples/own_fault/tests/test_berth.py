import pytest
from harbour.berth import Berth, WatchfulBerth
from trials.queue_clearing import QueueClearing

from rumpus import TrialFailed


def test_a_berth_has_two_ships_after_the_queue_was_cleared(rumpus):
    with pytest.raises(TrialFailed, match="split-brain"):
        rumpus.run("lock", recipe=Berth, nemesis=[QueueClearing], seeds=5).assert_valid()


def test_a_watchful_berth_never_has(rumpus):
    rumpus.run("lock", recipe=WatchfulBerth, nemesis=[QueueClearing], seeds=5).assert_valid()
