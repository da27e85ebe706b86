from random import Random

import pytest

from rumpus.nemesis.entry import Entry
from rumpus.nemesis.registry import make_fault
from rumpus.nemesis.targets import Targets

KINDS = [("client-pause", "paused"), ("client-kill", "dead")]


def strike(world, kind, **targets):
    entry = Entry(id=1, at=1, kind=kind, targets=Targets(**targets), duration=2)
    fault = make_fault(entry, world.context(), Random(0))
    fault.choose()
    fault.inject()
    return fault


@pytest.mark.parametrize(("kind", "state"), KINDS)
def test_clients_are_stopped_and_come_back(make_world, kind, state):
    world = make_world()
    fault = strike(world, kind, names=("c1", 3))
    assert fault.in_force() == (True, state)
    assert fault.targets == ["c1", "c3"]
    assert [world.clients.state(c) for c in range(5)].count(state) == 2
    fault.heal()
    assert fault.healed(15) == (True, "running and connected again")
    assert world.whole()


@pytest.mark.parametrize(("kind", "state"), KINDS)
def test_the_holder_is_struck_while_it_holds_and_its_session_expires(make_world, kind, state):
    world = make_world()
    world.clock.sleep(0.1)
    holder = world.lock.holder()
    fault = strike(world, kind, role="holder")
    assert fault.targets == [f"c{holder}"]
    assert fault.in_force().ok
    assert world.clients.calls[0] == ("pause", holder)
    assert world.clients.state(holder) == state
    world.clock.sleep(3)
    assert world.lock.expired_holders == [holder]


@pytest.mark.parametrize(("kind", "state"), KINDS)
def test_it_is_not_in_force_while_one_still_runs(make_world, kind, state):
    world = make_world()
    fault = strike(world, kind, names=(1, 2))
    world.clients._states[2] = "running"
    found = fault.in_force()
    assert not found.ok
    assert f"c1: {state}, c2: running" in found.detail


def test_a_paused_client_that_died_is_started_again(make_world):
    world = make_world()
    fault = strike(world, "client-pause", names=(1,))
    world.clients.kill(1)
    fault.heal()
    assert fault.healed(15).ok


def test_a_client_that_is_cut_off_by_another_fault_counts_as_healed_when_it_runs(make_world):
    world = make_world()
    fault = strike(world, "client-pause", names=(1,))
    world.links.cut(1, "black-hole")
    fault.heal()
    assert fault.healed(15).ok


def test_it_is_not_healed_before_it_is_connected(make_world):
    world = make_world()
    fault = strike(world, "client-kill", names=(1,))
    fault.heal()
    world.links.connected_to = lambda _client: None
    assert fault.healed(5) == (False, "not connected again within 5 s: c1 is running")


def test_without_a_quorum_no_connection_is_asked_for(make_world):
    world = make_world()
    fault = strike(world, "client-pause", names=(1,))
    world.servers.kill("n1")
    world.servers.kill("n2")
    fault.heal()
    found = fault.healed(15)
    assert found.ok
    assert "whether they connect shows when the servers are healed" in found.detail
