"""The program as users meet it: called in this process, or started as one of its own."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from rumpus.checker.check import all_kinds
from rumpus.command_line import main
from rumpus.harness.docker.leftovers import RUN_LABEL
from rumpus.recipes.catalogue_entry import sound
from rumpus.recipes.lock.contest_lock import FairLock
from rumpus.results.record import RunRecord
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.made_here import note_made
from rumpus.workloads.registry import WORKLOADS
from tests.checker.recorded import Recorded


class Answer(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def rumpus(capsys):
    """Call the program in this process."""

    def call(*words):
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as ended:
            code = ended.code
        return Answer(code, *capsys.readouterr())

    return call


@pytest.fixture
def no_engine(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")


class Program:
    """The program as a process: what it says, what it is sent, what it leaves."""

    def __init__(self, *words, module="rumpus.program", environment=None, **popen):
        self._mark = f"RUMPUS_TEST={uuid.uuid4()}"
        name, value = self._mark.split("=")
        # Where no file may grow, Python would cut compiled code off, and all later imports fail.
        limited = {"PYTHONDONTWRITEBYTECODE": "1"} if "preexec_fn" in popen else {}
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **limited, **(environment or {}), name: value},
            process_group=0,
            **popen,
        )
        self.lines = []
        self._heard = threading.Condition()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self):
        for line in self.process.stderr:
            with self._heard:
                self.lines.append(line.rstrip("\n"))
                self._heard.notify_all()

    def said(self, words):
        return any(re.search(words, line) for line in self.lines)

    def await_words(self, words, within=60.0):
        deadline = time.monotonic() + within
        with self._heard:
            while not self.said(words):
                left = deadline - time.monotonic()
                assert left > 0, f"{words!r} was not said: {self.lines}"
                assert self.process.poll() is None or self._listener.is_alive(), self.lines
                self._heard.wait(min(left, 0.2))

    def interrupt(self, number=signal.SIGINT):
        """As a terminal does: all of the foreground process group get it."""
        os.killpg(self.process.pid, number)

    def end(self, within=60.0):
        out = self.process.stdout.read()
        code = self.process.wait(within)
        self._listener.join()
        return Answer(code, out, "\n".join(self.lines))

    def living(self):
        """Its processes, itself included, by command line; zombies do not count."""
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                if self._mark.encode() in (place / "environ").read_bytes().split(b"\0"):
                    words = (place / "cmdline").read_bytes().decode().split("\0")
                    found[int(place.name)] = " ".join(words).strip()
        return found

    def close(self):
        for pid in self.living():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self._listener.join()
        self.process.stdout.close()
        self.process.stderr.close()


def is_listening(pid):
    """Whether a process has a handler of its own for SIGTERM: what it does first."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.fixture
def program():
    """Start the program; whatever happens to the test, no process of it stays."""
    with contextlib.ExitStack() as stack:

        def start(*words, **popen):
            started = Program(*words, **popen)
            stack.callback(started.close)
            return started

        yield start


@pytest.fixture
def on_engine(engine):
    """What the engine has of a run: names of containers and networks."""

    def find(run_id):
        chosen = {"label": f"{RUN_LABEL}={run_id}"}
        containers = engine.containers.list(all=True, filters=chosen, ignore_removed=True)
        return [thing.name for thing in [*containers, *engine.networks.list(filters=chosen)]]

    return find


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def paused(engine, run):
    engine.containers.get(f"rumpus-{run}-n2").pause()


def killed(engine, run):
    engine.containers.get(f"rumpus-{run}-n2").kill()


def removed(engine, run):
    engine.containers.get(f"rumpus-{run}-n2").remove(force=True)


def unplugged(engine, run):
    engine.networks.get(f"rumpus-{run}").disconnect(f"rumpus-{run}-n2-network", force=True)


def latest(runs):
    return RunDirectory((runs / "latest").resolve())


@pytest.fixture
def recorded_run(tmp_path, monkeypatch):
    """Put a run on disk as it was recorded by hand, of a recipe that is known here as ``yours``."""
    yours = type("Yours", (FairLock,), {"promises": record().promises})
    monkeypatch.setitem(WORKLOADS["lock"].catalogue, "yours", sound(yours))

    def write(recorded, **more):
        run = RunDirectory(tmp_path / "run")
        run.path.mkdir(exist_ok=True)
        run.write_record(record(clients=recorded.clients, **more))
        with run.history_writer() as writer:
            for op in recorded.ops:
                writer.append(op)
        run.seal()
        note_made(run.path)
        return run

    return write


TOLD_BY_LOGS = {name for name, kind in all_kinds().items() if kind.logs}


def record(**more):
    given = {
        "run": "1121-034726-abc123",
        "rumpus": "0.1.0",
        "started": datetime(2026, 11, 21, 3, 47, 26, tzinfo=UTC),
        "argv": ["rumpus", "run", "lock", "--recipe", "yours"],
        "workload": "lock",
        "recipe": "yours",
        "promises": replace(FairLock.promises, prevents=FairLock.promises.prevents - TOLD_BY_LOGS),
        "line": FairLock.line("/rumpus/lock"),
        "ensemble": "docker",
        "nodes": 3,
        "clients": 3,
        "time_limit": 10,
        "nemesis": [],
        "nemesis_interval": 10,
        "seed": 7,
        "session_timeout": 2,
        "tick_ms": 500,
    }
    return RunRecord(**(given | more))


def turns(grants=12, clients=3):
    """Clients that take turns with a lock, in a run that ends well."""
    recorded = Recorded(clients)
    for process in range(clients):
        recorded.session(0, process, "connected", session=f"0x{process + 1}")
    for turn in range(grants):
        process, at = turn % clients, 10 + 10 * turn
        node = f"/rumpus/lock/x-contender-{turn:010d}"
        recorded.acquire(max(1, at - 15), at, process, token=100 + turn, node=node)
        recorded.add(at + 3, process, "invoke", "work", {"acts": 1, "pause": 0})
        recorded.act(at + 4, process, token=100 + turn)
        recorded.add(at + 5, process, "ok", "work", {"acts": 1})
        recorded.release(at + 8, at + 9, process)
    at = 20 + 10 * grants
    recorded.add(at, "control", "info", "phase", {"phase": "final", "healed": True})
    for process in range(clients):
        recorded.acquire(at + 1, at + 2, process, token=1000 + process).release(
            at + 3, at + 4, process
        )
        at += 5
    recorded.add(at, 0, "invoke", "inspect").add(at + 1, 0, "ok", "inspect", {"nodes": []})
    for client in range(clients):
        recorded.add(at + 2, "link", "info", "requests", {"client": client, "requests": {}})
    for client in range(clients + 1):  # the links of clients made by hand carried nothing
        counts = {"client": client, "recorded": 0, "events": 0, "until": 0}
        recorded.add(at + 2, "link", "info", "wire", counts)
    return recorded.add(at + 2, "control", "info", "phase-end").end(at + 3)


def both_at_once(recorded, ms, *tokens):
    """Two grants that overlap; with tokens that go down, a broken promise without any logs."""
    recorded.acquire(ms, ms + 1, 0, token=tokens[0]).release(ms + 4, ms + 5, 0)
    return recorded.acquire(ms + 2, ms + 3, 1, token=tokens[1]).release(ms + 6, ms + 7, 1)
