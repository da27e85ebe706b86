import pytest
from ledger.leased_lock import LeasedBookLock


@pytest.mark.rumpus(seeds=3, time_limit=30, nemesis_interval=5)
def test_one_worker_closes_the_books(rumpus, postgresql):
    rumpus.run("lock", recipe=LeasedBookLock, service={"postgresql": postgresql}).assert_valid()
