"""Commands that perform many runs, and pytest with the plugin, ended by signals at any moment.

What they leave: processes, containers, networks, mounts, temporary files, half-written files.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from docker.errors import ImageNotFound

from rumpus.campaigns.case import load_case
from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.image import NODE, image_tag
from rumpus.harness.docker.leftovers import OWNER_LABEL
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.owners import Owner
from rumpus.harness.zookeeper_versions import DEBIAN_RELEASES
from rumpus.usage_error import UsageError
from tests.rumpus.campaigns.conftest import DEADLOCK
from tests.rumpus.conftest import Answer, Program, is_listening
from tests.torture.commands import Call, run_one
from tests.torture.table import Row

ROOT = Path(__file__).resolve().parents[2]

SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL

DYING_S = 20.0
"""Seconds within which what a program has started has to end with it, and what a guard removes."""

EXPLORE = (
    "explore lock --recipe kazoo-bare --time-limit 4 --clients 3 --nemesis pause,client-pause "
    "--json"
)

LOCK = "from rumpus.recipes.lock.catalogue import LOCKS\n\nclass MyLock(LOCKS['fair'].recipe):\n"

BEGUN = """
import pathlib

def pytest_sessionstart(session):
    pathlib.Path("begun").touch()
"""

TRIAL = """
import pytest

@pytest.mark.parametrize("seed", range(40))
def test_my_lock(rumpus, seed):
    options = {"recipe": "fair", "nemesis": ["client-pause"], "seed": seed, "seeds": 3}
    rumpus.run("lock", time_limit=8, **options).assert_valid()
"""

SERVERS = """
import time, pytest

@pytest.mark.parametrize("number", range(8))
@pytest.mark.zookeeper(nodes=1, ensemble="{ensemble}")
def test_my_service(zookeeper, number):
    zookeeper.kill("n1")
    time.sleep(2)
"""


RUN = "run lock --time-limit 5 --clients 3 --nemesis kill,client-pause --json --ensemble"

OLD = "3.4.13"
"""A version of ZooKeeper whose image is made, and removed: no test needs it."""

COMMANDS = {
    "run-sim": (f"{RUN} sim", 4.0),
    "run-docker": (f"{RUN} docker", 25.0),
    "explore": (f"{EXPLORE} --jobs 2 --seeds 60", 12.0),
    "shrink": ("shrink {made}/it.case.json --jobs 2 --budget 20 --json", 8.0),
    "bisect": (
        (
            "bisect {made}/mine.case.json --commits HEAD~2..HEAD --repository {made}/repository "
            "--trust --json"
        ),
        12.0,
    ),
    "mutants": ("mutants --family lock --budget 10 --jobs 2 --json", 12.0),
    "merge": ("merge {made}/0 {made}/1 --json", 2.0),
    "image": (f"image --version {OLD} --json", 70.0),
}
ON_ENGINE = {"run-docker", "image"}
"""Name -> words of a command, and the seconds within which it is ended."""

PYTESTS = {
    "trials": (TRIAL, []),
    "trials with xdist": (TRIAL, ["-n", "2"]),
    "simulated servers": (SERVERS.format(ensemble="sim"), []),
    "real servers": (SERVERS.format(ensemble="docker"), []),
    "real servers with xdist": (SERVERS.format(ensemble="docker"), ["-n", "2"]),
}
"""What is tested -> tests, and pytest's options."""


PYTESTS_OWN = "self._rawentry.tb_lineno - 1"
"""The last line of Python in which pytest fails to show an interrupt, if it came between two lines
(``tb_lineno`` is None then, in Python 3.11)."""


def ended_command(name: str, made: Path, count: int, place: Path, seed: int = 0) -> Row:
    """End a command by a signal so many times; ``made``: see ``prepared``."""
    row = Row(f"{count} times {name} ended by a signal")
    line, longest = COMMANDS[name]
    for number in range(count):
        moment = Random(f"{seed} {name} {number}").uniform(0, longest)
        folder = place / str(number)
        if name == "image":
            _without_image()
        started = begun(folder, line.format(made=made).split(), "rumpus.program")
        # Before that it is Python that ends.
        _await(lambda one=started: one.process.poll() is not None or is_listening(one.process.pid))
        _ended(row, started, folder, moment, SIGNALS[number % len(SIGNALS)])
    if name == "image":
        _without_image()
    return row


def _without_image() -> None:
    """Remove the image that is to be made, and the one that it is made of."""
    with contextlib.closing(connect()) as engine:
        for tag in (image_tag(NODE, OLD), f"rumpus/debian:{DEBIAN_RELEASES[OLD]}"):
            with contextlib.suppress(ImageNotFound):
                engine.images.remove(tag, force=True)  # a build that was killed may be ending


def ended_pytest(name: str, count: int, place: Path, seed: int = 0) -> Row:
    """End a pytest with the plugin by a signal so many times."""
    row = Row(f"{count} times pytest ended by a signal, {name}")
    tests, options = PYTESTS[name]
    for number in range(count):
        moment = Random(f"{seed} {name} {number}").uniform(0, 10)
        folder = place / str(number)
        folder.mkdir(parents=True)
        (folder / "test_mine.py").write_text(tests)
        (folder / "conftest.py").write_text(BEGUN)
        words = ["-q", "-p", "rumpus.pytest_plugin", "-p", "no:cacheprovider", "test_mine.py"]
        started = begun(folder, [*words, *options], "pytest")
        # Before that it is Python that ends.
        it_began = folder / "begun"
        _await(lambda one=started, it=it_began: one.process.poll() is not None or it.exists())
        _ended(row, started, folder, moment, SIGNALS[number % len(SIGNALS)], is_pytest=True)
    return row


def prepared(place: Path) -> Path:
    """Cases, parts of an exploration and a repository for the commands."""
    made = place
    (made / "repository").mkdir(parents=True)
    (made / "it.case.json").write_text(DEADLOCK)
    document = json.loads(DEADLOCK)
    document["settings"] |= {"recipe": "torn_locks:MyLock", "preemption": "none"}
    document["expects"] = {"kind": "split-brain"}
    (made / "mine.case.json").write_text(json.dumps(document))
    for number in range(3):
        (made / "repository" / "torn_locks.py").write_text(f"{LOCK}    number = {number}\n")
        for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "it"]):
            identity = "-c", "user.name=T", "-c", "user.email=t@example.org"
            git = ["git", "-C", str(made / "repository"), *identity, "-c", "commit.gpgsign=false"]
            subprocess.run([*git, *words], check=True)
    for part in (0, 1):
        words = [*EXPLORE.split(), "--seeds", "6", "--shard", f"{part}/2", "--cases", str(made)]
        ended = run_one(Call(tuple(words), made / f"of-{part}"))
        assert ended.code in (0, 1, 3), ended
        (made / str(part)).write_text(ended.out)
    return made


def begun(folder: Path, words: Sequence[object], module: str) -> Program:
    temporary = folder / "tmp"
    temporary.mkdir(parents=True)
    return Program(
        *words,
        module=module,
        environment={
            "TMPDIR": str(temporary),
            "PYTHONPATH": str(ROOT),
            "XDG_STATE_HOME": str(folder / "state"),
        },
        cwd=folder,
    )


def _ended(
    row: Row,
    started: Program,
    folder: Path,
    moment: float,
    number: signal.Signals,
    *,
    is_pytest: bool = False,
) -> None:
    """Send a signal after so many seconds, and look at what is left."""
    what = f"{number.name} after {moment:.2f} s in {folder}"
    owners: set[str] = set()
    try:
        deadline = time.monotonic() + moment
        while time.monotonic() < deadline and started.process.poll() is None:
            owners |= _names(started)
            time.sleep(0.1)
        if started.process.poll() is None:
            owners |= _names(started)
            if number == signal.SIGINT:
                started.interrupt(number)
            else:
                started.process.send_signal(number)
        answer = started.end()
        row.count(f"{number.name} {answer.code}")
        _judge(row, answer, what, number, is_pytest=is_pytest)
        _await(lambda: not started.living())
        if living := started.living():
            row.defect(f"{what}: left {', '.join(living.values())}")
    finally:
        started.close()
    _left(row, folder, owners, what, killed=answer.code == -signal.SIGKILL)


def _judge(row: Row, answer: Answer, what: str, number: int, *, is_pytest: bool) -> None:
    if is_pytest and PYTESTS_OWN in answer.err:
        row.count("pytest cannot show where it was")
        return
    allowed = {-number, 0, 2} if is_pytest else {-signal.SIGKILL, 0, 1, 3}
    if answer.code not in allowed:
        row.defect(f"{what}: exit code {answer.code}: {answer.err[-300:]}, {answer.out[-3000:]}")
    # Workers of xdist that start are Python, which shows where it was.
    if "Traceback" in answer.err and (not is_pytest or "/rumpus/" in answer.err):
        row.defect(f"{what}: a traceback: {answer.err[-900:]}")
    if not is_pytest and answer.code >= 0:
        try:
            json.loads(answer.out)
        except ValueError:
            row.defect(f"{what}: no JSON document: {answer.out[:100]!r}, code {answer.code}")


def _names(started: Program) -> set[str]:
    """The names of a program's processes as owners."""
    found = set()
    for pid in started.living():
        with contextlib.suppress(ProcessLookupError):
            found.add(str(Owner.of(pid)))
    return found


def _left(row: Row, folder: Path, owners: set[str], what: str, *, killed: bool) -> None:
    """Nothing is left, or once ``rumpus clean`` has been here if it was SIGKILL."""
    temporary = folder / "tmp"
    if mounted := [each for each in _mounts() if str(folder) in each]:
        row.defect(f"{what}: mounted {mounted}")
    if killed:
        row.ways["left to clean"] += len([*temporary.iterdir(), *_containers(owners)])
        done = subprocess.run(
            [sys.executable, "-m", "rumpus.program", "clean"],
            env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)},
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, 4):
            row.defect(f"{what}, then clean: exit code {done.returncode}: {done.stderr[-300:]}")
    # The lock of those who build images stays, because others may wait for it.
    may_stay = "pytest-", "rumpus-image-"
    if left := [each.name for each in temporary.iterdir() if not each.name.startswith(may_stay)]:
        row.defect(f"{what}: left {', '.join(left)}")
    for path in folder.rglob("*"):
        if path.name.startswith(".") and path.suffix[1:].isdigit():
            row.defect(f"{what}: half-written {path}")
    for path in folder.rglob("*.case.json"):
        try:
            load_case(path)
        except UsageError as error:
            row.defect(f"{what}: half-written {path}: {error}")
    if containers := _containers(owners):
        row.defect(f"{what}: left {', '.join(containers)}")
    if (latest := folder / "runs" / "latest").is_symlink():
        ended = run_one(Call(("check", str(latest.resolve()), "--json"), folder / "check"))
        row.measure(ended)
        if ended.trouble or ended.code == 1:
            row.defect(f"{what}, then check: {ended.trouble or 'a violation'}")
    shutil.rmtree(folder)


def _mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


def _containers(owners: set[str]) -> list[str]:
    """Containers and networks of some processes; nobody waits for an engine that is not there."""
    try:
        engine = connect()
    except EnvironmentRefusal:
        return []
    with contextlib.closing(engine):
        chosen = {"label": OWNER_LABEL}
        containers = engine.containers.list(all=True, filters=chosen, ignore_removed=True)
        tags = {each.name: each.labels for each in containers}
        tags |= {each.name: each.attrs["Labels"] for each in engine.networks.list(filters=chosen)}
        return [name for name, labels in tags.items() if labels.get(OWNER_LABEL) in owners]


def _await(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds; not for ever."""
    deadline = time.monotonic() + DYING_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
