import json
import re
import signal
import socket
import struct
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from tests.sampling import one_in


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
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{22}", control)
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


MEGABYTE = 1_000_000


def frame(body):
    return struct.pack(">i", len(body)) + body


def get_data(path, xid):
    text = path.encode()
    return frame(struct.pack(">ii", xid, 4) + struct.pack(">i", len(text)) + text + b"\0")


def multi_read(path, xid, times):
    text = path.encode()
    one = struct.pack(">ibi", 4, 0, -1) + struct.pack(">i", len(text)) + text + b"\0"
    return frame(struct.pack(">ii", xid, 22) + one * times + struct.pack(">ibi", -1, 1, -1))


def shake_hands(connection):
    handshake = struct.pack(">iqiq", 0, 0, 30_000, 0) + struct.pack(">i", 16) + bytes(16)
    connection.sendall(frame(handshake + b"\0"))
    assert len(connection.recv(100)) > 20


def peak_megabytes(server):
    used = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", used)[1]) / 1000


def test_one_request_cannot_ask_for_more_than_the_memory_has(program):
    server = program("sim-server", "--nodes", 1, "--port", 0)
    address = server.process.stdout.readline().strip().split(":")
    client = KazooClient(":".join(address))
    client.start(30)
    client.create("/large", bytes(MEGABYTE // 2))
    with socket.create_connection(address) as greedy:
        shake_hands(greedy)
        greedy.sendall(multi_read("/large", 1, 10_000))  # 5 GB
        greedy.settimeout(30)
        assert greedy.recv(100) == b""  # closed
    with socket.create_connection(address) as deaf:
        shake_hands(deaf)
        deaf.sendall(b"".join(multi_read("/large", xid, 100) for xid in range(1, 61)))  # 3 GB
        for _ in range(40):
            client.get("/large")
        assert peak_megabytes(server) < 400
        deaf.settimeout(30)
        left = 200 * MEGABYTE
        while left > 0:
            left -= len(deaf.recv(1 << 20))
    client.stop()
    client.close()
    server.interrupt()
    assert server.end().code == 0


@pytest.mark.parametrize("nodes", [1, 3])
def test_a_client_that_does_not_read_costs_little_and_holds_nobody_back(program, nodes):
    server = program("sim-server", "--nodes", nodes, "--port", 0)
    hosts = server.process.stdout.readline().strip()
    address = hosts.split(",")[0].split(":")
    client = KazooClient(":".join(address))
    client.start(30)
    client.create("/large", bytes(MEGABYTE))
    with socket.create_connection(address) as deaf:
        shake_hands(deaf)
        deaf.setblocking(False)
        # A client chooses the numbers of its requests: half of these have one that is not positive.
        asked = b"".join(get_data("/large", xid % 2) for xid in range(1, 20_001))
        deaf.send(asked)  # as much as the buffers take: many thousands
        longest = 0.0
        for _ in range(40):
            began = time.monotonic()
            client.get("/large")
            longest = max(longest, time.monotonic() - began)
        assert peak_megabytes(server) < 400
        assert longest < 5
        # Who reads in the end gets every answer.
        deaf.setblocking(True)
        deaf.settimeout(30)
        left = 200 * MEGABYTE
        while left > 0:
            left -= len(deaf.recv(1 << 20))
    client.stop()
    client.close()
    server.interrupt()
    assert server.end().code == 0


def read_frame(connection):
    (left,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
    got = 0
    while got < left:
        got += len(connection.recv(min(1 << 20, left - got)))
    return got


@one_in(10)
def test_clients_that_do_not_read_cost_little_together_and_make_way(program):
    server = program("sim-server", "--nodes", 1, "--port", 0)
    address = server.process.stdout.readline().strip().split(":")
    client = KazooClient(":".join(address))
    client.start(30)
    client.create("/large", bytes(MEGABYTE))
    with ExitStack() as stack:
        deaf = [stack.enter_context(socket.create_connection(address)) for _ in range(12)]
        for connection in deaf:
            shake_hands(connection)
        for connection in deaf:
            connection.sendall(multi_read("/large", 1, 60))
        reading = stack.enter_context(socket.create_connection(address))
        shake_hands(reading)
        for xid in range(1, 41):  # small ones are answered at once
            reading.sendall(get_data("/large", xid))
            assert read_frame(reading) > MEGABYTE
        assert peak_megabytes(server) < 500
        reading.settimeout(40)
        reading.sendall(multi_read("/large", 41, 60))  # waits until somebody is reset
        assert read_frame(reading) > 60 * MEGABYTE
        assert peak_megabytes(server) < 500
    client.stop()
    client.close()
    server.interrupt()
    answer = server.end()
    assert answer.code == 0
    assert "nothing for 5 s while others wait: connection reset" in " ".join(answer.err.split())


@one_in(10)
def test_many_clients_that_ask_for_little_more_than_the_kernel_takes_cost_little_together(program):
    server = program("sim-server", "--nodes", 1, "--port", 0)
    address = server.process.stdout.readline().strip().split(":")
    client = KazooClient(":".join(address))
    client.start(30)
    client.create("/large", bytes(MEGABYTE))
    client.create("/small", b"x")
    with ExitStack() as stack:
        deaf = [stack.enter_context(socket.create_connection(address)) for _ in range(400)]
        for connection in deaf:
            shake_hands(connection)
        for connection in deaf:
            connection.sendall(b"".join(get_data("/large", xid) for xid in range(1, 8)))
        for _ in range(20):
            client.get("/small")
        client.get("/large")  # waits until somebody is reset
        assert peak_megabytes(server) < 400
    client.stop()
    client.close()
    server.interrupt()
    assert server.end().code == 0
