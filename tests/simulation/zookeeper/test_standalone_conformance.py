import pytest

from rumpus.conformance.registry import CHECKS
from rumpus.conformance.server_checks import perform
from tests.simulation.zookeeper.raw_client import World

OF_ONE_SERVER = [number for number, check in sorted(CHECKS.items()) if check.needs == "server"]


@pytest.mark.parametrize("number", OF_ONE_SERVER)
def test_a_standalone_server_behaves_like_a_real_one(number):
    world = World()
    world.start()
    perform(CHECKS[number], world)
    world.tear_down()
