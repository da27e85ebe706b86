from rumpus.nemesis.recovery import can_serve, clients_back, servers_back


def test_servers_are_back_once_they_run_and_serve(make_world):
    world = make_world()
    world.servers.kill("n1")
    assert servers_back(["n1"], world.context(), 2) == (
        False,
        "not serving again within 2 s: n1 is dead",
    )
    world.servers.restart("n1")
    began = world.clock.now
    assert servers_back(["n1"], world.context()).ok
    assert world.clock.now - began >= world.servers.BOOT


def test_a_quorum_is_in_the_way_of_nothing_when_too_few_run_or_a_partition_lies_between(make_world):
    world = make_world()
    assert can_serve(world.context())
    world.servers.kill("n1")
    assert can_serve(world.context())
    world.servers.pause("n2")
    assert not can_serve(world.context())
    world.servers.resume("n2")
    world.servers.partition({"n2": {"n3"}})
    assert not can_serve(world.context())


def test_a_server_behind_a_partition_need_only_run(make_world):
    world = make_world()
    world.servers.partition({"n1": {"n2", "n3"}})
    found = servers_back(["n1"], world.context())
    assert found.ok
    assert "when the other faults are healed" in found.detail


def test_clients_are_back_once_they_run_and_are_connected(make_world):
    world = make_world()
    world.clients.pause(1)
    assert not clients_back([0, 1], world.context(), 2).ok
    world.clients.resume(1)
    assert clients_back([0, 1], world.context()).ok
