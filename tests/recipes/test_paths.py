"""Recipes refuse paths that cannot be a znode's."""

from functools import partial

import pytest
from kazoo.client import KazooClient

from rumpus.recipes.barrier import Barrier
from rumpus.recipes.counter import Counter
from rumpus.recipes.double_barrier import DoubleBarrier
from rumpus.recipes.jobs import Jobs
from rumpus.recipes.latch import Latch
from rumpus.recipes.lock import FairLock
from rumpus.recipes.partitioner import Partitioner
from rumpus.recipes.queue import FifoQueue
from rumpus.recipes.two_phase_commit import PeerCommit

RECIPES = [
    Barrier,
    Counter,
    partial(DoubleBarrier, parties=2),
    FairLock,
    FifoQueue,
    Jobs,
    partial(Latch, count=1),
    partial(Partitioner, parts=["a"]),
    partial(PeerCommit, name="a"),
]


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("path", ["locks", "/locks/", ""])
def test_a_path_that_is_not_absolute_is_refused(recipe, path):
    with pytest.raises(ValueError, match="not an absolute znode path"):
        recipe(KazooClient(), path)
