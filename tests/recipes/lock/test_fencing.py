import threading

import pytest
from kazoo.exceptions import BadVersionError, NoNodeError

from rumpus.recipes.lock.catalogue import LOCKS
from rumpus.recipes.lock.fenced_lock import FencedLock
from rumpus.recipes.lock.fencing import MemoryFence, StaleToken, ZooKeeperFence
from rumpus.recipes.outcomes import OutcomeUnknown


@pytest.fixture
def data(crowd, path):
    crowd.bystander.ensure_path(f"{path}/data")
    return f"{path}/data"


def to(data, words):
    return lambda transaction: transaction.set_data(data, words)


def test_a_memory_fence_refuses_lower_tokens_and_those_without():
    fence, done = MemoryFence(), []
    fence.act(33, lambda: done.append(33))
    fence.act(33, lambda: done.append(33))
    fence.act(34, lambda: done.append(34))
    for stale in (33, None):
        with pytest.raises(StaleToken):
            fence.act(stale, lambda: done.append("stale"))
    assert done == [33, 33, 34]


def test_an_action_behind_a_memory_fence_is_alone():
    fence, inside = MemoryFence(), []

    def act():
        inside.append(1)
        assert len(inside) == 1
        inside.clear()

    threads = [
        threading.Thread(target=lambda: [fence.act(1, act) for _ in range(50)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_what_comes_under_a_lower_token_is_refused_as_a_whole(crowd, path, data):
    ours, others = (ZooKeeperFence(crowd[number], f"{path}/fence") for number in (0, 1))
    (stat,) = ours.write(33, to(data, b"ours"))
    assert stat.version == 1
    others.write(34, to(data, b"others"))
    with pytest.raises(StaleToken, match="34 has been seen"):
        ours.write(33, to(data, b"late"))
    with pytest.raises(StaleToken):
        ours.write(None, to(data, b"without"))
    others.write(34, to(data, b"again"))
    assert crowd.data(data) == b"again"


def test_a_fence_can_be_raised_before_anything_is_written(crowd, path, data):
    ours, others = (ZooKeeperFence(crowd[number], f"{path}/fence") for number in (0, 1))
    assert others.write(34) == []
    with pytest.raises(StaleToken):
        ours.write(33, to(data, b"late"))


def test_writers_under_one_token_do_not_disturb_each_other(crowd, path, data):
    fences = [ZooKeeperFence(crowd[number], f"{path}/fence") for number in (0, 1)]

    def write(fence):
        for _ in range(10):
            fence.write(7, to(data, b"x"))

    for call in [crowd.in_thread(write, fence) for fence in fences]:
        call.result()
    assert crowd.stat(data).version == 20


def test_a_refused_change_is_told_and_raises_nothing(crowd, path, data):
    fence = ZooKeeperFence(crowd[0], f"{path}/fence")
    with pytest.raises(NoNodeError):
        fence.write(5, to(f"{path}/nowhere", b"x"))
    with pytest.raises(BadVersionError):
        fence.write(5, lambda transaction: transaction.set_data(data, b"x", 17))
    fence.write(4, to(data, b"still welcome"))


def test_without_an_answer_nobody_knows(crowd, path, data):
    fence = ZooKeeperFence(crowd[0], f"{path}/fence")
    fence.write(1, to(data, b"x"))
    crowd.links.cut(0, "black-hole")
    with pytest.raises(OutcomeUnknown):
        fence.write(1, to(data, b"y"), timeout=0.3)


def test_a_lock_that_has_passed_on_cannot_write(crowd, path, data):
    stale, holder = (FencedLock(crowd[number], path) for number in (0, 1))
    assert stale.acquire()
    token = stale.token
    stale.fence.write(token, to(data, b"first"))
    crowd.end_session(0)
    assert holder.acquire(timeout=20)
    holder.fence.write(holder.token, to(data, b"second"))
    crowd.let_find_out(0)
    with pytest.raises(StaleToken):
        stale.fence.write(token, to(data, b"late"))
    with pytest.raises(StaleToken):
        stale.fence.write(FencedLock(crowd[0], path).token, to(data, b"without a grant"))
    assert crowd.data(data) == b"second"


def test_a_memory_of_one_knows_nothing_of_others(crowd, path, data):
    ours, others = (LOCKS["memory-fence"].recipe(crowd[number], path).fence for number in (0, 1))
    others.write(34, to(data, b"34"))
    ours.write(33, to(data, b"33"))
    assert crowd.data(data) == b"33"


@pytest.mark.parametrize(("name", "late"), [("look-then-write", True), ("fenced", False)])
def test_between_a_look_and_a_write_another_may_come(crowd, path, data, name, late):
    kind = LOCKS[name].recipe
    ours, others = (kind(crowd[number], path).fence for number in (0, 1))
    ours.write(33)

    def change(transaction):
        if not overtaken:
            overtaken.append(others.write(34, to(data, b"34")))
        transaction.set_data(data, b"33")

    overtaken = []
    if late:
        ours.write(33, change)
    else:
        with pytest.raises(StaleToken):
            ours.write(33, change)
    assert crowd.data(data) == (b"33" if late else b"34")


def test_who_compares_with_at_most_refuses_the_holder(crowd, path, data):
    fence = LOCKS["refuses-equal"].recipe(crowd[0], path).fence
    fence.write(33, to(data, b"first"))
    with pytest.raises(StaleToken):
        fence.write(33, to(data, b"second"))


def test_counters_of_clients_are_no_tokens(crowd, path):
    first, second = (LOCKS["local-counter"].recipe(crowd[number], path) for number in (0, 1))
    tokens = []
    for lock in (first, first, second):
        assert lock.acquire()
        tokens.append(lock.token)
        lock.release()
    assert tokens == [1, 2, 1]
