import json
import re
import signal
import socket
import time
import urllib.request

import pytest
from kazoo.client import KazooClient


@pytest.fixture
def taken():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_real_clients_talk_to_it_until_it_is_interrupted(program, number):
    server = program("sim-server", "--nodes", 3, "--observers", 1, "--port", 0)
    hosts = server.process.stdout.readline().strip()
    assert re.fullmatch(r"(127\.0\.0\.1:\d+,){3}127\.0\.0\.1:\d+", hosts)
    server.await_words("Ctrl-C ends it")
    for address in hosts.split(","):
        client = KazooClient(address)
        client.start(30)
        client.ensure_path("/a")
        _, stat = client.get("/a")
        assert abs(stat.ctime / 1000 - time.time()) < 60
        client.stop()
        client.close()
    server.interrupt(number)
    answer = server.end()
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.splitlines()[-1] == "ended"


def test_faults_are_asked_for_over_http(program):
    server = program("sim-server", "--port", 0, "--tick", 0.1, "--control", 0)
    hosts = server.process.stdout.readline().strip()
    control = server.process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", control)
    client = KazooClient(hosts)
    client.start(30)
    client.create("/a", ephemeral=True)
    body = json.dumps({"session": hex(client.client_id[0])}).encode()
    with urllib.request.urlopen(f"{control}/expire", body, timeout=20) as answer:
        assert answer.status == 200
    with urllib.request.urlopen(f"{control}/dump", timeout=20) as answer:
        assert "/a" not in json.load(answer)["znodes"]
    client.stop()
    client.close()
    server.interrupt()
    assert server.end().code == 0


def test_a_control_port_that_is_taken_is_named_with_the_remedy(rumpus, taken):
    answer = rumpus("sim-server", "--port", 0, "--control", taken)
    assert (answer.code, answer.out) == (4, "")
    assert f"port {taken} cannot be had" in answer.err
    assert "--control" in answer.err


def test_a_port_that_is_taken_is_named_with_the_remedy(rumpus, taken):
    answer = rumpus("sim-server", "--nodes", 1, "--port", taken)
    assert (answer.code, answer.out) == (4, "")
    assert f"port {taken} cannot be had" in answer.err
    assert "--port" in answer.err


def test_ports_end_at_65535(rumpus):
    answer = rumpus("sim-server", "--nodes", 3, "--port", 65534)
    assert (answer.code, answer.out) == (2, "")
    assert "choose a lower --port" in answer.err


@pytest.mark.parametrize(
    "words", [["--nodes", 0], ["--port", 65536], ["--seed", "x"], ["--tick", 0], ["--control", -1]]
)
def test_what_cannot_be_is_refused(rumpus, words):
    answer = rumpus("sim-server", *words)
    assert answer.code == 2
    assert words[0] in answer.err
