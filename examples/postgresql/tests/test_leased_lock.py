from ledger.leased_lock import LeasedBookLock


def test_one_worker_closes_the_books(rumpus, postgresql):
    trial = {"service": {"postgresql": postgresql}, "seeds": 3, "time_limit": 20}
    rumpus.run("lock", recipe=LeasedBookLock, **trial).assert_valid()
