import pytest

from tests.simulation.zookeeper.engine import Engine


@pytest.fixture
def engine():
    return Engine()


@pytest.fixture
def client(engine):
    return engine.connect()
