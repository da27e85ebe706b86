"""Runs on a real Dask cluster: a scheduler and two workers, each a process."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from distributed import Client
from rich.text import Text

from rumpus.campaigns.dask_cluster import cluster, lacks
from rumpus.campaigns.exploring import Explorer
from rumpus.campaigns.tasks import attempts, origin, processes
from rumpus.campaigns.trial_task import TrialTask
from rumpus.command_line import main
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.usage_error import UsageError
from tests.rumpus.campaigns.running import double_barrier, is_running
from tests.sampling import one_in

SETTINGS = double_barrier(
    clients=2, time_limit=2, seed=0, swarm="normal", fixed=("clients", "time_limit")
)
SEEDS = 8


class Cluster:
    """A scheduler and two workers."""

    def __init__(self, place):
        self.processes = []
        self._place = place
        file = place / "scheduler.json"
        self._start("scheduler", "--scheduler-file", file, "--host", "127.0.0.1", "--port", "0")
        while not file.exists() or not file.read_text().endswith("}"):
            time.sleep(0.02)
        self.address = json.loads(file.read_text())["address"]
        self.workers = [
            self._start("worker", self.address, "--nthreads", "1", "--no-nanny") for _ in range(2)
        ]
        with Client(self.address) as client:
            client.wait_for_workers(len(self.workers), timeout=60)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, what, *words):
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard"]
        with (self._place / "log").open("a") as log:
            process = subprocess.Popen(
                [*command, *map(str, words)], cwd=self._place, stdout=log, stderr=log
            )
        self.processes.append(process)
        return process


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    place = tmp_path_factory.mktemp("dask")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASK_TEMPORARY_DIRECTORY", str(place))
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        started = Cluster(place)
    try:
        yield started
    finally:
        started.end()


def children_of(pid):
    told = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(each) for each in told.stdout.split()]


def plain(explored):
    found = explored.findings.found
    return explored.outcomes, [(each.case, each.seed, each.runs) for each in found]


def explored(performers, notify=lambda _: None):
    explorer = Explorer(
        SETTINGS, performers.executor, jobs=performers.threads, shrink=3, notify=notify
    )
    return explorer.explore(seeds=SEEDS)


@one_in(3)
def test_what_workers_lack_is_told(dask):
    with (
        pytest.raises(EnvironmentRefusal, match=r"the worker tcp://.* does not find nowhere:Lock"),
        cluster(dask.address, ["nowhere:Lock"]),
    ):
        pass
    other = origin()
    other = type(other)(surroundings=other.surroundings, software={"python": "2.7.18"})
    assert lacks(other, ()).endswith("instead of 2.7.18")


@one_in(2)
def test_what_is_put_on_trial_is_found_as_by_the_command(dask, tmp_path, monkeypatch):
    (tmp_path / "own_of_dask_tests.py").write_text("from kazoo.recipe.lock import Lock as Own\n")
    monkeypatch.syspath_prepend(tmp_path)
    reference = "own_of_dask_tests:Own"
    settings = replace(SETTINGS, workload="lock", recipe=reference, swarm=None, nemesis=())
    with cluster(dask.address, [reference]) as performers:
        (told,) = attempts(performers.executor, [TrialTask(settings=settings)])
    assert told.error == ""
    assert told.outcome.operations > 0


@one_in(3)
def test_nothing_is_lost_when_a_worker_is_killed(dask, eventually):
    killed = []

    def kill_one(explored):
        if explored.runs == 2 and not killed:
            worker = dask.workers[0]
            killed.extend(children_of(worker.pid))
            worker.send_signal(signal.SIGKILL)
            worker.wait()

    with cluster(dask.address) as performers:
        assert performers.threads == 2
        told = explored(performers, kill_one)
    assert killed
    assert told.findings.found
    assert (told.runs, told.errors, told.findings.deaths) == (SEEDS, [], [])
    with processes(1) as executor:
        explorer = Explorer(SETTINGS, executor, jobs=1, shrink=3)
        assert plain(told) == plain(explorer.explore(seeds=SEEDS))
    eventually(lambda: not any(map(is_running, killed)))


def test_an_address_that_is_none_is_refused():
    with pytest.raises(UsageError, match="not the address of a scheduler"), cluster("somewhere"):
        pass


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr("rumpus.campaigns.dask_cluster.PATIENCE_S", 0.2)
    with pytest.raises(EnvironmentRefusal, match="no scheduler answers"), cluster("tcp://[::1]:9"):
        pass


def test_what_is_missing_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["explore", "lock", "--dask", "tcp://127.0.0.1:1"]) == 4
    assert "pip install 'rumpus[dask]'" in capsys.readouterr().err
    assert main(["explore", "lock", "--dask", "tcp://127.0.0.1:1", "--jobs", "2"]) == 2
    assert "--jobs and --dask exclude each other" in capsys.readouterr().err


def test_a_scheduler_that_is_lost_ends_the_exploration(dask, tmp_path, monkeypatch, capsys):
    """The last test, as it is the tests' scheduler."""
    monkeypatch.chdir(tmp_path)

    def kill_the_scheduler(explored, _):
        if explored.runs:  # on a busy host the line may be due before the first one is done
            dask.processes[0].kill()
        return Text()

    monkeypatch.setattr("rumpus.commands.explore_command.explored_status", kill_the_scheduler)
    words = "explore lock --recipe fair --clients 2 --nemesis none --time-limit 1 --seeds 40"
    assert main([*words.split(), "--dask", dask.address]) == 4
    told = capsys.readouterr()
    assert 1 <= int(told.out.split(" runs, ")[0]) < 40, told.out  # what the other workers had done
    assert "is the cluster still there?" in told.err
