"""TreeCache tells its listeners that a node was added after it has told that it was removed.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import time
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.recipe.cache import TreeCache, TreeEvent

HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")


@pytest.fixture
def client():
    client = KazooClient(HOSTS)
    client.start()
    yield client
    client.stop()
    client.close()


@pytest.fixture
def path(client):
    path = client.create("/kazoo-test-" + uuid.uuid4().hex)
    yield path
    client.delete(path, recursive=True)


def test_a_node_that_was_deleted_is_not_shown_by_a_listener(client, path):
    there = set()
    shown, busy, go_on = threading.Event(), threading.Event(), threading.Event()

    def listen(event):
        if event.event_type in (TreeEvent.NODE_ADDED, TreeEvent.NODE_UPDATED):
            there.add(event.event_data.path)
        elif event.event_type == TreeEvent.NODE_REMOVED:
            there.discard(event.event_data.path)
        if path + "/node" in there:
            shown.set()
        if event.event_type == TreeEvent.NODE_UPDATED and event.event_data.data == b"slow":
            busy.set()
            go_on.wait(10)

    client.create(path + "/node")
    cache = TreeCache(client, path)
    cache.listen(listen)
    cache.start()
    assert shown.wait(10)
    client.set(path, b"slow")
    assert busy.wait(10)

    # While the listener has its time, the node changes, and is deleted.
    client.set(path + "/node", b"new")
    time.sleep(0.5)
    client.delete(path + "/node")
    time.sleep(0.5)
    go_on.set()
    time.sleep(0.5)
    cache.close()
    ghosts = [each[len(path) :] for each in there if each != path]
    assert ghosts == [], f"the listener still shows {ghosts}, which was deleted a second ago"
