"""Each mistake shows, and the same steps do no harm to the sound recipe."""

import threading
import time

import pytest

from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.election.catalogue import ELECTIONS
from rumpus.recipes.lock.catalogue import LOCKS


class Waiter:
    """Waits for a lock in a thread of its own, and holds it until told to let go."""

    def __init__(self, crowd, lock, timeout):
        self.lock = lock
        self.granted = threading.Event()
        self.let_go = threading.Event()
        self._call = crowd.in_thread(self._run, timeout)

    def _run(self, timeout):
        if not self.lock.acquire(timeout):
            return False
        self.granted.set()
        self.let_go.wait(30)
        self.lock.release()
        return True

    def result(self):
        self.let_go.set()
        return self._call.result()


def queue(crowd, eventually, kind, path, timeouts):
    """A holder, and behind it one waiter for each timeout, in this order."""
    holder = kind(crowd[0], path)
    assert holder.acquire()
    waiters = []
    for number, timeout in enumerate(timeouts, start=1):
        waiters.append(Waiter(crowd, kind(crowd[number], path), timeout))
        eventually(lambda place=number: len(crowd.children(path)) == place + 1)
    eventually(lambda: crowd.watches() == len(timeouts))
    return holder, waiters


@pytest.mark.parametrize(("name", "is_free"), [("persistent-node", False), ("fair", True)])
def test_a_persistent_node_outlives_its_session(crowd, path, name, is_free):
    kind = LOCKS[name].recipe
    lock, other = (kind(crowd[number], path) for number in (0, 1))
    assert lock.acquire()
    crowd.expire(0)
    with pytest.raises(NotHeld):
        lock.release()
    assert len(crowd.children(path)) == (0 if is_free else 1)
    assert other.acquire(timeout=1) is is_free


@pytest.mark.parametrize(("name", "split"), [("no-recheck", True), ("fair", False)])
def test_no_recheck_grants_when_a_waiter_in_the_middle_gives_up(
    crowd, path, eventually, name, split
):
    kind = LOCKS[name].recipe
    holder, (middle, last) = queue(crowd, eventually, kind, path, (1.0, 20))
    assert middle.result() is False
    assert last.granted.wait(5 if split else 0.5) is split
    assert holder.held
    assert last.lock.held is split
    holder.release()
    assert last.result()


@pytest.mark.parametrize(("name", "woken"), [("watch-first", 3), ("fair", 1)])
def test_watch_first_grants_to_all_waiters_at_once(crowd, path, eventually, name, woken):
    kind = LOCKS[name].recipe
    holder, waiters = queue(crowd, eventually, kind, path, (20, 20, 20))
    crowd.links.watch_events()
    holder.release()
    eventually(lambda: sum(waiter.granted.is_set() for waiter in waiters) == woken)
    time.sleep(0.3)  # for those that must not be granted
    assert sum(waiter.lock.held for waiter in waiters) == woken
    assert len(crowd.links.watch_events()) == woken
    for waiter in waiters:
        assert waiter.result()


@pytest.mark.parametrize(("name", "leads"), [("believes-after-lost", True), ("fair", False)])
def test_believes_after_lost_still_leads_beside_its_successor(crowd, path, eventually, name, leads):
    kind = ELECTIONS[name].recipe
    election, successor = (kind(crowd[number], path) for number in (0, 1))
    assert election.campaign()
    crowd.end_session(0)
    assert successor.campaign(timeout=10)
    eventually(lambda: not crowd[0].connected)
    assert election.leading is leads
    crowd.let_find_out(0)
    assert election.leading is leads
    assert successor.leading
    successor.resign()


@pytest.mark.parametrize(("name", "split"), [("release-by-path", True), ("unfair", False)])
def test_release_by_path_frees_the_next_holders_lock(crowd, path, name, split):
    kind = LOCKS[name].recipe
    stale, holder, third = (kind(crowd[number], path) for number in (0, 1, 2))
    assert stale.acquire()
    crowd.end_session(0)
    assert holder.acquire(timeout=10)
    crowd.let_find_out(0)
    if split:
        stale.release()
    else:
        with pytest.raises(NotHeld):
            stale.release()
    assert third.acquire(timeout=0.5) is split
    assert holder.held


@pytest.mark.parametrize(("name", "found"), [("no-lookup", False), ("fair", True)])
def test_no_lookup_queues_behind_itself(crowd, path, name, found):
    kind = LOCKS[name].recipe
    crowd.bystander.ensure_path(path)
    lock = kind(crowd[0], path)
    crowd.links.cut(0, "lost-reply")
    assert lock.acquire(timeout=2) is found
    assert len(crowd.children(path)) == 1, "its own node, or the orphan that bars everybody"
    assert kind(crowd[1], path).acquire(timeout=0.3) is False
