"""The answer to an authentication is taken for that to an earlier request.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.states import ZnodeStat

HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
WRITES = 20


@pytest.fixture
def client():
    client = KazooClient(HOSTS)
    client.start()
    yield client
    client.stop()
    client.close()


@pytest.fixture
def path():
    cleaner = KazooClient(HOSTS)
    cleaner.start()
    path = cleaner.create("/kazoo-test-" + uuid.uuid4().hex)
    yield path
    cleaner.delete(path)
    cleaner.stop()
    cleaner.close()


def test_every_request_gets_its_own_answer(client, path):
    writes = [client.set_async(path, b"%d" % number) for number in range(WRITES)]
    client.add_auth_async("digest", "somebody:secret")

    wrong = [answer for answer in map(outcome, writes) if not isinstance(answer, ZnodeStat)]
    assert not wrong, f"set was answered with {wrong[0]}"


def outcome(answer):
    try:
        return answer.get(timeout=10)
    except Exception as error:
        return error
