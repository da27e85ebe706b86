import threading

import pytest

from rumpus.recipes.breaking.breakable_lock import BlacklistLock, IdentityLock, ServiceBlacklistLock
from rumpus.recipes.breaking.catalogue import BREAKABLE_LOCKS
from rumpus.recipes.contests.interfaces import NotHeld


def shown(client, lock, path):
    """The holder, once the server that the lock's client is connected to has caught up."""
    client.sync(path)
    return lock.holder()


def test_a_hung_holder_is_told_loses_its_session_and_the_lock_passes_on(crowd, path):
    told = threading.Event()
    hung = BlacklistLock(crowd[0], path, name="c0", condemned=told.set)
    other = BlacklistLock(crowd[1], path, name="c1")
    assert hung.acquire(10)
    before = crowd[0].client_id[0]
    stand = shown(crowd[1], other, path)
    assert (stand.node, stand.session, stand.data) == (hung.node, before, b"c0")
    other.blacklist(stand)
    assert other.acquire(10)
    assert told.is_set()
    assert not hung.held
    with pytest.raises(NotHeld):
        hung.release()
    other.release()
    assert hung.acquire(15), "in its next session it may hold again"
    assert hung.session != before
    hung.release()
    assert shown(crowd[1], other, path) is None


@pytest.mark.parametrize("cut", [False, True])
def test_a_session_that_the_service_refuses_expires_although_its_client_lives(crowd, path, cut):
    holder, operator = (
        ServiceBlacklistLock(crowd[number], path, refuse=crowd.links.refuse_session)
        for number in (0, 1)
    )
    assert holder.acquire(20)
    before = crowd[0].client_id[0]
    if cut:
        crowd.links.cut(0, "reset")
    operator.blacklist(shown(crowd[1], operator, path))
    crowd.links.heal(0)
    assert operator.acquire(20), "the lock passes on, and nobody has deleted anything"
    assert not holder.held
    with pytest.raises(NotHeld):
        holder.release()
    operator.release()
    assert holder.acquire(20), "its client has a new session"
    assert holder.session != before
    holder.release()


def test_a_holder_that_is_on_the_list_is_not_let_in_again(crowd, path):
    told, go_on = threading.Event(), threading.Event()

    def condemned():
        told.set()
        go_on.wait(20)

    lock = BlacklistLock(crowd[0], path, condemned=condemned)
    assert lock.acquire(timeout=20)
    operator = BlacklistLock(crowd[1], path)
    operator.blacklist(shown(crowd[1], operator, path))
    assert told.wait(20)
    assert not lock.held
    with pytest.raises(NotHeld):
        lock.acquire(timeout=1)
    go_on.set()
    assert operator.acquire(timeout=20)
    operator.release()
    with pytest.raises(NotHeld):
        lock.release()
    assert lock.acquire(timeout=20)


def test_what_was_put_on_the_list_during_a_lost_connection_is_read_after_it(crowd, path):
    victim, operator = (BlacklistLock(crowd[number], path) for number in (0, 1))
    assert victim.acquire(10)
    crowd.links.cut(0, "reset")
    operator.blacklist(shown(crowd[1], operator, path))
    crowd.links.heal(0)
    assert operator.acquire(15)
    assert not victim.held
    operator.release()


def test_a_waiter_on_the_list_waits_on_in_its_next_session(crowd, path, eventually):
    holder, waiter = (BlacklistLock(crowd[number], path) for number in (0, 1))
    assert holder.acquire(10)
    waiting = crowd.in_thread(waiter.acquire, 20)
    eventually(lambda: len(crowd.children(path)) == 2)
    before = crowd[1].client_id[0]
    stand = holder.holder()
    holder.blacklist(type(stand)(stand.node, before, b"", 0, 0))
    eventually(lambda: (crowd[1].client_id or (before,))[0] != before)
    holder.release()
    assert waiting.result()
    assert waiter.held
    assert waiter.session != before


def test_the_dead_are_freed_at_once_and_only_they(crowd, path):
    dead, heir, supervisor = (IdentityLock(crowd[number], path, name="x") for number in range(3))
    assert dead.acquire(10)
    stand = shown(crowd[2], supervisor, path)
    assert supervisor.identity_of(stand) == dead.identity
    assert len({dead.identity, heir.identity, supervisor.identity}) == 3
    assert supervisor.free(stand)
    assert heir.acquire(10)
    assert not supervisor.free(stand), "what comes late finds nothing"
    assert heir.held
    heir.release()


def test_somebody_who_wrote_to_its_node_since_is_not_freed(crowd, path):
    holder, supervisor = (IdentityLock(crowd[number], path) for number in (0, 1))
    assert holder.acquire(10)
    stand = shown(crowd[1], supervisor, path)
    crowd.bystander.set(holder.node, b"somebody else")
    assert not supervisor.free(stand)
    holder.release()


@pytest.mark.parametrize("name", ["frees-first", "reused-path"])
def test_the_faulty_ones_free_the_successor(crowd, path, name):
    kind = BREAKABLE_LOCKS[name].recipe
    dead, heir, supervisor = (kind(crowd[number], path) for number in range(3))
    assert dead.acquire(10)
    stand = shown(crowd[2], supervisor, path)
    dead.release()
    assert heir.acquire(10)
    crowd[2].sync(path)
    assert supervisor.free(stand)
    with pytest.raises(NotHeld, match="removed by somebody else"):
        heir.release()


def test_without_incarnations_a_process_that_came_back_passes_for_the_dead(crowd, path):
    dead, again = (
        BREAKABLE_LOCKS["no-incarnation"].recipe(crowd[0], path, name="host:7") for _ in range(2)
    )
    assert dead.identity == again.identity


def test_a_client_that_is_started_again_while_it_waits_is_guarded_in_its_next_session(
    crowd, path, eventually
):
    holder, operator = (BlacklistLock(crowd[number], path, name=f"c{number}") for number in (0, 2))
    told = threading.Event()
    waiter = BlacklistLock(crowd[1], path, name="c1", condemned=told.set)
    assert holder.acquire(10)
    waiting = threading.Thread(target=waiter.acquire, args=(60,))
    waiting.start()
    eventually(lambda: len(crowd[2].get_children(path)) >= 2)
    crowd[1].stop()
    crowd[1].start()
    holder.release()
    waiting.join(60)
    assert waiter.held
    operator.blacklist(shown(crowd[2], operator, path))
    assert told.wait(20)
    eventually(lambda: not waiter.held)
