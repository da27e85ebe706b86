import json
import socket
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from kazoo.client import KazooClient

from rumpus import zookeeper
from rumpus.conformance.registry import CHECKS
from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer
from rumpus.testing import simulated_servers

TICK_S = 0.2


@pytest.fixture
def server(monkeypatch):
    """Start a server whose sessions last from 2 to 20 ticks."""
    monkeypatch.setattr(simulated_servers, "LONGEST_SESSION_S", 0)
    with zookeeper(nodes=1, tick=TICK_S) as zk:
        yield zk


def outcomes(answer):
    return {each["number"]: each["outcome"] for each in json.loads(answer.out)["checks"]}


def test_a_server_that_passes_all_checks(rumpus, server):
    answer = rumpus("conformance", server.hosts)
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    wanted = [number for number, check in sorted(CHECKS.items()) if check.needs == "server"]
    assert lines[-1] == f"{server.hosts}: {len(wanted)} passed, 0 failed, 0 skipped"
    assert "a fresh tree has only /zookeeper/config" in answer.out
    assert not server.dump().znodes  # what the checks made is removed


def test_a_server_that_fails_one(rumpus, server, monkeypatch):
    honest = ZooKeeperServer.answer_word
    monkeypatch.setattr(
        ZooKeeperServer,
        "answer_word",
        lambda self, word: "imno" if word == b"ruok" else honest(self, word),
    )
    answer = rumpus("conformance", server.hosts, "--json")
    assert answer.code == 1
    document = json.loads(answer.out)
    assert (document["failed"], document["tick_ms"]) == (1, 200)
    assert [each["number"] for each in document["checks"] if each["outcome"] == "fail"] == [70]
    (failed,) = (each for each in document["checks"] if each["outcome"] == "fail")
    assert failed["reason"] == "'imno', not 'imok'"


def test_how_its_version_is_known_to_differ_is_told(rumpus, server, monkeypatch):
    known = {"3.8.0": {70: "it is not sure", 71: "this one holds"}}
    monkeypatch.setattr("rumpus.conformance.server_checks.DIFFERENCES", known)
    honest = ZooKeeperServer.answer_word
    monkeypatch.setattr(
        ZooKeeperServer,
        "answer_word",
        lambda self, word: "imno" if word == b"ruok" else honest(self, word),
    )
    answer = rumpus("conformance", server.hosts)
    assert answer.code == 1
    assert "1 failed (1 of them as known of 3.8.0), 0 skipped" in answer.out
    assert "(as in 3.8.0: it is not sure)" in " ".join(answer.out.split())
    assert "this one holds" not in answer.out


def test_what_cannot_be_seen_is_skipped_with_the_reason(rumpus, monkeypatch):
    monkeypatch.setattr(simulated_servers, "LONGEST_SESSION_S", 0)
    with zookeeper(nodes=2, tick=TICK_S) as zk:
        leader = zk.address(zk.leader)
        client = KazooClient(zk.hosts)
        client.start(20)
        client.create("/mine")
        client.stop()
        client.close()
        answer = rumpus("conformance", leader, "--json")
        assert list(zk.dump().znodes) == ["/mine"]
    assert answer.code == 0
    skipped = {n for n, outcome in outcomes(answer).items() if outcome == "skip"}
    assert skipped == {1, 8, 71}
    assert "used before" in answer.out
    assert "not a standalone server: leader" in answer.out


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:", ":2181", "127.0.0.1:0", "a b:1"])
def test_what_is_no_address_is_refused(rumpus, address):
    answer = rumpus("conformance", address)
    assert (answer.code, answer.out) == (2, "")
    assert "is not HOST:PORT" in answer.err


def test_a_port_where_nobody_listens_is_named(rumpus):
    answer = rumpus("conformance", "127.0.0.1:1", "--json")
    assert answer.code == 4
    assert "127.0.0.1:1 cannot be reached" in json.loads(answer.out)["reasons"][0]


def test_a_server_of_something_else_is_named(rumpus):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def hang_up():
            connection, _ = listener.accept()
            connection.recv(100)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        answer = rumpus("conformance", f"127.0.0.1:{port}")
        thread.join()
    assert answer.code == 4
    assert "opens no ZooKeeper session" in answer.err


@pytest.mark.parametrize(
    "reply",
    [
        struct.pack(">iqi", 77, 1, 0),
        b"\0",
        struct.pack(">iqii", 1, 1, 0, 0x7FFFFFFF),
        struct.pack(">iqiii", 1, 1, 0, 1, -7),
        struct.pack(">iqiii", 1, 1, 0, 1, 2) + b"\xff\xfe",
    ],
    ids=["another xid", "short", "long list", "negative", "no text"],
)
def test_a_server_that_answers_otherwise_than_zookeeper_is_named(rumpus, reply):
    """It opens sessions, and has one answer for all requests."""

    def framed(body):
        return struct.pack(">i", len(body)) + body

    def serve(connection):
        with connection:
            first = connection.recv(100)
            if first == b"conf":
                connection.sendall(b"tickTime=2000\n")
            elif len(first) > 4:
                connection.sendall(framed(struct.pack(">iiqi16s?", 0, 4000, 1, 16, b"p" * 16, 0)))
                if connection.recv(100):
                    connection.sendall(framed(reply))

    def listen(listener):
        with ThreadPoolExecutor(8) as threads:
            while (connection := accepted(listener)) is not None:
                threads.submit(serve, connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=listen, args=[listener])
        thread.start()
        answer = rumpus("conformance", f"127.0.0.1:{listener.getsockname()[1]}")
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert answer.code == 4, answer.err
    assert "does not answer as ZooKeeper does" in answer.err


def accepted(listener):
    try:
        return listener.accept()[0]
    except OSError:  # it was shut down
        return None


def test_a_server_that_ends_meanwhile_is_named(rumpus, server, monkeypatch):
    (first,) = (check for number, check in CHECKS.items() if number == 1)
    monkeypatch.setattr("rumpus.conformance.server_checks.CHECKS", {1: first})
    monkeypatch.setattr("rumpus.conformance.server_checks.perform", lambda *_: server.kill("n1"))
    answer = rumpus("conformance", server.hosts)
    assert answer.code == 4
    assert "does not answer any more" in answer.err


def test_without_asserts_nothing_would_fail_so_it_is_refused():
    words = [sys.executable, "-O", "-m", "rumpus.program", "conformance", "127.0.0.1:1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 4
    assert "PYTHONOPTIMIZE" in done.stderr
