"""A setData after a setACL that forbids it is refused.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import make_acl

HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
ROUNDS = 50
READ_ONLY = [make_acl("world", "anyone", read=True, admin=True)]


@pytest.fixture
def client():
    client = KazooClient(HOSTS)
    client.start()
    yield client
    client.stop()
    client.close()


def test_nobody_writes_a_znode_that_was_made_read_only(client):
    written = 0
    for _ in range(ROUNDS):
        path = "/set-acl-" + uuid.uuid4().hex
        client.create(path, b"before")
        locking = client.set_acls_async(path, READ_ONLY)
        writing = client.set_async(path, b"after")
        locking.get()
        try:
            writing.get()
        except NoAuthError:
            pass
        else:
            written += 1
        client.delete(path)
    assert written == 0, "requests were carried out after the setACL that forbids them"
