import pytest

from rumpus.recipes.counter.catalogue import COUNTERS
from rumpus.recipes.counter.receipt_counter import AdditionUnknown, Counter
from rumpus.recipes.outcomes import NotDone

SOUND = [name for name, recipe in COUNTERS.items() if not recipe.faulty]


@pytest.mark.parametrize("name", SOUND)
def test_everybodys_additions_are_counted(crowd, path, name):
    def add(counter):
        return [counter.add(amount, 20) for amount in (1, 2, -1, 5)]

    counters = [COUNTERS[name].recipe(crowd[number], path) for number in range(4)]
    totals = [crowd.in_thread(add, counter) for counter in counters]
    assert max(max(call.result()) for call in totals) >= 7 * 4
    assert [counter.read(5) for counter in counters] == [28] * 4


def test_kazoos_counter_and_ours_read_each_other(crowd, path):
    ours, theirs = Counter(crowd[0], path), COUNTERS["kazoo"].recipe(crowd[1], path)
    assert ours.add(3) == 3
    assert theirs.add(4) == 7
    assert ours.add(1) == 8
    assert theirs.read() == 8


def test_a_lost_reply_is_added_once(crowd, path):
    counter = Counter(crowd[0], path)
    assert counter.add(1) == 1
    crowd.links.cut(0, "lost-reply")
    assert counter.add(1, timeout=20) == 2
    assert not crowd.links.in_force(0)
    assert counter.read() == 2


def test_an_unknown_addition_is_added_once_under_its_key(crowd, path):
    counter = Counter(crowd[0], path, name="me", grace=0.2)
    assert counter.add(1) == 1
    crowd.links.cut(0, "to-client")
    with pytest.raises(AdditionUnknown) as unknown:
        counter.add(10, timeout=0.1)
    with pytest.raises(NotDone):
        counter.read(timeout=0.1)
    crowd.links.heal(0)
    again = Counter(crowd[1], path, name="me")  # another process, under the same name
    assert again.add(10, timeout=20, key=unknown.value.key) == 11
    assert again.add(10, timeout=20, key=unknown.value.key) == 11
    assert again.add(10) == 21
    assert counter.read(20) == 21


def test_a_receipt_can_be_forgotten(crowd, path):
    counter = Counter(crowd[0], path)
    counter.add(1)
    assert len(crowd.children(path)) == 1
    counter.forget()
    counter.forget()
    assert crowd.children(path) == []
    assert counter.add(1) == 2
    with pytest.raises(ValueError, match="not an absolute znode path"):
        Counter(crowd[0], "counter")
