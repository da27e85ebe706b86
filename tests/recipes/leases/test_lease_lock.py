"""A lease on a store in memory: what it believes, and what it leaves."""

import time

import pytest

from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.leases import lease_lock
from rumpus.recipes.leases.lease_lock import Granted, LeaseLock
from rumpus.recipes.requests.session import Unanswered


class Store:
    """A server with one key; ``silent``: how many of the next requests it does not answer."""

    def __init__(self):
        self.value = None
        self.tokens = 0
        self.silent = 0
        self.asked = []

    def answer(self):
        if self.silent:
            self.silent -= 1
            raise Unanswered("no answer")


class MemoryLock(LeaseLock):
    system, library = "memory", "none"

    def _try(self, owner):
        store = self._servers
        store.asked.append(owner)
        taken = store.value is None
        if taken:
            store.value = owner
            store.tokens += 1
        store.answer()
        return Granted(store.tokens) if taken else None

    def _remove(self, owner):
        store = self._servers
        removed = store.value == owner
        if removed:
            store.value = None
        store.answer()
        return removed

    def left(self):
        return [] if self._servers.value is None else [self._key]


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def lock(store):
    return MemoryLock(store, "/lock")


def test_a_grant_is_believed_for_less_than_its_time_to_live(lock, store):
    assert not lock.held
    before = time.monotonic()
    assert lock.acquire(1.0)
    assert lock.held
    assert lock.session == store.value
    assert lock.token == 1
    assert lock.remaining() + before < time.monotonic() + lease_lock.TTL_S
    lock.release()
    assert not lock.held
    assert lock.left() == []


def test_a_lease_that_is_over_is_not_believed_and_cannot_be_released(lock, store, monkeypatch):
    monkeypatch.setattr(lease_lock, "TTL_S", 0.05)
    assert lock.acquire(1.0)
    time.sleep(0.06)
    assert not lock.held
    store.value = 7  # another's
    with pytest.raises(NotHeld, match="had ended"):
        lock.release()
    assert store.value == 7


def test_an_attempt_ends_with_its_timeout(lock, store):
    store.value = 7
    assert not lock.acquire(0.0)
    assert not lock.acquire(0.05)
    with pytest.raises(NotHeld, match="not held"):
        lock.release()


def test_each_try_has_a_value_of_its_own(lock, store):
    # The removal of an old value, which a frozen server performs late, must not remove a new one.
    store.silent = 1
    assert lock.acquire(1.0)
    assert len(store.asked) == len(set(store.asked)) == 2


def test_a_try_without_an_answer_is_undone(lock, store):
    store.silent = 1
    assert not lock.acquire(0.0)
    assert store.value is None


def test_what_can_not_be_undone_is_unknown(lock, store):
    store.silent = 3
    with pytest.raises(LockUnknown, match="no answer"):
        lock.acquire(0.0)


def test_a_release_is_repeated_until_it_is_answered(lock, store):
    assert lock.acquire(1.0)
    store.silent = 1
    with pytest.raises(NotHeld):  # it had been removed by the try without an answer
        lock.release()
    assert store.value is None


def test_a_release_without_answers_is_unknown(store):
    lock = MemoryLock(store, "/lock", grace=0.03)
    assert lock.acquire(1.0)
    store.silent = 1000
    with pytest.raises(LockUnknown):
        lock.release()
    assert not lock.held


def test_a_grant_that_came_too_late_is_given_back(lock, store, monkeypatch):
    monkeypatch.setattr(lease_lock, "TTL_S", 0.001)
    assert not lock.acquire(0.0)
    assert store.value is None
