from warehouse.mended_lock import MendedAisleLock


def test_two_pickers_are_never_in_one_aisle(rumpus):
    rumpus.run("lock", recipe=MendedAisleLock, seeds=20).assert_valid()
