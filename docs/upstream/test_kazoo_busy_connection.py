"""A client that sends requests all the time never notices that its connection is dead.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import select
import socket
import threading
import time
from contextlib import suppress

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState

HOST, _, PORT = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181").partition(",")[0].partition(":")
TIMEOUT = 4  # seconds: of the session


class Relay:
    """Passes on what a client and the server send, until it swallows all as a broken cable does."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.swallows = False
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def hosts(self):
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            far = socket.create_connection((HOST, int(PORT or 2181)))
            threading.Thread(target=self.pass_on, args=(near, far), daemon=True).start()

    def pass_on(self, near, far):
        with suppress(OSError), near, far:  # one of them has gone
            self.pass_until_one_hangs_up({near: far, far: near})

    def pass_until_one_hangs_up(self, other):
        while other:
            for ready in select.select(list(other), [], [])[0]:
                data = ready.recv(65536)
                if self.swallows:  # a hang-up, too
                    if not data:
                        del other[ready]
                elif data:
                    other[ready].sendall(data)
                else:
                    return


@pytest.fixture
def relay():
    return Relay()


@pytest.fixture
def client(relay):
    client = KazooClient(relay.hosts, timeout=TIMEOUT)
    client.start()
    yield client
    relay.swallows = False
    client.stop()
    client.close()


@pytest.mark.parametrize("pause", [None, TIMEOUT / 12], ids=["idle", "busy"])
def test_a_dead_connection_is_noticed_before_the_session_is_over(relay, client, pause):
    suspended = threading.Event()
    client.add_listener(lambda state: state != KazooState.CONNECTED and suspended.set())
    relay.swallows = True
    end = time.monotonic() + 3 * TIMEOUT
    while time.monotonic() < end and not suspended.wait(pause or TIMEOUT):
        if pause:
            client.exists_async("/")
    assert suspended.is_set(), "three timeouts have passed, and the client is CONNECTED"
