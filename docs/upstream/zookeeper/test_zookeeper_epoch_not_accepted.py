"""Who leads with an epoch has it in its file `acceptedEpoch`, so that it can be started again.

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
import time

import pytest

HOME = os.environ.get("ZOOKEEPER_HOME", "/opt/zookeeper")
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
SERVER = os.environ.get("ZOOKEEPER_SERVER", f"java -cp '{HOME}/lib/*:{HOME}/*' {MAIN}")
EPOCHS = ("acceptedEpoch", "currentEpoch")


class Server:
    """One of three servers."""

    def __init__(self, number, place, clients, quorums, elections):
        self.home = place / str(number)
        self.files = self.home / "version-2"
        self._port = clients[number - 1]
        self._process = None
        self.home.mkdir()
        (self.home / "myid").write_text(str(number))
        lines = [f"dataDir={self.home}", f"clientPort={self._port}"]
        lines += ["tickTime=500", "initLimit=10", "syncLimit=5", "admin.enableServer=false"]
        lines += ["4lw.commands.whitelist=srvr"]
        # Without the third there is no quorum, so that nobody else is elected.
        lines += ["group.1=1:2:3", "weight.1=1", "weight.2=1", "weight.3=2"]
        lines += [
            f"server.{n}=127.0.0.1:{quorum}:{election}"
            for n, (quorum, election) in enumerate(zip(quorums, elections, strict=True), 1)
        ]
        (self.home / "zoo.cfg").write_text("\n".join(lines) + "\n")

    def start(self):
        command = [*shlex.split(SERVER), str(self.home / "zoo.cfg")]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self.home, stdout=log, stderr=subprocess.STDOUT
            )

    def stop(self):
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def mode(self):
        """`leader`, `follower`, or None if it does not serve."""
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=2) as connection:
                connection.sendall(b"srvr")
                answer = b"".join(iter(lambda: connection.recv(4096), b""))
        except OSError:
            return None
        lines = answer.decode().splitlines()
        return next((line[6:] for line in lines if line.startswith("Mode: ")), None)

    def serves(self):
        return self.mode() in ("leader", "follower")

    def wait_until_it_serves(self):
        end = time.monotonic() + 60
        while not self.serves():
            if self._process.poll() is not None:
                epochs = " and ".join(f"{name} {self.epoch(name)}" for name in EPOCHS)
                pytest.fail(f"the server does not start, with {epochs}")
            assert time.monotonic() < end, "the server does not serve"
            time.sleep(0.1)

    def begin_session(self):
        """A transaction, which a quorum has when this returns."""
        end = time.monotonic() + 60
        while not self._is_answered():
            assert time.monotonic() < end, "the server begins no session"
            time.sleep(0.1)

    def _is_answered(self):
        """Whether a request for a session is; not by a server that has just left its quorum."""
        request = struct.pack(">iqiqi16s?", 0, 0, 5000, 0, 16, bytes(16), False)
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=5) as connection:
                connection.sendall(struct.pack(">i", len(request)) + request)
                return bool(connection.recv(1))
        except OSError:
            return False

    def epoch(self, name):
        return int((self.files / name).read_text())


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


@pytest.fixture
def servers(tmp_path):
    """Three servers that have been up once, and are stopped."""
    ports = [free_ports(3) for _ in range(3)]
    made = [Server(number, tmp_path, *ports) for number in (1, 2, 3)]
    with contextlib.ExitStack() as stopping:
        for server in made:
            stopping.callback(server.stop)
            server.start()
        for server in made:
            server.wait_until_it_serves()
        # There is no quorum without the third, so nobody has a later transaction than it, and it
        # is elected again. What a start leaves behind may be later on a follower than on a leader.
        made[0].begin_session()
        for server in made:
            server.stop()
        yield made


def test_a_leader_has_accepted_its_epoch(servers):
    first, second, leader = servers
    obstacle = leader.files / "acceptedEpoch.tmp"
    obstacle.mkdir()  # a full disk, or one that fails, does the same
    for server in (leader, first, second):
        server.start()
    end = time.monotonic() + 40
    while not leader.serves() and time.monotonic() < end:
        time.sleep(0.1)
    obstacle.rmdir()
    leader.wait_until_it_serves()
    leader.stop()
    leader.start()
    leader.wait_until_it_serves()
