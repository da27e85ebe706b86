"""Runs that are interrupted, killed, short of disk, deaf, not alone, or meddled with."""

import json
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from docker import DockerClient

from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.leftovers import RUN_LABEL
from rumpus.results.run_directory import RunDirectory
from tests.rumpus.conftest import (
    Answer,
    Program,
    is_listening,
    killed,
    paused,
    removed,
    unplugged,
)
from tests.torture.commands import Call, run_one
from tests.torture.table import Row

IN_ORDER = frozenset({0, 3})
"""Exit codes of a sound recipe's run."""

NEVER_A_VIOLATION = frozenset({0, 3, 4})

DYING_S = 5.0
"""Seconds within which the children of a killed process have to end."""

SIZES = 0, 100, 1_000, 8_192, 40_000, 200_000, 1_000_000
"""Bytes that no file may grow beyond."""

DISKS = 2, 20, 100
"""Pages of a small disk."""

STREAMS = "2>&-", ">&-", "<&- >&- 2>&-", "2>/dev/full", ">/dev/full", "--json >&-"


def words(ensemble: str, runs: Path, seed: int, seconds: float = 8) -> list[str]:
    """A short run of a lock; on real servers with faults that leave something to be undone."""
    line = f"run lock --ensemble {ensemble} --seed {seed} --time-limit {seconds} --clients 3"
    kinds = "kill,client-pause"
    if ensemble == "docker":
        kinds += ",packet-loss,power-off,file-full"
    return [*line.split(), "--nemesis", kinds, "--json", "--runs", str(runs)]


def interrupted(ensemble: str, count: int, place: Path, seed: int = 0) -> Row:
    """Interrupt runs at random moments, once, twice or three times."""
    row = Row(f"{count} interruptions ({ensemble})")
    whole = _length(ensemble, place / "whole", row)
    for number in range(count):
        chance = Random(f"{seed} {number}")
        moment = chance.uniform(0, whole)
        signals = [signal.SIGINT] * chance.choice([1, 1, 2, 3])
        runs = place / str(number)
        with _begun(words(ensemble, runs, number)) as started:
            while not is_listening(started.process.pid):  # before that it is Python that ends
                time.sleep(0.001)
            time.sleep(moment)
            for one in signals:
                if started.process.poll() is None:
                    started.interrupt(one)
                time.sleep(chance.choice([0, 0.1, 1.0]))
            answer = started.end(within=120)
            what = f"{len(signals)} signals from {moment:.2f} s on"
            _count(row, answer, what, IN_ORDER)
            _left_behind(row, started, what)
        _checkable(row, runs, what)
    return row


def killed_outright(ensemble: str, count: int, place: Path, seed: int = 0) -> Row:
    """Kill runs at random moments, clean up, and check what is there."""
    row = Row(f"{count} times SIGKILL ({ensemble})")
    whole = _length(ensemble, place / "whole", row)
    for number in range(count):
        moment = Random(f"{seed} {number}").uniform(0, whole)
        what = f"killed after {moment:.2f} s"
        runs = place / str(number)
        with _begun(words(ensemble, runs, number)) as started:
            time.sleep(moment)
            started.process.kill()
            deadline = time.monotonic() + DYING_S
            while (living := started.living()) and time.monotonic() < deadline:
                time.sleep(0.05)
            if living:
                row.defect(f"{what}: {', '.join(living.values())} lived on")
            row.count(f"exit code {started.end().code}")
        if ensemble == "docker":
            _cleaned(row, runs, what)
        _checkable(row, runs, what)
    return row


def meddled_with(place: Path, times: int = 1) -> Row:
    """Have somebody else pause, kill, remove or unplug a server."""
    deeds: dict[str, Callable[[DockerClient, str], None]] = {
        "paused": paused,
        "killed": killed,
        "removed": removed,
        "unplugged": unplugged,
        "all unplugged": _without_network,
    }
    row = Row(f"{times * len(deeds)} faults from outside")
    with closing(connect()) as engine:
        for number, (name, deed) in enumerate([*deeds.items()] * times):
            runs = place / str(number)
            line = [*words("docker", runs, number, 8), "--nemesis=none"]
            with _begun(line) as started:
                started.await_words(r"ok [1-9]\d\d")
                deed(engine, RunDirectory((runs / "latest").resolve()).read_record().run)
                answer = started.end(within=180)
                _count(row, answer, name, IN_ORDER)
                if answer.code in IN_ORDER:
                    kinds = {fault["kind"] for fault in json.loads(answer.out)["faults"]}
                    if kinds != {"outside"}:
                        row.defect(f"{name}: it was not told as an outside fault")
                _left_behind(row, started, name)
            _checkable(row, runs, name)
    return row


def _without_network(engine: DockerClient, run: str) -> None:
    network = engine.networks.get(f"rumpus-{run}")
    for container in network.containers:
        network.disconnect(container, force=True)
    network.remove()


def at_once(number: int, place: Path) -> Row:
    """Start so many runs at once, beside what a killed one has left."""
    row = Row(f"{number} runs at once, beside a dead one's leftovers")
    with _begun(words("docker", place / "dead", 1, 60)) as dead:
        dead.await_words(r"ok [1-9]")
        dead.process.kill()
        dead.end()
    started = [_begin(words("docker", place / str(each), each, 8)) for each in range(number)]
    try:
        for each, program in enumerate(started):
            _count(row, program.end(within=400), f"run {each}", IN_ORDER)
            _left_behind(row, program, f"run {each}")
    finally:
        for program in started:
            program.close()
    _cleaned(row, place / "dead", "at the end")
    return row


def short_of_disk(
    ensemble: str,
    place: Path,
    sizes: Sequence[int] = SIZES,
    disks: Sequence[int] = DISKS,
) -> Row:
    """Run where files cannot grow beyond some size, or on disks of so many pages."""
    row = Row(f"{len(sizes) + len(disks)} full disks ({ensemble})")
    for size in sizes:
        limits = (size, size)
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, limits)
        with _begun(words(ensemble, place / str(size), 1), preexec_fn=limit) as started:
            _count(row, started.end(within=120), f"{size} bytes a file", NEVER_A_VIOLATION)
            _left_behind(row, started, f"{size} bytes a file")
    for pages in disks:
        with _small_disk(place / f"disk-{pages}", pages * 4096) as disk:
            if disk is None:
                row.count("no small disk can be made here")
                continue
            with _begun(words(ensemble, disk / "runs", 1)) as started:
                answer = started.end(within=120)
                _count(row, answer, f"a disk of {pages} pages", NEVER_A_VIOLATION)
                _left_behind(row, started, f"a disk of {pages} pages")
    return row


@contextmanager
def _small_disk(place: Path, size: int) -> Iterator[Path | None]:
    place.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def deaf(run: Path, expected: int) -> Row:
    """Check a run with standard streams closed or full: the exit code stays."""
    row = Row(f"{len(STREAMS)} closed or full streams")
    for stream in STREAMS:
        line = f'exec "$0" -m rumpus.program check "$1" {stream}'
        done = subprocess.run(
            ["/bin/sh", "-c", line, sys.executable, str(run)],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        row.count(f"exit code {done.returncode}")
        allowed = {expected, 4} if "/dev/full" in stream and stream.startswith(">") else {expected}
        if done.returncode not in allowed or b"Traceback" in done.stdout + done.stderr:
            row.defect(f"{stream}: exit code {done.returncode}, {done.stderr[-200:]!r}")
    return row


def _begin(line: list[str], **popen: Any) -> Program:
    return Program(*line, **popen)


@contextmanager
def _begun(line: list[str], **popen: Any) -> Iterator[Program]:
    """The program as a process of which nothing stays."""
    started = _begin(line, **popen)
    try:
        yield started
    finally:
        started.close()


def _length(ensemble: str, runs: Path, row: Row) -> float:
    """How many seconds a run takes that nobody interrupts."""
    began = time.monotonic()
    with _begun(words(ensemble, runs, 1)) as started:
        _count(row, started.end(within=120), "a whole run", IN_ORDER)
    return time.monotonic() - began


def _count(row: Row, answer: Answer, what: str, allowed: frozenset[int]) -> None:
    row.count(f"exit code {answer.code}")
    if answer.code not in allowed:
        row.defect(f"{what}: exit code {answer.code}: {answer.err[-300:]}")
    if "Traceback" in answer.err:
        row.defect(f"{what}: a traceback: {answer.err[-600:]}")
    try:
        json.loads(answer.out)
    except ValueError:
        row.defect(f"{what}: no JSON document: {answer.out[:100]!r}, exit code {answer.code}")


def _left_behind(row: Row, started: Program, what: str) -> None:
    """Nothing is left of a program that has ended: no process, container or network."""
    if living := started.living():
        row.defect(f"{what}: left {', '.join(living.values())}")
    named = [line for line in started.lines if ", run " in line]
    if not named or "ensemble: docker" not in "".join(started.lines):
        return
    path = Path(named[0].rpartition(", run ")[2])
    if not (path / "test.json").exists():
        return
    if left := _of_run(RunDirectory(path).read_record().run):
        row.defect(f"{what}: left {', '.join(left)}")


def _checkable(row: Row, runs: Path, what: str) -> None:
    """What is there can be checked, and is no violation."""
    latest = runs / "latest"
    if not latest.is_symlink():
        return
    ended = run_one(Call(("check", str(latest.resolve()), "--json"), runs / "check"))
    row.measure(ended)
    if ended.trouble or ended.code == 1:
        row.defect(f"{what}, then check: {ended.trouble or 'a violation'}")
    shutil.rmtree(runs)


def _cleaned(row: Row, runs: Path, what: str) -> None:
    """``rumpus clean`` takes away what a killed run has left."""
    ended = run_one(Call(("clean",), runs.parent / "clean"))
    if ended.code:
        row.defect(f"{what}, then clean: exit code {ended.code}: {ended.err[-300:]}")
    latest = runs / "latest"
    if not latest.is_symlink():
        return
    if left := _of_run(RunDirectory(latest.resolve()).read_record().run):
        row.defect(f"{what}: clean has left {', '.join(left)}")


def _of_run(run: str) -> list[str]:
    """Names of the containers, networks and volumes that there are of a run."""
    chosen = {"label": f"{RUN_LABEL}={run}"}
    with closing(connect()) as engine:
        things = [
            *engine.containers.list(all=True, filters=chosen, ignore_removed=True),
            *engine.networks.list(filters=chosen),
            *engine.volumes.list(filters=chosen),
        ]
        return [thing.name for thing in things]
