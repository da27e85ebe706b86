"""Clients, each behind links of its own, whose sessions a test can end."""

import socket
import threading
import time

from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState
from kazoo.retry import KazooRetry

CLIENTS = 6
SESSION_TIMEOUT = 4.0


def started(hosts, **options):
    patience = KazooRetry(max_tries=-1, delay=0.02, max_delay=0.2)
    client = KazooClient(hosts=hosts, timeout=SESSION_TIMEOUT, connection_retry=patience, **options)
    client.start()
    return client


def stop(client):
    client.stop()
    client.close()


def eventually(condition, *, within=120.0):
    """Wait until a condition holds, and give what it returned."""
    deadline = time.monotonic() + within
    while not (held := condition()):
        assert time.monotonic() < deadline, f"not within {within:.0f} s"
        time.sleep(0.05)
    return held


def hold_once(lock, *how):
    """Acquire and release in one thread; whether it was held."""
    granted = lock.acquire(*how)
    held = lock.held
    if granted:
        lock.release()
    return granted and held


def watches_at(server):
    """How many watches a server keeps, by its word ``wchs``."""
    host, port = server.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(b"wchs")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    return int(answer.rpartition(b"Total watches:")[2])


class Crowd:
    """Clients numbered from 0, started when first asked for.

    Args:
        direct: connection string that leads past the links.
        links: what the clients' connections go through (``harness.links.links.Links``).
    """

    def __init__(self, direct, links):
        self.links = links
        self._direct = direct
        self._clients = {}
        self._threads = []
        self.bystander = started(self._direct)

    def __getitem__(self, number):
        if number not in self._clients:
            self._clients[number] = started(self.links.hosts(number))
        return self._clients[number]

    def children(self, path):
        """What stands under a path, by everything that was committed before the call."""
        self.bystander.sync(path)
        return self.bystander.get_children(path) if self.bystander.exists(path) else []

    def stat(self, path):
        """What a node is, None if it is not there, by everything committed before the call."""
        self.bystander.sync(path)
        return self.bystander.exists(path)

    def data(self, path):
        """What a node holds, likewise."""
        self.bystander.sync(path)
        return self.bystander.get(path)[0]

    def watches(self):
        """How many watches the servers keep for clients."""
        return sum(map(watches_at, self._direct.split(",")))

    def end_session(self, number):
        """Let the servers end a client's session while it cannot reach them."""
        identity = self[number].client_id
        self.links.cut(number, "reset")
        stop(started(self._direct, client_id=identity))

    def let_find_out(self, number):
        """Let a client find out that its session has ended; its next one has begun then."""
        found_out = threading.Event()

        def listener(state):
            if state == KazooState.LOST:
                found_out.set()

        self[number].add_listener(listener)
        self.links.heal(number)
        assert found_out.wait(20)
        self[number].remove_listener(listener)
        assert eventually(lambda: self[number].connected)

    def expire(self, number):
        """End a client's session, and let it find out."""
        self.end_session(number)
        self.let_find_out(number)

    def in_thread(self, function, *arguments):
        """Run a call in a thread of its own; its outcome comes from ``result()``."""
        call = Call(function, arguments)
        self._threads.append(call)
        call.start()
        return call

    def close(self):
        self.links.heal()
        for client in [*self._clients.values(), self.bystander]:
            stop(client)
        for thread in self._threads:
            thread.join(20)
            assert not thread.is_alive(), "a call has not come back"


class Call(threading.Thread):
    def __init__(self, function, arguments):
        super().__init__(daemon=True)
        self._function = function
        self._arguments = arguments
        self._value = None
        self._error = None

    def run(self):
        try:
            self._value = self._function(*self._arguments)
        except Exception as error:
            self._error = error

    def result(self):
        self.join(30)
        assert not self.is_alive(), "the call has not come back"
        if self._error is not None:
            raise self._error
        return self._value
