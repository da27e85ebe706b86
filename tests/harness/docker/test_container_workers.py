"""How the processes of containers reach the control process, and what becomes of them."""

import contextlib
import os
import socket
import time

import pytest

from rumpus.harness.clients.messages import Open, Ready, frame
from rumpus.harness.clients.workers import ClientSpec
from rumpus.harness.docker.container_workers import ContainerWorkers, Hello, _Door
from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.image import ensure_node_image
from rumpus.harness.docker.leftovers import RUN_LABEL


@pytest.fixture(name="door")
def _door():
    door = _Door()
    with contextlib.closing(door.listener):
        yield door


def says(door, *messages):
    """A process that connects and says this."""
    process = socket.create_connection(("127.0.0.1", int(door.environment["RUMPUS_PORT"])))
    process.sendall(b"".join(map(frame, messages)))
    return process


def test_a_process_that_knows_the_secret_is_admitted(door):
    with says(door, Hello(door.environment["RUMPUS_TOKEN"], 17)) as process:
        stream, clock = door.admit()
        with stream:
            assert clock == 17
            process.sendall(b"further")
            assert stream.recv(7) == b"further"


def test_nobody_else_is(door):
    for messages in ([Hello("a guess", 17)], [Open(3)]):
        with says(door, *messages) as process:
            process.shutdown(socket.SHUT_WR)
            assert door.admit() is None
            assert process.recv(1) == b"", "the connection is closed"
    assert door.admit() is None, "nobody connects"


@pytest.mark.docker
@pytest.mark.skipif(
    not os.environ.get("RUMPUS_FULL_CHECKS"), reason="a quarter of a minute: make test-full runs it"
)
def test_a_container_is_paused_killed_and_started_again(tmp_path):
    engine = connect()
    image = ensure_node_image(engine, system="curator")
    notes = []
    workers = ContainerWorkers(
        1,
        # A mutex that nobody acquires needs no server: the client begins without a session.
        ClientSpec("", {"recipe": "curator-mutex", "clients": 1, "path": "/lock"}, image="curator"),
        hosts=lambda _: "127.0.0.1:1",
        logs=tmp_path,
        notify=notes.append,
        origin=time.monotonic_ns(),
        run_id="tests-container-workers",
        image=image,
    )
    chosen = {"label": f"{RUN_LABEL}=tests-container-workers"}
    try:
        workers.start()
        assert workers.state(0) == "running"
        workers.pause(0)
        assert workers.state(0) == "paused"
        workers.resume(0)
        assert workers.state(0) == "running"
        assert workers.stall(0, 0.0) == workers.stalled(0) == "main"
        workers.unstall(0)
        assert workers.stalled(0) is None
        workers.pause(0)
        with pytest.raises(TimeoutError):
            workers.stall(0, 0.5)
        assert workers.stalled(0) is None
        workers.kill(0)
        assert workers.state(0) == "dead"
        assert workers.receive(0) is None, "the channel ended with the process"
        workers.forget(0)
        workers.restart(0, wait=False)
        assert workers.state(0) == "running"
        workers.send(0, Open(0))
        said = []
        while not said:  # the beginning of a message may come alone
            said = workers.receive(0)
        assert said == [Ready(0, connected=False, library="5.4.0")]
    finally:
        workers.stop()
    assert engine.containers.list(all=True, filters=chosen) == []
    assert "Starting" in (tmp_path / "c0.log").read_text()
