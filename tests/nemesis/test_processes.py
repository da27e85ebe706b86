from random import Random

import pytest

from rumpus.nemesis.entry import Entry
from rumpus.nemesis.registry import make_fault
from rumpus.nemesis.targets import Targets

CLIENTS = [("client-pause", "paused"), ("client-kill", "dead")]


def injected(world, kind, **targets):
    entry = Entry(id=1, at=1, kind=kind, targets=Targets(**targets), duration=2)
    fault = make_fault(entry, world.context(), Random(0))
    fault.choose()
    fault.inject()
    return fault


@pytest.mark.parametrize(("kind", "state"), [("kill", "dead"), ("pause", "paused")])
def test_the_leader_is_stopped_another_leads_and_it_comes_back(make_world, kind, state):
    world = make_world()
    fault = injected(world, kind, role="leader")
    assert fault.in_force() == (True, f"{state} and not serving")
    assert fault.targets == ["n3"]
    assert world.servers.state("n3") == state
    assert world.servers.leader() == "n1"
    fault.heal()
    assert fault.healed(15) == (True, "serving again")
    assert world.whole()


@pytest.mark.parametrize("kind", ["kill", "pause"])
def test_it_is_not_in_force_while_a_stopped_server_serves(make_world, kind):
    world = make_world()
    fault = injected(world, kind, names=("n1", "n2"))
    world.servers.serves = lambda node: node == "n2"
    found = fault.in_force()
    assert not found.ok
    assert "n2: " in found.detail
    assert "and serving" in found.detail


@pytest.mark.parametrize("kind", ["kill", "pause"])
def test_a_server_is_healed_only_when_it_serves(make_world, kind):
    world = make_world()
    fault = injected(world, kind, names=("n1",))
    fault.heal()
    world.servers._ready["n1"] = 1e9
    assert fault.healed(5) == (False, "not serving again within 5 s: n1 is running")


def test_what_came_back_by_itself_is_left_alone(make_world):
    world = make_world()
    fault = injected(world, "kill", names=("n1",))
    world.servers.restart("n1")
    calls = len(world.servers.calls)
    fault.heal()
    assert len(world.servers.calls) == calls


def test_a_majority_can_be_stopped_and_comes_back(make_world):
    world = make_world(nodes=5)
    fault = injected(world, "kill", role="majority")
    assert len(fault.targets) == 3
    assert fault.in_force().ok
    assert world.servers.leader() is None
    fault.heal()
    assert fault.healed(15).ok
    assert world.whole()


def test_a_server_that_cannot_serve_yet_for_want_of_others_counts_as_healed_when_it_runs(
    make_world,
):
    world = make_world()
    first, second = injected(world, "kill", names=("n1",)), injected(world, "kill", names=("n2",))
    third = injected(world, "kill", names=("n3",))
    first.heal()
    found = first.healed(15)
    assert found.ok
    assert "whether they serve shows when the other faults are healed" in found.detail
    second.heal()
    third.heal()
    assert third.healed(15) == (True, "serving again")


@pytest.mark.parametrize(("kind", "state"), CLIENTS)
def test_clients_are_stopped_and_come_back(make_world, kind, state):
    world = make_world()
    fault = injected(world, kind, names=("c1", 3))
    assert fault.in_force() == (True, state)
    assert fault.targets == ["c1", "c3"]
    assert [world.clients.state(c) for c in range(5)].count(state) == 2
    fault.heal()
    assert fault.healed(15) == (True, "running and connected again")
    assert world.whole()


@pytest.mark.parametrize(("kind", "state"), CLIENTS)
def test_the_holder_is_stopped_while_it_holds_and_its_session_expires(make_world, kind, state):
    world = make_world()
    world.clock.sleep(0.1)
    holder = world.lock.holder()
    fault = injected(world, kind, role="holder")
    assert fault.targets == [f"c{holder}"]
    assert fault.in_force().ok
    assert world.clients.calls[0] == ("pause", holder)
    assert world.clients.state(holder) == state
    world.clock.sleep(3)
    assert world.lock.expired_holders == [holder]


@pytest.mark.parametrize(("kind", "state"), CLIENTS)
def test_it_is_not_in_force_while_a_client_still_runs(make_world, kind, state):
    world = make_world()
    fault = injected(world, kind, names=(1, 2))
    world.clients._states[2] = "running"
    found = fault.in_force()
    assert not found.ok
    assert f"c1: {state}, c2: running" in found.detail


def test_a_paused_client_that_died_is_started_again(make_world):
    world = make_world()
    fault = injected(world, "client-pause", names=(1,))
    world.clients.kill(1)
    fault.heal()
    assert fault.healed(15).ok


def test_a_client_that_is_cut_off_by_another_fault_counts_as_healed_when_it_runs(make_world):
    world = make_world()
    fault = injected(world, "client-pause", names=(1,))
    world.links.cut(1, "black-hole")
    fault.heal()
    assert fault.healed(15).ok


def test_a_client_is_not_healed_before_it_is_connected(make_world):
    world = make_world()
    fault = injected(world, "client-kill", names=(1,))
    fault.heal()
    world.links.connected_to = lambda _client: None
    assert fault.healed(5) == (False, "not connected again within 5 s: c1 is running")


def test_without_a_quorum_no_connection_is_asked_for(make_world):
    world = make_world()
    fault = injected(world, "client-pause", names=(1,))
    world.servers.kill("n1")
    world.servers.kill("n2")
    fault.heal()
    found = fault.healed(15)
    assert found.ok
    assert "whether they connect shows when the servers are healed" in found.detail
