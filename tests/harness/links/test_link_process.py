import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rumpus.checker.wire.records import WireRecords
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.links.link_process import LinksError, ProcessLinks

NOWHERE = {"n1": ("127.0.0.1", 1), "n2": ("127.0.0.1", 2)}


@pytest.fixture
def links():
    with ProcessLinks(NOWHERE, clients=2) as running:
        yield running


def is_gone(pid):
    """Whether a process has ended (one that waits to be reaped by its parent has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_every_link_has_an_address_of_its_own(links):
    addresses = [links.address(client, node) for client in (0, 1) for node in NOWHERE]
    assert len(set(addresses)) == 4
    assert {host for host, _ in addresses} == {"127.0.0.1"}
    (_, p1), (_, p2) = addresses[2:]
    assert links.hosts(1) == f"127.0.0.1:{p1},127.0.0.1:{p2}"


def test_closing_ends_the_process_and_frees_the_ports(links):
    address = links.address(0, "n1")
    links.close()
    links.close()
    assert is_gone(links.pid)
    with socket.create_server(address):
        pass
    with pytest.raises(LinksError, match="closed"):
        links.heal()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda links: links.cut(2, "reset"), "no client 2; they are 0 to 1"),
        (lambda links: links.cut(0, "reset", ["n9"]), "no node 'n9'; they are n1, n2"),
        (lambda links: links.delay(0, -1), "cannot be negative"),
        (lambda links: links.address(-1, "n1"), "no client -1"),
        (lambda links: links.heal(7), "no client 7"),
    ],
)
def test_what_does_not_exist_is_named(links, call, says):
    with pytest.raises(ValueError, match=says):
        call(links)
    assert links.in_force(0) == {}


def test_interrupts_are_left_to_the_control_process(links):
    os.kill(links.pid, signal.SIGINT)
    links.cut(0, "reset")
    assert links.in_force(0) == {"n1": "reset", "n2": "reset"}
    assert os.getpgid(links.pid) != os.getpgid(0)


def test_a_proxy_that_died_is_a_clear_error(links):
    os.kill(links.pid, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(LinksError, match=rf"pid {links.pid}\) ended with status -9"):
            links.in_force(0)


def test_a_proxy_that_fails_leaves_its_last_words(links):
    with pytest.raises(LinksError, match=r"(?s)ended with status 1.*no_such_thing"):
        links._call(None, "no_such_thing")


def test_the_answer_to_a_call_cut_short_is_not_taken_for_another(links, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(links, "_answer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            links.in_force(0)
    links.cut(1, "reset", ["n2"])
    assert links.in_force(1) == {"n2": "reset"}


def test_many_threads_may_call_at_once(links):
    failures = []

    def call(client):
        for _ in range(200):
            links.cut(client, "reset", [f"n{client + 1}"])
            if links.in_force(client) != {f"n{client + 1}": "reset"}:
                failures.append(client)
            links.heal(client)

    threads = [threading.Thread(target=call, args=(client,)) for client in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_too_many_ports_for_this_host_is_a_refusal_that_says_what_to_do():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = len(set(Path("/proc/self/fd").iterdir())) + 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    try:
        with pytest.raises(EnvironmentRefusal, match=r"1000 ports.*500 clients.*ulimit -n"):
            ProcessLinks(NOWHERE, clients=500)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_server_without_an_address_is_a_refusal():
    with pytest.raises(EnvironmentRefusal, match=r"cannot-be\.invalid"):
        ProcessLinks({"n1": ("cannot-be.invalid", 2181)}, clients=1)


CONTROL = """
import os, sys, time
from rumpus.harness.links.link_process import ProcessLinks
links = ProcessLinks({"n1": ("127.0.0.1", 1)}, clients=1)
if "heir" in sys.argv and os.fork() == 0:
    time.sleep(600)  # goes on holding everything that the control process had open
print(links.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("heir", [False, True])
def test_the_proxy_does_not_outlive_a_killed_control_process(heir):
    root = Path(__file__).parents[3]
    control = subprocess.Popen(
        [sys.executable, "-c", CONTROL, *(["heir"] if heir else [])],
        stdout=subprocess.PIPE,
        cwd=root,
        start_new_session=True,
    )
    try:
        proxy = int(control.stdout.readline())
        assert not is_gone(proxy)
        control.kill()
        control.wait()
        deadline = time.monotonic() + 2
        while not is_gone(proxy):
            assert time.monotonic() < deadline, "the proxy is still there after 2 s"
            time.sleep(0.01)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(control.pid, signal.SIGKILL)  # the heir, if there is one
        control.stdout.close()
        control.wait()


def test_a_full_disk_ends_the_record_of_the_wire_and_nothing_else():
    links = ProcessLinks(NOWHERE, clients=1, wire=Path("/dev/full"))
    greeting = b"\0\0\0\x04abcd"
    with socket.create_connection(links.address(0, "n1")) as client:
        client.sendall(greeting)
        assert client.recv(1) == b""
    assert links.recorded(0).requests in (0, 1)
    links.close()
    assert links._process.returncode == 0


def test_what_passed_is_in_the_file(tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        ProcessLinks(
            {"n1": server.getsockname()}, clients=1, wire=tmp_path / "wire", origin=0
        ) as links,
        socket.create_connection(links.address(0, "n1")) as client,
    ):
        accepted, _ = server.accept()
        with accepted:
            client.sendall(b"\0\0\0\x04abcd")
            assert accepted.recv(8)
            passed = links.recorded(0)
    (shake,) = WireRecords((tmp_path / "wire").read_bytes())
    assert (shake.client, shake.node, shake.answered) == (0, "n1", None)
    assert (passed.requests, passed.events) == (1, 0)
    assert shake.sent <= passed.until <= time.monotonic_ns()
