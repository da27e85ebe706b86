from random import Random

import pytest

from rumpus.nemesis.client_partition import CUTS, ClientPartition, LostReply
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.registry import make_fault
from rumpus.nemesis.targets import TargetError, Targets


def cut(world, how="black-hole", nodes=None, context=None, **targets):
    entry = Entry(
        id=1,
        at=1,
        kind="client-partition",
        targets=Targets(**targets),
        duration=2,
        options={"how": how, "nodes": nodes},
    )
    fault = make_fault(entry, context or world.context(), Random(0))
    fault.choose()
    fault.inject()
    return fault


@pytest.mark.parametrize("how", CUTS)
def test_every_way_of_cutting_is_in_force_and_healed(make_world, how):
    world = make_world()
    fault = cut(world, how, names=(1, "c2"))
    assert fault.in_force().ok
    assert world.links.in_force(1) == dict.fromkeys(["n1", "n2", "n3"], how)
    assert world.links.in_force(0) == {}
    assert fault.record()["how"] == how
    world.clock.sleep(2)
    fault.heal()
    assert fault.healed(15).ok
    assert world.whole()


def test_a_client_can_be_cut_from_some_servers_only(make_world):
    world = make_world()
    fault = cut(world, nodes=("n1",), names=(1,))
    assert fault.in_force().ok
    assert world.links.in_force(1) == {"n1": "black-hole"}
    assert world.links.connected_to(1) == "n2"


def test_it_is_not_in_force_when_links_are_cut_in_another_way(make_world):
    world = make_world()
    fault = cut(world, "reset", names=(1,))
    world.links.cut(1, "black-hole")
    found = fault.in_force()
    assert not found.ok
    assert "c1: {'n1': 'black-hole'" in found.detail


def test_the_holder_is_frozen_only_until_it_is_cut_off(make_world):
    world = make_world()
    holder = world.lock.holder()
    fault = cut(world, role="holder")
    assert fault.targets == [f"c{holder}"]
    assert world.clients.calls == [("pause", holder), ("resume", holder)]
    world.clock.sleep(3)
    assert world.lock.expired_holders == [holder]


def test_the_holder_goes_on_even_if_its_links_cannot_be_cut(make_world):
    world = make_world()
    world.links.failing.add("cut")
    with pytest.raises(OSError, match="cut is out of order"):
        cut(world, role="holder")
    assert world.context().running_clients() == [0, 1, 2, 3, 4]


def test_clients_that_are_cut_or_dead_are_not_struck_again(make_world):
    world = make_world(clients=3)
    world.links.cut(0, "reset")
    world.clients.kill(1)
    assert cut(world, role="all").targets == ["c2"]
    with pytest.raises(TargetError, match="another fault affects it"):
        cut(world, names=(0,))


def test_it_is_not_healed_before_the_client_is_connected(make_world):
    world = make_world()
    fault = cut(world, names=(1,))
    fault.heal()
    world.links.connected_to = lambda _client: None
    found = fault.healed(5)
    assert found == (False, "not connected again within 5 s: c1 is running")


def test_lost_replies_are_a_fault_of_their_own(make_world):
    world = make_world()
    assert type(cut(world, "lost-reply", names=(1,))) is LostReply
    assert type(cut(world, "half-open", names=(2,))) is ClientPartition


def test_a_reply_was_lost_when_at_least_one_client_created_something(make_world):
    world = make_world()
    fault = cut(world, "lost-reply", role="all")
    assert fault.in_force() == (True, "lost-reply armed")
    assert fault.record() == {"how": "lost-reply", "struck": []}
    world.clock.sleep(0.15)
    fault.heal()
    found = fault.healed(15)
    assert found.ok
    struck = fault.record()["struck"]
    assert 1 <= len(struck) < 5
    assert found.detail.startswith(f"replies lost: {', '.join(struck)};")
    assert world.whole()


def test_no_reply_was_lost_when_nobody_created_anything(make_world):
    world = make_world()
    fault = cut(world, "lost-reply", role="all")
    assert fault.in_force().ok
    fault.heal()
    found = fault.healed(15)
    assert not found.ok
    assert found.detail == "no reply was lost: none of these clients created or set anything"
    assert world.whole()


def test_links_that_have_struck_already_count_as_armed(make_world):
    world = make_world()
    fault = cut(world, "lost-reply", role="all")
    world.clock.sleep(3)
    assert not any(world.links.in_force(client) for client in range(5))
    assert fault.in_force().ok


def test_links_that_do_not_arm_are_told(make_world):
    world = make_world()
    world.links.ignored.add("cut")
    assert cut(world, "lost-reply", names=(1,)).in_force() == (
        False,
        "not in force after 5 s: c1: whole",
    )


def test_a_lost_reply_gives_way_to_a_later_cut_and_leaves_it_alone(make_world):
    world = make_world()
    context = world.context()
    waiting = cut(world, "lost-reply", context=context, role="all")
    holder = world.lock.holder()
    later = cut(world, context=context, role="holder")
    assert later.targets == [f"c{holder}"]
    world.clock.sleep(3)
    waiting.heal()
    assert waiting.healed(15).ok
    assert f"c{holder}" not in waiting.record()["struck"]
    assert later.in_force().ok, "healing one mended the other"
    later.heal()
    assert later.healed(15).ok
    assert world.whole()


def test_a_reply_lost_before_a_later_cut_took_over_counts(make_world):
    world = make_world()
    context = world.context()
    waiting = cut(world, "lost-reply", context=context, names=(1,))
    world.links.create(1)
    cut(world, context=context, names=(1,)).heal()
    waiting.heal()
    assert waiting.healed(15).ok
    assert waiting.record()["struck"] == ["c1"]
