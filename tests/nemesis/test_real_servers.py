"""Server faults against real servers; clients and links are the model's."""

import time

import pytest

from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import VERSION, FaultPlan
from rumpus.nemesis.runner import Nemesis
from rumpus.nemesis.targets import Targets

pytestmark = pytest.mark.docker


@pytest.fixture
def break_for(ensemble, make_world):
    """Starts a fault and gives a function that stops it; real time passes."""

    def start(kind, duration, **targets):
        entry = Entry(id=1, at=0, kind=kind, targets=Targets(**targets), duration=duration)
        world = make_world()
        nemesis = Nemesis(
            FaultPlan(version=VERSION, entries=(entry,)),
            ensemble,
            world.links,
            world.clients,
            world.lock,
            seed=0,
        )
        return nemesis.invoke("start", {"id": 1}), lambda: nemesis.invoke("stop", {"id": 1})

    return start


@pytest.mark.parametrize(
    ("kind", "targets", "duration"),
    [
        ("kill", {"role": "leader"}, 3.0),
        ("pause", {"role": "leader"}, 4.0),
        ("partition", {"shape": "isolate-leader"}, 4.0),
    ],
)
def test_a_fault_on_the_leader_is_in_force_deposes_it_and_is_healed(
    ensemble, break_for, eventually, kind, targets, duration
):
    leader = ensemble.leader()
    started, stop = break_for(kind, duration, **targets)
    assert started["verified"], started["detail"]
    assert started["targets"] == [leader]
    eventually(lambda: ensemble.leader() not in {None, leader}, within=duration + 5)
    stopped = stop()
    assert stopped["verified"], stopped["detail"]
    assert all(ensemble.serves(node) for node in ensemble.nodes)
    assert ensemble.grudge() == {}


@pytest.mark.parametrize("shape", ["bridge", "one-way", "minority-majority"])
def test_shapes_of_partition_are_in_force_and_healed(ensemble, break_for, shape):
    started, stop = break_for("partition", 0.5, shape=shape)
    assert started["verified"], started["detail"]
    assert started["grudge"] == {n: sorted(who) for n, who in ensemble.grudge().items()}
    stopped = stop()
    assert stopped["verified"], stopped["detail"]


def test_heal_all_mends_real_servers(ensemble, make_world):
    world = make_world()
    plan = FaultPlan(version=VERSION)
    nemesis = Nemesis(plan, ensemble, world.links, world.clients, world.lock, seed=0)
    ensemble.kill("n1")
    ensemble.pause("n2")
    ensemble.partition({"n3": frozenset({"n1"})})
    began = time.monotonic()
    healed = nemesis.heal_all()
    print(f"healed in {time.monotonic() - began:.1f} s")
    assert healed["verified"], healed["detail"]
    assert {value["targets"][0] for value in healed["healed"]} == {"network", "n1", "n2"}
    assert all(ensemble.serves(node) for node in ensemble.nodes)
