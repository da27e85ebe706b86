"""What stays of a pytest that is killed while its test has real servers: nothing."""

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import rumpus
from rumpus.harness.docker.leftovers import OWNER_LABEL, RUN_LABEL
from rumpus.harness.owners import Owner

pytestmark = pytest.mark.docker

ROOT = Path(__file__).parents[3]

TEST = """
import pathlib, time, pytest

@pytest.mark.zookeeper(nodes=1, ensemble="docker")
def test_my_service(zookeeper):
    pathlib.Path("began").touch()
    time.sleep(600)
"""


@pytest.fixture
def on_engine(engine):
    """Names of what the engine has of an owner."""

    def find(name):
        chosen = {"label": f"{OWNER_LABEL}={name}"}
        containers = engine.containers.list(all=True, filters=chosen, ignore_removed=True)
        return [thing.name for thing in [*containers, *engine.networks.list(filters=chosen)]]

    return find


@pytest.fixture
def own_pytest(tmp_path, eventually):
    """A pytest whose test has its servers."""
    (tmp_path / "test_application.py").write_text(TEST)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "rumpus.pytest_plugin"]
    process = subprocess.Popen(
        [*words, "-p", "no:cacheprovider", "test_application.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: (tmp_path / "began").exists() or process.poll() is not None)
        assert process.poll() is None
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_servers_end_with_a_pytest_that_a_signal_ends(number, own_pytest, on_engine, eventually):
    name = str(Owner.of(own_pytest.pid))
    assert len(on_engine(name)) == 3
    own_pytest.send_signal(number)
    assert own_pytest.wait(60) == -number
    eventually(lambda: not on_engine(name))


def test_servers_start_after_what_a_killed_run_has_left_is_removed(engine):
    with subprocess.Popen(["sleep", "60"]) as process:
        who = str(Owner.of(process.pid))
        process.kill()
    run = f"dead-{uuid.uuid4().hex[:12]}"
    left = engine.networks.create(run, labels={RUN_LABEL: run, OWNER_LABEL: who})
    try:
        with rumpus.zookeeper(nodes=1, ensemble="docker"):
            assert not engine.networks.list(names=[run])
    finally:
        if engine.networks.list(names=[run]):
            left.remove()
