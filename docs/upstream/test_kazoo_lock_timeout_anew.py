"""Lock.acquire with a timeout waits that long anew whenever the client before it gives up.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import time
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock

HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
SHORT, LONG = 1, 2  # seconds


@pytest.fixture
def connect():
    clients = []

    def make(kind=KazooClient):
        client = kind(HOSTS)
        client.start()
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.stop()
        client.close()


@pytest.fixture
def path(connect):
    client = connect()
    top = "/kazoo-test-" + uuid.uuid4().hex
    client.create(top)
    yield top + "/lock"
    client.delete(top, recursive=True)


def wait_in_vain(lock, timeout):
    with pytest.raises(LockTimeout):
        lock.acquire(timeout=timeout)


def test_acquire_takes_no_longer_than_its_timeout(connect, path):
    holder, impatient, patient = (Lock(connect(), path) for _ in range(3))
    assert holder.acquire()
    before = threading.Thread(target=wait_in_vain, args=(impatient, SHORT))
    before.start()
    while len(holder.contenders()) < 2:
        time.sleep(0.01)

    began = time.monotonic()
    wait_in_vain(patient, LONG)
    seconds = round(time.monotonic() - began)
    before.join()
    assert seconds == LONG, f"acquire(timeout={LONG}) has waited for {seconds} s"
