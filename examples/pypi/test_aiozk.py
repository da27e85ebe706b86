"""aiozk 0.32.0: a client that speaks asyncio, and its recipes.

Fails: docs/track-record/findings.md, "Flaws of other programs".
"""

from aiozk_on_a_thread import Barrier, Lease, Lock


def test_lease(rumpus):
    rumpus.run("semaphore", recipe=Lease, nemesis=[], seeds=3, time_limit=5).assert_valid()


def test_lock(rumpus):
    rumpus.run("lock", recipe=Lock, nemesis=["client-partition"], seeds=10).assert_valid()


def test_barrier(rumpus):
    rumpus.run("barrier", recipe=Barrier, nemesis=["client-partition"], seeds=10).assert_valid()
