"""A write is applied once on each server, also on one that still waits for a `sync` of its session.

Needs pytest and what starts a ZooKeeper server: ZOOKEEPER_SERVER, a command that takes the path of
a configuration as its last argument; by default java, with the jars of ZOOKEEPER_HOME. It starts
three servers on free ports of 127.0.0.1, and stops them.
"""

import contextlib
import os
import shlex
import socket
import struct
import subprocess
import threading
import time

import pytest

HOME = os.environ.get("ZOOKEEPER_HOME", "/opt/zookeeper")
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
SERVER = os.environ.get("ZOOKEEPER_SERVER", f"java -cp '{HOME}/lib/*:{HOME}/*' {MAIN}")
CREATE, DELETE, EXISTS, SYNC = 1, 2, 3, 9
NO_NODE = -101
DELAY = 1.0
"""Seconds that the first server's requests take to the leader, once that is slow."""


class HungUpError(OSError):
    """The server has closed the connection."""


class Relay:
    """A port that leads to another one, and may be slow in that direction; never in the other."""

    def __init__(self, port):
        self.slow = threading.Event()
        self._open = []
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        for one in (self._listener, *self._open):
            one.close()

    def _accept(self):
        while True:
            try:
                came, _ = self._listener.accept()
            except OSError:
                return
            try:
                onward = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                came.close()
                continue
            self._open += [came, onward]
            for pair, late in (((came, onward), True), ((onward, came), False)):
                threading.Thread(target=self._pass, args=(*pair, late), daemon=True).start()

    def _pass(self, one, other, late):
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                if late and self.slow.is_set():
                    time.sleep(DELAY)
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Connection:
    """A client's connection that numbers its requests itself, as each client may."""

    def __init__(self, port, session=0, password=bytes(16)):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        try:
            self._send(struct.pack(">iqiq", 0, 0, 20_000, session) + _buffer(password))
            answer = self._receive()
        except BaseException:
            self._socket.close()
            raise
        _, timeout, self.session = struct.unpack_from(">iiq", answer)
        self.password = answer[20:36]
        assert timeout > 0, "the session is not accepted"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def send(self, xid, kind, body):
        self._send(struct.pack(">ii", xid, kind) + body)

    def call(self, xid, kind, body):
        """The error of an answer; 0 if there is none."""
        self.send(xid, kind, body)
        answered, _, error = struct.unpack_from(">iqi", self._receive())
        assert answered == xid
        return error

    def _send(self, data):
        self._socket.sendall(_buffer(data))

    def _receive(self):
        (length,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(length)

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                raise HungUpError
            data += more
        return data


def _buffer(data):
    return struct.pack(">i", len(data)) + data


def create(path):
    anyone = struct.pack(">ii", 1, 31) + _buffer(b"world") + _buffer(b"anyone")
    return _buffer(path) + _buffer(b"") + anyone + struct.pack(">i", 0)


def delete(path):
    return _buffer(path) + struct.pack(">i", -1)


def exists(path):
    return _buffer(path) + b"\0"


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


@pytest.fixture
def servers(tmp_path):
    """Client ports of three servers, of which the third leads, and the way from 1 to 3."""
    clients, quorums, elections = free_ports(3), free_ports(3), free_ports(3)
    relay = Relay(quorums[2])
    with contextlib.closing(relay), contextlib.ExitStack() as running:
        for number in (1, 3, 2):  # of two servers, the one with the greater number leads
            home = tmp_path / str(number)
            home.mkdir()
            (home / "myid").write_text(str(number))
            lines = [f"dataDir={home}", f"clientPort={clients[number - 1]}"]
            lines += ["tickTime=2000", "initLimit=10", "syncLimit=5", "admin.enableServer=false"]
            for other in (1, 2, 3):
                there = relay.port if (number, other) == (1, 3) else quorums[other - 1]
                lines.append(f"server.{other}=127.0.0.1:{there}:{elections[other - 1]}")
            (home / "zoo.cfg").write_text("\n".join(lines) + "\n")
            running.enter_context(started(home))
            if number == 3:
                wait_for(clients[0])
        wait_for(clients[1])
        yield clients, relay


@contextlib.contextmanager
def started(home):
    command = [*shlex.split(SERVER), str(home / "zoo.cfg")]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=home, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        server.terminate()
        server.wait(30)


def wait_for(port):
    end = time.monotonic() + 60
    while True:
        try:
            with Connection(port):
                return
        except (OSError, AssertionError):
            assert time.monotonic() < end, "the servers do not come up"
            time.sleep(0.2)


def test_a_sync_is_not_taken_for_a_write(servers):
    (first, second, _), relay = servers
    with Connection(first) as reader, Connection(first) as moving:
        relay.slow.set()
        moving.send(2, SYNC, _buffer(b"/"))
        time.sleep(0.1)
        with Connection(second, moving.session, moving.password) as moved:
            assert moved.call(2, CREATE, create(b"/k")) == 0
            assert moved.call(3, DELETE, delete(b"/k")) == 0
            time.sleep(0.1)
            try:
                assert reader.call(1, EXISTS, exists(b"/k")) == NO_NODE
            except HungUpError:
                pytest.fail("the server serves nobody any more: see the end of its log")
            time.sleep(2 * DELAY)
            assert moved.call(4, EXISTS, exists(b"/k")) == NO_NODE
            back = reader.call(2, EXISTS, exists(b"/k")) == 0
    assert not back, "a znode that was deleted is back on one server"
