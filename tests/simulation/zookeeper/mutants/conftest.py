"""Every test runs on servers with the mistake and on sound ones."""

import pytest

from rumpus.simulation.zookeeper.mutants.catalogue import SERVER_MUTANTS
from tests.simulation.zookeeper.ensemble import Ensemble
from tests.simulation.zookeeper.raw_client import World


@pytest.fixture(params=[True, False], ids=["mutant", "sound"])
def faulty(request):
    return request.param


@pytest.fixture
def standalone(faulty):
    """Starts one server that has the named mistake, or none."""
    worlds = []

    def start(name, **settings):
        parts = SERVER_MUTANTS[name].parts
        world = World(parts=parts if faulty else {}, **settings)
        worlds.append(world)
        world.start()
        return world

    yield start
    for world in worlds:
        world.tear_down()


@pytest.fixture
def ensemble(faulty):
    """Starts three servers that have the named mistake, or none; n3 leads."""
    worlds = []

    def start(name, **settings):
        parts = SERVER_MUTANTS[name].parts
        world = Ensemble(parts=parts if faulty else {}, check_invariants=False, **settings)
        worlds.append(world)
        assert world.cluster.leader() == "n3"
        return world

    yield start
    for world in worlds:
        world.tear_down()
