import pytest

from tests.simulation.zookeeper.raw_client import World


@pytest.fixture
def world():
    world = World()
    world.start()
    yield world
    world.tear_down()
