"""What it costs to perform many runs by processes of this machine, or by a Dask cluster.

- *runs*: swarm runs of a lock, 15 virtual seconds each, by one and by two processes in turns: runs
  a second, seconds of the processors a run, and both in pairs of neighbouring rounds. On processors
  that others use, too, only the latter says how runs disturb each other.
- *a task*: a call that does nothing, one after the other, and 100 at once: by a process of this
  machine, and by one of a Dask cluster of one worker on this machine.
- *bytes*: of a run's result, as it is passed on.

``python -m benchmarks.campaigns [--quick]``
"""

import pickle
import resource
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, NamedTuple

from distributed import LocalCluster
from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from rumpus.campaigns.dask_cluster import cluster
from rumpus.campaigns.run_process import surroundings
from rumpus.campaigns.tasks import attempts, call_apart, processes
from rumpus.campaigns.trial_task import TrialTask
from rumpus.runs.run_settings import RunSettings

VIRTUAL_S = 15.0
ROUNDS = 4
RUNS = 6
AT_ONCE = 100


class Round(NamedTuple):
    """Seconds of some runs, a run: by the clock, and of the processors."""

    wall: float
    cpu: float


def task(seed: int, virtual_s: float) -> TrialTask:
    settings = RunSettings(
        argv=(), workload="lock", ensemble="sim", time_limit=virtual_s, seed=seed, swarm="normal"
    )
    return TrialTask(settings=settings)


def round_of(executor: Executor, seeds: range, virtual_s: float) -> Round:
    began = time.perf_counter()
    told = list(attempts(executor, [task(seed, virtual_s) for seed in seeds]))
    wall = time.perf_counter() - began
    cpu = sum(each.outcome.cpu_seconds for each in told if each.outcome is not None)
    return Round(wall / len(seeds), cpu / len(seeds))


def latency(executor: Executor, count: int) -> tuple[float, float]:
    """Seconds of a call that does nothing, one after the other, and of many at once."""
    where = surroundings()

    def call(number: int) -> int:
        return executor.submit(call_apart, where, max, number, 0).result()

    call(1)
    singly = []
    for number in range(count):
        began = time.perf_counter()
        call(number)
        singly.append(time.perf_counter() - began)
    began = time.perf_counter()
    futures = [executor.submit(call_apart, where, max, number, 0) for number in range(count)]
    for future in futures:
        future.result()
    return statistics.median(singly), (time.perf_counter() - began) / count


@contextmanager
def dask() -> Iterator[Executor]:
    """A cluster of one worker, whose scheduler is in this process."""
    made: Any = LocalCluster
    with (
        made(n_workers=1, threads_per_worker=1, dashboard_address=None) as local,
        cluster(local.scheduler_address) as performers,
    ):
        yield performers.executor


def measure(scale: Scale) -> Table:
    table = Table(title="campaigns")
    for column in ("what", "measured"):
        table.add_column(column)
    count = 2 if scale.quick else RUNS
    virtual_s = max(2.0, scale.seconds(VIRTUAL_S))
    with processes(1) as one, processes(2) as two:
        alone, both = [], []
        for executor in (one, two):
            round_of(executor, range(2), virtual_s)  # processes start, modules are loaded
        for number in range(scale.rounds(ROUNDS)):
            seeds = range(100 + count * number, 100 + count * (number + 1))
            alone.append(round_of(one, seeds, virtual_s))
            both.append(round_of(two, seeds, virtual_s))
        given = task(5, virtual_s)
        (sample,) = attempts(one, [given])
    for name, rounds in (("1 process", alone), ("2 processes", both)):
        wall = statistics.median(1 / each.wall for each in rounds)
        cpu = statistics.median(each.cpu for each in rounds)
        table.add_row(f"runs/s, {name}", f"{wall:.2f}")
        table.add_row(f"s of the processors a run, {name}", f"{cpu:.3f}")
    pairs = list(zip(alone, both, strict=True))
    gain = sorted(a.wall / b.wall for a, b in pairs)
    dearer = sorted(b.cpu / a.cpu for a, b in pairs)
    for name, ratios in (("2 processes to 1, runs/s", gain), ("the same, cost a run", dearer)):
        words = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        table.add_row(name, words)
    calls = 5 if scale.quick else AT_ONCE
    with processes(1) as executor:
        single, many = latency(executor, calls)
    table.add_row("a call, process here: one, many", f"{single * 1e3:.2f}, {many * 1e3:.2f} ms")
    with dask() as executor:
        single, many = latency(executor, calls)
    table.add_row("a call, Dask: one, many", f"{single * 1e3:.2f}, {many * 1e3:.2f} ms")
    sizes = [len(pickle.dumps(each)) for each in (given, sample)]
    table.add_row("bytes of a task, of its result", f"{sizes[0]}, {sizes[1]}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    table.add_row("memory of the largest process", f"{used:.0f} MB")
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
