import time

import pytest

from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.read_write.catalogue import READ_WRITE_LOCKS
from rumpus.recipes.read_write.read_write_lock import ReadWriteLock
from rumpus.recipes.read_write.revocable_lock import UNLOCK, RevocableReadWriteLock
from tests.recipes.crowd import hold_once

# The bare variants of kazoo's recipes repair nothing and promise less.
SOUND = [
    name
    for name, recipe in READ_WRITE_LOCKS.items()
    if not recipe.faulty and not name.endswith("bare")
]


@pytest.mark.parametrize("name", SOUND)
def test_readers_hold_together_and_a_writer_alone(crowd, path, name):
    one, two, writer = (READ_WRITE_LOCKS[name].recipe(crowd[number], path) for number in range(3))
    assert one.acquire("read", 10)
    assert two.acquire("read", 10)
    assert (one.held, two.held, one.token) == (True, True, None)
    assert not writer.acquire("write", 0.3)
    one.release()
    waiting = crowd.in_thread(hold_once, writer, "write", 30)
    time.sleep(0.2)
    assert waiting.is_alive()
    two.release()
    assert waiting.result()
    assert writer.acquire("write", 10)
    assert writer.token == crowd.stat(writer.node).czxid
    assert not one.acquire("read", 0.3)
    writer.release()
    assert crowd.children(path) == []


@pytest.mark.parametrize("name", SOUND)
def test_a_reader_does_not_pass_a_writer_who_waits(crowd, path, name, eventually):
    one, two, writer = (READ_WRITE_LOCKS[name].recipe(crowd[number], path) for number in range(3))
    assert one.acquire("read", 10)
    writing = crowd.in_thread(hold_once, writer, "write", 30)
    eventually(lambda: len(crowd.children(path)) == 2)
    assert not two.acquire("read", 0.3)
    one.release()
    assert writing.result()


def test_who_waits_watches_the_nearest_in_its_way(crowd, path, eventually):
    locks = [ReadWriteLock(crowd[number], path) for number in range(5)]
    assert locks[0].acquire("write", 10)
    node = locks[0].node
    modes = ["read", "read", "write", "read"]
    calls = []
    for number, mode in enumerate(modes, start=1):
        calls.append(crowd.in_thread(hold_once, locks[number], mode, 30))
        eventually(lambda number=number: len(crowd.children(path)) == number + 1)
    eventually(lambda: crowd.watches() == len(modes))
    crowd.links.watch_events()
    locks[0].release()
    assert all(call.result() for call in calls)
    events = crowd.links.watch_events()
    assert sorted(event.client for event in events if event.path == node) == [1, 2]


def test_a_request_is_seen_whenever_it_came(crowd, path):
    holder, other = (RevocableReadWriteLock(crowd[number], path) for number in (0, 1))
    assert holder.acquire("write", 10)
    assert not holder.asked(0)
    waiting = crowd.in_thread(holder.asked, 20)
    assert other.revoke() == (holder.node,)
    assert waiting.result()
    assert crowd.data(holder.node) == UNLOCK
    assert holder.held
    assert holder.asked(0)  # it refused, and is still asked
    holder.release()
    assert holder.acquire("read", 10)
    assert not holder.asked(0)
    other.revoke()
    assert holder.asked(5)  # written before its first look, if its server has it by then
    holder.release()


def test_a_request_during_a_reconnect_is_not_lost(crowd, path, eventually):
    holder, other = (RevocableReadWriteLock(crowd[number], path) for number in (0, 1))
    assert holder.acquire("write", 10)
    waiting = crowd.in_thread(holder.asked, 20)
    time.sleep(0.2)
    crowd.links.cut(0, "reset")
    eventually(lambda: not crowd[0].connected)
    assert other.revoke() == (holder.node,)
    crowd.links.heal(0)
    assert waiting.result()
    holder.release()


def test_all_who_hold_are_asked_and_nobody_else(crowd, path):
    one, two, other = (RevocableReadWriteLock(crowd[number], path) for number in range(3))
    assert other.revoke() == ()
    assert one.acquire("read", 10)
    assert two.acquire("read", 10)
    assert other.revoke() == (one.node, two.node)
    assert one.revoke() == (two.node,)
    two.release()
    one.release()


def test_asked_says_when_there_is_nothing_to_let_go_of(crowd, path):
    lock = RevocableReadWriteLock(crowd[0], path)
    with pytest.raises(NotHeld, match="not held"):
        lock.asked()
    assert lock.acquire("write", 10)
    crowd.expire(0)
    with pytest.raises(NotHeld, match="lost"):
        lock.asked()


def test_who_cannot_look_or_ask_says_so(crowd, path, eventually):
    lock = RevocableReadWriteLock(crowd[0], path)
    assert lock.acquire("write", 10)
    crowd.links.cut(0, "reset")
    eventually(lambda: not crowd[0].connected)
    with pytest.raises(LockUnknown, match="could not look"):
        lock.asked(0)
    with pytest.raises(LockUnknown, match="cannot tell"):
        lock.revoke(0.2)
    crowd.links.heal(0)
