"""Simulated runs of the workloads, as tests need them."""

from dataclasses import replace
from functools import partial
from itertools import count

from rumpus.checker.clock import WallClock
from rumpus.harness.clients.workers import ClientSpec
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.harness.run import Run, Status
from rumpus.harness.simulated.run import perform_simulated
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.random_plan import random_plan
from rumpus.nemesis.registry import EVERYWHERE
from rumpus.nemesis.runner import Nemesis
from rumpus.results.history_file import HistoryWriter, read_history
from rumpus.results.record import ClockAnchor
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.judging import server_truth
from rumpus.simulation.kernel.clock import EPOCH
from rumpus.workloads.framework.judgement import Evidence
from rumpus.workloads.registry import WORKLOADS

BEGINNING = {"monotonic": 0, "wall": EPOCH}
CLIENTS = 5
SESSION_TIMEOUT = 2.0


class SimulatedRuns:
    """Makes runs, each in a directory of its own below ``path``."""

    def __init__(self, path):
        self._path = path
        self._numbers = count()

    def __call__(
        self,
        seed,
        *,
        workload="lock",
        recipe="fair",
        seconds=20.0,
        kinds=EVERYWHERE,
        nodes=3,
        build=None,
        stop_requested=lambda: False,
        **more,
    ):
        family = WORKLOADS[workload]
        kind = family.recipes[recipe]
        directory = RunDirectory(self._path / str(next(self._numbers)))
        for place in (directory.nodes, directory.clients):
            place.mkdir(parents=True)
        plan = _plan(seed, kinds, seconds, nodes, family.requests)
        setting = WorkloadContext(
            seed=Seed(seed), recipe=kind, clients=CLIENTS, session_timeout=SESSION_TIMEOUT
        )
        status = Status()
        with HistoryWriter(directory.history) as sink:
            simulated = perform_simulated(
                Run(
                    clients=ClientSpec(
                        build or family.build, family.options(recipe, CLIENTS), SESSION_TIMEOUT
                    ),
                    count=CLIENTS,
                    words=family.words,
                    load=lambda until: family.load_of(replace(setting, until=until)),
                    final=family.final_of(setting),
                    time_limit=seconds,
                    cleanup=family.cleanup,
                    fencing=kind.promises.fenced,
                    watches_left=family.plain,
                ),
                seed=seed,
                nodes=nodes,
                nemesis=partial(Nemesis, plan, seed=seed, stop_requested=stop_requested),
                sink=sink,
                logs=directory.clients,
                node_files=directory.nodes,
                status=status,
                stop_requested=stop_requested,
                **more,
            )
        return (
            simulated,
            directory,
            self._verdict(directory, family, kind, kinds, status, nodes),
        )

    @staticmethod
    def _verdict(directory, family, kind, kinds, status, nodes):
        history = read_history(directory.history, clients=CLIENTS)
        truth, problems = server_truth(directory, nodes)
        assert (truth is not None, problems) == (True, [])
        anchors = [ClockAnchor(**reading) for reading in (BEGINNING, *status.anchors)]
        return family.judge(
            Evidence(
                history=history,
                promises=kind.promises,
                truth=truth,
                clock=WallClock((anchor.monotonic, anchor.wall) for anchor in anchors),
                line=kind.line(family.path),
                kinds=list(kinds),
                path=family.path,
                session_timeout=SESSION_TIMEOUT,
            )
        )


def _plan(seed, kinds, seconds, nodes, requests):
    if not kinds:
        return FaultPlan(version=1)
    return random_plan(
        list(kinds),
        seed=seed,
        time_limit=seconds,
        interval=5.0,
        nodes=nodes,
        clients=CLIENTS,
        session_timeout=SESSION_TIMEOUT,
        tick=0.5,
        requests=requests,
    )
