from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.nemesis.targets import (
    PIN_TRIES,
    SETTLE,
    TargetError,
    Targets,
    choose_clients,
    choose_servers,
    pin,
)

seeds = st.integers(0, 1000)


class Scripted:
    """A lock whose holder is another at every look: one item of the script each."""

    def __init__(self, script):
        self.script = list(script)

    def holder(self):
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def next_in_line(self):
        return None


def servers(world, seed=0, **targets):
    return choose_servers(Targets(**targets), world.context(), Random(seed))


def clients(world, seed=0, **targets):
    context = world.context()
    return choose_clients(
        Targets(**targets), context, Random(seed), eligible=context.running_clients
    )


def test_names_and_numbers_mean_the_same():
    assert Targets(names=("n2", 3)).servers() == ["n2", "n3"]
    assert Targets(names=("c2", 0)).clients() == [2, 0]


@given(seeds, st.integers(3, 7))
def test_server_roles_resolve_to_the_right_sets(make_world, seed, count):
    world = make_world(nodes=count)
    everyone = set(world.servers.nodes)
    leader = world.servers.leader()
    holder_server = world.links.connected_to(world.lock.holder())
    assert servers(world, seed, role="leader").names == [leader]
    assert set(servers(world, seed, role="followers").names) == everyone - {leader}
    assert servers(world, seed, role="holder-server").names == [holder_server]
    assert set(servers(world, seed, role="all").names) == everyone
    for role, size in (("one", 1), ("minority", (count - 1) // 2), ("majority", count // 2 + 1)):
        chosen = servers(world, seed, role=role).names
        assert len(chosen) == len(set(chosen)) == size
        assert set(chosen) <= everyone


def test_every_server_has_its_turn(make_world):
    world = make_world()
    assert {servers(world, seed, role="one").names[0] for seed in range(50)} == {"n1", "n2", "n3"}


@given(seeds)
def test_only_servers_that_run_are_chosen(make_world, seed):
    world = make_world(nodes=5)
    world.servers.kill("n1")
    world.servers.pause("n2")
    for role in ("one", "minority", "majority", "all", "followers", "leader", "holder-server"):
        assert set(servers(world, seed, role=role).names) <= {"n3", "n4", "n5"}


def test_without_a_leader_any_server_is_struck_after_a_while_and_the_words_say_so(make_world):
    world = make_world()
    world.servers.kill("n1")
    world.servers.kill("n2")
    chosen = servers(world, role="leader")
    assert chosen.names == ["n3"]
    assert "there was no leader" in chosen.words
    assert world.clock.now >= 5


def test_a_leader_that_is_being_elected_is_waited_for(make_world):
    world = make_world()
    world.servers.kill("n1")
    world.servers.kill("n2")
    world.clock.later(1, lambda: world.servers.restart("n2"))
    chosen = servers(world, role="leader")
    assert chosen.words == "the leader"
    assert 2 < world.clock.now < 3


def test_without_a_holder_any_server_is_struck(make_world):
    world = make_world()
    world.lock._queue = []
    assert "nobody held" in servers(world, role="holder-server").words


def test_named_servers_must_run(make_world):
    world = make_world()
    assert servers(world, names=("n1", 3)).names == ["n1", "n3"]
    world.servers.kill("n1")
    with pytest.raises(TargetError, match="n1 is dead already"):
        servers(world, names=("n1",))


def test_no_server_left_is_an_error(make_world):
    world = make_world()
    for node in world.servers.nodes:
        world.servers.kill(node)
    with pytest.raises(TargetError, match="no server is running"):
        servers(world, role="one")


@given(seeds, st.integers(1, 8))
def test_client_roles_resolve_to_the_right_sets(make_world, seed, count):
    world = make_world(clients=count)
    assert clients(world, seed, role="all").clients == list(range(count))
    assert len(clients(world, seed, role="one").clients) == 1
    some = clients(world, seed, role="random").clients
    assert 1 <= len(set(some)) == len(some) <= max(1, count - 1)
    holder = world.lock.holder()
    assert clients(world, seed, role="holder") == ([holder], [holder], "the holder (try 1)")
    assert world.clients.state(holder) == "paused"


def test_the_next_in_line_is_frozen_as_the_holder_is(make_world):
    world = make_world()
    following = world.lock.next_in_line()
    caught = clients(world, role="next-in-line")
    assert caught.clients == caught.pinned == [following]
    assert following != world.lock.holder()


def test_only_clients_that_run_are_chosen(make_world):
    world = make_world()
    world.clients.kill(1)
    world.clients.pause(2)
    for seed in range(20):
        for role in ("one", "random", "all"):
            assert set(clients(world, seed, role=role).clients) <= {0, 3, 4}
    with pytest.raises(TargetError, match="c1 is dead"):
        clients(world, names=(1,))
    assert clients(world, names=("c3", 0)).clients == [3, 0]


def test_no_client_left_is_an_error(make_world):
    world = make_world(clients=1)
    world.clients.kill(0)
    for role in ("one", "holder"):
        with pytest.raises(TargetError, match="no client is left"):
            clients(world, role=role)


def test_a_holder_that_let_go_meanwhile_goes_on_and_the_next_one_is_tried(make_world):
    world = make_world()
    world.lock = Scripted([1, 2, 3, 3])
    caught = clients(world, role="holder")
    assert caught == ([3], [3], "the holder (try 2)")
    assert world.clients.calls == [("pause", 1), ("resume", 1), ("pause", 3)]
    assert [world.clients.state(c) for c in (1, 3)] == ["running", "paused"]
    assert world.clock.now == pytest.approx(2 * SETTLE)


def test_nobody_holding_for_a_moment_is_waited_out(make_world):
    world = make_world()
    world.lock = Scripted([None, None, 4])
    assert clients(world, role="holder").pinned == [4]


def test_a_holder_that_cannot_be_caught_is_replaced_in_words(make_world):
    world = make_world()
    world.lock = Scripted([0, 1, 2, 3, 4] * 100)
    caught = clients(world, role="holder")
    assert caught.pinned == []
    assert caught.words == f"any: could not catch the holder in {PIN_TRIES} tries"
    assert world.context().running_clients() == [0, 1, 2, 3, 4]
    assert world.clock.now < 2.1


def test_the_hunt_ends_after_two_seconds_even_if_each_try_is_slow(make_world):
    world = make_world()
    world.lock = Scripted([None])
    slow = world.clock.sleep
    world.clock.sleep = lambda seconds: slow(seconds + 0.3)
    assert "could not catch" in clients(world, role="holder").words
    assert 2 <= world.clock.now < 2.5


def test_nobody_stays_frozen_when_the_hunt_breaks_down(make_world):
    world = make_world()

    looks = []

    def breaks():
        if looks:
            raise OSError("lost sight")
        looks.append(2)
        return 2

    context = world.context()
    with pytest.raises(OSError, match="lost sight"):
        pin(breaks, "the holder", context, Random(0), context.running_clients)
    assert world.clients.state(2) == "running"


def test_a_holder_that_another_fault_froze_is_the_holder_for_certain(make_world):
    world = make_world()
    holder = world.lock.holder()
    world.clients.pause(holder)
    caught = pin(world.lock.holder, "the holder", world.context(), Random(0), lambda: [holder])
    assert caught == ([holder], [], "the holder")
