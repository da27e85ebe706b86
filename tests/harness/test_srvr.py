import socket
import threading

import pytest

from rumpus.harness.srvr import Srvr, ask, parse

LEADER = """\
Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on 2022-02-25 08:49 UTC
Latency min/avg/max: 0/0.0/0
Received: 3
Sent: 2
Connections: 1
Outstanding: 0
Zxid: 0x30000001f
Mode: leader
Node count: 5
Proposal sizes last/min/max: -1/-1/-1
"""


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def answering(listener, answer):
    def serve():
        connection, _ = listener.accept()
        with connection:
            connection.recv(4)
            connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_answer_of_a_leader():
    assert parse(LEADER) == Srvr("leader", 0x30000001F)
    assert parse(LEADER).epoch == 3


@pytest.mark.parametrize("mode", ["follower", "observer", "standalone", "read-only"])
def test_other_modes(mode):
    assert parse(LEADER.replace("leader", mode)).mode == mode


@pytest.mark.parametrize(
    "answer",
    [
        "This ZooKeeper instance is not currently serving requests\n",
        "srvr is not executed because it is not in the whitelist.\n",
        "",
        LEADER.partition("Mode")[0],
        LEADER.replace("leader", "usurper"),
    ],
)
def test_what_is_not_an_answer_of_a_serving_node(answer):
    assert parse(answer) is None


def test_asks_over_tcp(listener):
    thread = answering(listener, LEADER.encode())
    assert ask(listener.getsockname()) == Srvr("leader", 0x30000001F)
    thread.join()


def test_server_that_hangs_up_at_once_does_not_serve(listener):
    thread = answering(listener, b"")
    assert ask(listener.getsockname()) is None
    thread.join()


def test_server_that_accepts_and_says_nothing_does_not_serve(listener):
    assert ask(listener.getsockname(), timeout=0.05) is None


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = closed.getsockname()
    assert ask(address) is None
