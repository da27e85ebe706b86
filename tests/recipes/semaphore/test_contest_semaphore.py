import threading
import time

import pytest

from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.semaphore.catalogue import SEMAPHORES
from rumpus.recipes.semaphore.contest_semaphore import Semaphore
from rumpus.recipes.semaphore.kazoo_multi_lease import KazooMultiLease
from tests.recipes.crowd import hold_once

# The bare variants of kazoo's recipes repair nothing and promise less; leases are not given back.
SOUND = [
    name
    for name, recipe in SEMAPHORES.items()
    if not recipe.faulty and not name.endswith(("bare", "lease"))
]


@pytest.mark.parametrize("name", SOUND)
def test_as_many_as_may_hold_and_no_more(crowd, path, name):
    inside = []
    crowded = []
    two_were_inside = threading.Event()

    def contend(semaphore):
        for _ in range(4):
            assert semaphore.acquire(timeout=30)
            inside.append(semaphore)
            if len(inside) >= 2:
                two_were_inside.set()
            # The first holder does not leave before another has come in.
            assert two_were_inside.wait(30)
            time.sleep(0.01)
            crowded.append(len(inside))
            inside.remove(semaphore)
            semaphore.release()

    kind = SEMAPHORES[name].recipe
    calls = [crowd.in_thread(contend, kind(crowd[number], path, 2)) for number in range(5)]
    for call in calls:
        call.result()
    assert max(crowded) == 2
    assert len(crowded) == 20
    assert crowd.children(path) == []


@pytest.mark.parametrize("name", SOUND)
def test_a_definite_no_leaves_nothing(crowd, path, name):
    one, two, three = (SEMAPHORES[name].recipe(crowd[number], path, 2) for number in range(3))
    assert one.acquire(10)
    assert two.acquire(10)
    assert three.acquire(0.3) is False
    assert len(crowd.children(path)) == 2
    assert three.node is None
    two.release()
    assert three.acquire(10)
    assert three.session == crowd[2].client_id[0]
    assert crowd.stat(three.node).ephemeralOwner == three.session
    crowd.expire(2)
    assert not three.held
    with pytest.raises(NotHeld):
        three.release()
    one.release()


def test_as_many_leases_as_there_are_are_true(crowd, path):
    leases = [KazooMultiLease(crowd[number], path, 2, name=f"c{number}") for number in range(3)]
    one, two, three = leases
    assert one.acquire(10)
    assert two.acquire(10)
    assert three.acquire(0.3) is False
    assert [each.held for each in leases] == [True, True, False]
    assert three.acquire(10), "a lease lapses"


def test_whichever_holder_goes_the_next_is_told(crowd, path, eventually):
    for leaves in (0, 1):
        holders = [Semaphore(crowd[number], path, 2) for number in (0, 1)]
        for holder in holders:
            assert holder.acquire(10)
        waiting = crowd.in_thread(hold_once, Semaphore(crowd[2], path, 2), 20)
        eventually(lambda: len(crowd.children(path)) == 3)
        eventually(lambda: crowd.watches() == 2)
        began = time.monotonic()
        holders[leaves].release()
        assert waiting.result()
        assert time.monotonic() - began < 10
        holders[1 - leaves].release()


def test_one_release_wakes_no_more_than_there_are_permits(crowd, path, eventually):
    holders = [Semaphore(crowd[number], path, 2) for number in (0, 1)]
    for holder in holders:
        assert holder.acquire(10)
    node = holders[1].node
    waiting = []
    for number in (2, 3, 4, 5):
        waiting.append(crowd.in_thread(hold_once, Semaphore(crowd[number], path, 2), 30))
        eventually(lambda number=number: len(crowd.children(path)) == number + 1)
    eventually(lambda: crowd.watches() == 2 * len(waiting))
    crowd.links.watch_events()
    # The other way round, waiters that come closer meanwhile would watch the second holder, too.
    for holder in reversed(holders):
        holder.release()
    assert all(call.result() for call in waiting)
    events = crowd.links.watch_events()
    assert sorted(event.client for event in events if event.path == node) == [2, 3]


def test_a_semaphore_without_permits_is_refused(crowd, path):
    with pytest.raises(ValueError, match="at least one permit"):
        Semaphore(crowd[0], path, 0)
