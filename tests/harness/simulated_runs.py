"""Simulated runs of the workloads, as tests need them."""

from dataclasses import replace
from functools import partial
from itertools import count

from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.timeline import Asked, Timeline
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.harness.run import Status
from rumpus.harness.simulated.run import perform_simulated
from rumpus.nemesis.random_plan import random_plan
from rumpus.nemesis.registry import EVERYWHERE
from rumpus.nemesis.runner import Nemesis
from rumpus.results.history_file import HistoryWriter, read_history
from rumpus.results.record import ClockAnchor
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.run_files import server_truth
from rumpus.runs.workload_run import workload_run
from rumpus.simulation.kernel.clock import EPOCH
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
        plan = random_plan(
            list(kinds),
            seed=seed,
            time_limit=seconds,
            interval=5.0,
            nodes=nodes,
            clients=CLIENTS,
            session_timeout=SESSION_TIMEOUT,
            tick=0.5,
            requests=family.requests,
        )
        run = workload_run(
            family,
            recipe,
            WorkloadContext(Seed(seed), kind, CLIENTS, SESSION_TIMEOUT),
            time_limit=seconds,
            fencing=kind.promises.fenced,
        )
        if build is not None:
            run = replace(run, clients=replace(run.clients, build=build))
        status = Status()
        with HistoryWriter(directory.history) as sink:
            simulated = perform_simulated(
                run,
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
            Timeline(
                history=history,
                promises=kind.promises,
                truth=truth,
                clock=WallClock((anchor.monotonic, anchor.wall) for anchor in anchors),
                line=kind.line(family.path),
                asked=Asked(kinds=list(kinds)),
                path=family.path,
                session_timeout=SESSION_TIMEOUT,
            )
        )
