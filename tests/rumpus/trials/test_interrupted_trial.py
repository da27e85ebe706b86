"""Ctrl-C in rumpus.run: KeyboardInterrupt, and neither files nor containers nor processes stay."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rumpus.harness.docker.leftovers import OWNER_LABEL

ROOT = Path(__file__).parents[3]

SCRIPT = """
import sys, threading, rumpus
from rumpus.harness.owners import Owner
print(Owner.of(), flush=True)
told = []
def say(line):
    told.append(line)
    print(line, flush=True)
try:
    rumpus.run("lock", ensemble=sys.argv[1], time_limit=float(sys.argv[2]), say=say, seeds=9)
except KeyboardInterrupt:
    print("KeyboardInterrupt", threading.active_count(), flush=True)
    raise SystemExit(7)
"""


@pytest.fixture
def trial(tmp_path):
    """Start a trial, send it a signal when a run is going on; its code, words and files."""

    def end(ensemble, time_limit, number):
        here = tmp_path / "here"
        here.mkdir()
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        with subprocess.Popen(
            [sys.executable, "-c", SCRIPT, ensemble, str(time_limit)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=here,
            env=os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)},
        ) as process:
            words = []
            for line in process.stdout:
                words.append(line.rstrip("\n"))
                if line.startswith("load for"):
                    process.send_signal(number)
            code = process.wait(60)
        return code, words, [*here.iterdir(), *temporary.iterdir()]

    return end


def test_ctrl_c_ends_the_run_in_order(trial):
    code, words, left = trial("sim", 600, signal.SIGINT)
    assert code == 7, words
    assert words[-1] == "KeyboardInterrupt 1"
    assert any("interrupted" in line for line in words)
    assert left == []
    assert sum(line.startswith("load for") for line in words) == 1, "no further seed is run"


def test_kill_ends_it_in_order_too(trial):
    code, words, left = trial("sim", 600, signal.SIGTERM)
    assert code == -signal.SIGTERM, words
    assert left == []


@pytest.mark.docker
def test_no_container_stays(trial, engine):
    code, words, left = trial("docker", 60, signal.SIGINT)
    assert code == 7, words
    assert left == []
    chosen = {"label": f"{OWNER_LABEL}={words[0]}"}
    assert engine.containers.list(all=True, filters=chosen, ignore_removed=True) == []
    assert engine.networks.list(filters=chosen) == []
