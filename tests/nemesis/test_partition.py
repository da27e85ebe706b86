from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.harness.ensemble import without_connection
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.grudges import connections, majority, minority
from rumpus.nemesis.partition import Partition, shape_grudge
from rumpus.nemesis.targets import SHAPES, Targets


def partition(world, seed=0, **targets):
    entry = Entry(id=1, at=1, kind="partition", targets=Targets(**targets), duration=2)
    fault = Partition(entry, world.context(), Random(seed))
    fault.choose()
    return fault


def names(count):
    return [f"n{i}" for i in range(1, count + 1)]


def sizes(nodes, grudge):
    return sorted(len(seen) for seen in connections(nodes, grudge).values())


@given(st.integers(0, 1000), st.integers(4, 7))
def test_shapes_are_what_their_names_say(seed, count):
    nodes = names(count)
    grudges = {shape: shape_grudge(shape, nodes, "n2", Random(seed)) for shape in SHAPES}
    alone = [1] + [count - 1] * (count - 1)
    for shape in ("isolate-leader", "isolate-holder-server", "one-way"):
        assert sizes(nodes, grudges[shape]) == alone
        assert connections(nodes, grudges[shape])["n2"] == {"n2"}
    few = minority(count)
    assert sizes(nodes, grudges["minority-majority"]) == sorted(
        [few] * few + [count - few] * (count - few)
    )
    half = count // 2
    assert sizes(nodes, grudges["random-halves"]) == sorted(
        [half] * half + [count - half] * (count - half)
    )
    assert sizes(nodes, grudges["bridge"])[-1] == count
    assert all(majority(count) <= size < count for size in sizes(nodes, grudges["majorities-ring"]))
    refusals = {(node, other) for node, who in grudges["one-way"].items() for other in who}
    assert not any((other, node) in refusals for node, other in refusals)


def test_who_stands_where_is_drawn():
    for shape in ("minority-majority", "random-halves", "bridge", "one-way", "majorities-ring"):
        drawn = {
            str(sorted(shape_grudge(shape, names(5), "n1", Random(s)).items())) for s in range(30)
        }
        assert len(drawn) > 1, shape


def test_the_leader_is_isolated(make_world):
    world = make_world()
    fault = partition(world, shape="isolate-leader")
    assert fault.targets == ["n3"]
    fault.inject()
    assert fault.in_force().ok
    assert world.servers.leader() in {"n1", "n2"}
    assert fault.record() == {"grudge": {"n1": ["n3"], "n2": ["n3"], "n3": ["n1", "n2"]}}


def test_the_holders_server_is_isolated(make_world):
    world = make_world()
    world.links.cut(world.lock.holder(), "reset", ["n1"])
    assert partition(world, shape="isolate-holder-server").targets == ["n2"]


def test_without_a_leader_somebody_is_isolated_and_the_words_say_so(make_world):
    world = make_world()
    world.servers.kill("n1")
    world.servers.kill("n2")
    assert (
        partition(world, shape="isolate-leader").reason
        == "isolate-leader (any: there was no leader)"
    )


def test_named_servers_are_cut_from_the_rest(make_world):
    fault = partition(make_world(nodes=5), names=("n1", 2))
    assert fault.targets == ["n1", "n2"]
    assert len(without_connection(fault.grudge)) == 6


def test_a_grudge_is_taken_as_it_is_given(make_world):
    fault = partition(make_world(), grudge={"n1": ("n2",)})
    assert fault.grudge == {"n1": {"n2"}}
    assert fault.targets == ["n1", "n2"]


def test_it_is_not_in_force_when_another_grudge_reads_back(make_world):
    world = make_world()
    fault = partition(world, names=("n1",))
    world.servers.partition({"n1": {"n2", "n3"}})  # cuts the same pairs, one way
    found = fault.in_force()
    assert not found.ok
    assert found.detail.endswith("the nodes' packet filters say n1 refuses n2 n3")


def test_it_is_not_in_force_when_a_cut_pair_connects_all_the_same(make_world):
    world = make_world()
    fault = partition(world, names=("n1",))
    fault.inject()
    world.servers.reaches = lambda source, target: {source, target} != {"n1", "n2"}
    assert fault.in_force().detail.endswith(": n1 reaches n3")


def test_it_is_not_in_force_when_everything_is_broken(make_world):
    world = make_world()
    fault = partition(world, names=("n1",))
    fault.inject()
    world.servers.reaches = lambda _source, _target: False
    assert not fault.in_force().ok


def test_servers_that_do_not_run_are_not_tried(make_world):
    world = make_world(nodes=5)
    world.servers.kill("n1")
    fault = partition(world, names=("n1", "n2"))
    fault.inject()
    tried = []
    reaches = world.servers.reaches
    world.servers.reaches = lambda a, b: tried.append((a, b)) or reaches(a, b)
    assert fault.in_force().ok
    assert set(tried) == {("n2", "n3"), ("n2", "n4"), ("n2", "n5"), ("n3", "n4")}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_injected_and_healed(make_world, shape):
    world = make_world(nodes=5)
    fault = partition(world, shape=shape)
    fault.inject()
    assert fault.in_force().ok
    assert fault.targets
    fault.heal()
    assert fault.healed(15).ok
    assert world.whole()


def test_it_is_not_healed_while_servers_cannot_reach_each_other(make_world):
    world = make_world()
    fault = partition(world, names=("n1",))
    fault.inject()
    fault.heal()
    world.servers.reaches = lambda source, _target: source != "n1"
    found = fault.healed(5)
    assert not found.ok
    assert "not healed within 5 s" in found.detail


def test_it_is_not_healed_before_all_serve_again(make_world):
    world = make_world()
    fault = partition(world, names=("n1",))
    fault.inject()
    fault.heal()
    world.servers._ready["n1"] = 10.0
    assert fault.healed(5) == (False, "not serving again within 5 s: n1 is running")
    assert fault.healed(15).ok
