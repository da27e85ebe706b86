import pytest
from kazoo.client import KazooClient


@pytest.fixture
def client(zk):
    client = KazooClient(zk.hosts)
    client.start(20)
    yield client
    client.stop()
    client.close()
