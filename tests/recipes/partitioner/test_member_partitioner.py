import pytest

from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.partitioner.catalogue import PARTITIONERS
from rumpus.recipes.partitioner.member_partitioner import Partitioner

PARTS = ["a", "b", "c"]


def members(crowd, path, kind, count):
    return [kind(crowd[number], path, PARTS, name=f"m{number}") for number in range(count)]


def follow(member, eventually):
    """Let go when the members have changed, and take the share that is ours now."""
    eventually(lambda: member.changed)
    member.release()
    assert member.acquire(timeout=20)


@pytest.mark.parametrize("name", ["partitioner", "kazoo"])
def test_members_share_the_set(crowd, path, name, eventually):
    one, two = members(crowd, path, PARTITIONERS[name].recipe, 2)
    assert one.acquire(timeout=20)
    assert sorted(one.parts) == PARTS
    assert one.held
    joining = crowd.in_thread(two.acquire, 20)
    follow(one, eventually)
    assert joining.result() is True
    assert sorted([*one.parts, *two.parts]) == PARTS
    assert one.parts
    assert two.parts
    for part in two.parts.values():
        assert crowd.stat(part.node).czxid == part.token
        assert part.session == crowd[1].client_id[0]
    two.leave(timeout=20)
    assert not two.held
    follow(one, eventually)
    assert sorted(one.parts) == PARTS
    one.leave(timeout=20)


def test_a_share_passes_on_when_its_owner_dies(crowd, path, eventually):
    one, two = members(crowd, path, Partitioner, 2)
    assert one.acquire(timeout=20)
    crowd.end_session(0)
    eventually(lambda: not one.held)
    assert two.acquire(timeout=20)
    assert sorted(two.parts) == PARTS
    crowd.let_find_out(0)
    with pytest.raises(NotHeld, match="has ended"):
        one.release()
    two.leave(timeout=20)


def test_who_waits_for_a_part_gives_up_with_nothing(crowd, path):
    one, two = members(crowd, path, Partitioner, 2)
    assert one.acquire(timeout=20)
    assert two.acquire(timeout=0.5) is False
    assert two.parts == {}
    assert not two.held
    with pytest.raises(NotHeld):
        two.release()


def test_without_servers_nobody_can_say(crowd, path):
    (one,) = members(crowd, path, Partitioner, 1)
    assert crowd[0].connected
    crowd.links.cut(0, "black-hole")
    with pytest.raises(LockUnknown):
        one.acquire(timeout=0.3)
    crowd.links.heal(0)
    assert one.acquire(timeout=20)
    one.leave(timeout=20)


def test_who_leaves_without_servers_is_no_member_once_they_are_back(crowd, path):
    one, two = members(crowd, path, Partitioner, 2)
    assert one.acquire(timeout=20)
    crowd.links.cut(0, "black-hole")
    with pytest.raises(LockUnknown):
        one.leave(timeout=0.5)
    crowd.links.heal(0)
    assert two.acquire(timeout=30)
    assert sorted(two.parts) == PARTS, "nobody keeps what the one that left would have"
    two.leave(timeout=20)
