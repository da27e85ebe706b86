from warehouse.lock import AisleLock


def test_two_pickers_are_never_in_one_aisle(rumpus):
    rumpus.run("lock", recipe=AisleLock, seeds=20).assert_valid()
