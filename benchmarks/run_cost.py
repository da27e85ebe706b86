"""What a simulated run costs, and in which of its parts.

- *parts*: runs of some workloads with faults, 60 virtual seconds each: start (settings, servers,
  clients that have loaded their modules and have sessions), load under faults, the walks of the
  servers' trees, end (final phase, logs gathered, the world taken apart, files sealed), judging
  from disk, and the reports. The last
  column has the requests of all clients a second of the load.
- *next start*: of a run in a process that has performed others, and of the first one in a process.
- *short runs*: 10 virtual seconds of a lock with a sparse load (all clients together begin an
  operation every 40 ms on average), judged, without reports; a second of one processor.

Times are the processor's for this process, the best of some; wall time is the same on a machine
that has nothing else to do.

``python -m benchmarks.run_cost [--quick]``
"""

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from rumpus.harness.generators.combinators import stagger
from rumpus.harness.generators.generator import Generator
from rumpus.harness.generators.seed import Seed
from rumpus.harness.run import Run
from rumpus.results.results_document import results_document
from rumpus.runs.judging import collector_at_rest, judge_run
from rumpus.runs.performing import PreparedRun
from rumpus.runs.run_settings import RunSettings
from rumpus.runs.workload_run import workload_run

LONG_S = 60.0
SHORT_S = 10.0
SHORT_FAULTS_EVERY_S = 3.0
SPARSE_S = 0.04
WORKLOADS = ("lock", "election", "queue", "double-barrier", "znode")
NEXT_START_MS = 20

PARTS = {
    "load for": "load",
    "healing": "end",
    "reading": "walks",
    "gathering": "end",
}
"""The first words of a step -> the part of the run that begins with it. A run begins with its
start."""

FIRST_START = """
from benchmarks.run_cost import cost
print(cost("lock", 1, 0.001, nemesis=()).parts["start"])
"""


@dataclass
class Cost:
    """What one run took.

    Attributes:
        parts: seconds of the processor, by part.
        requests: that the clients' links have passed on.
    """

    parts: dict[str, float] = field(default_factory=dict)
    requests: int = 0

    def seconds(self, *names: str) -> float:
        """Of some parts together; of all if none is named."""
        return sum(self.parts.get(name, 0.0) for name in names or self.parts)


class _Watch:
    """Adds up the processor's time by the part that is going on."""

    def __init__(self, cost: Cost) -> None:
        self._cost = cost
        self._part = "start"
        self._since = time.process_time()

    def begin(self, part: str) -> None:
        now = time.process_time()
        parts = self._cost.parts
        parts[self._part] = parts.get(self._part, 0.0) + now - self._since
        self._part, self._since = part, now

    def say(self, words: str) -> None:
        for beginning, part in PARTS.items():
            if words.startswith(beginning):
                self.begin(part)


def cost(
    workload: str,
    seed: int,
    seconds: float,
    *,
    interval: float = 10.0,
    nemesis: tuple[str, ...] | None = None,
    reports: bool = False,
) -> Cost:
    """Perform one run and judge it; its files are removed."""
    cost = Cost()
    with tempfile.TemporaryDirectory(prefix="rumpus-bench-") as place:
        watch = _Watch(cost)
        settings = RunSettings(
            argv=("run", workload),
            workload=workload,
            ensemble="sim",
            seed=seed,
            time_limit=seconds,
            nemesis=nemesis,
            nemesis_interval=interval,
            preemption="blocking",
            runs=Path(place),
        )
        run = PreparedRun(settings, watch.say)
        directory = run.perform()
        watch.begin("judge")
        with collector_at_rest():
            record, timeline, verdict = judge_run(directory, run.workload, run.promises)
            watch.begin("reports")
            if reports:
                results = results_document(directory.path, record, timeline, verdict)
                directory.finish(record, timeline, verdict, results)
        watch.begin("")
        sent = (op.value["requests"].values() for op in timeline.history.events("link", "requests"))
        cost.requests = sum(map(sum, sent))
    return cost


def sparse_run(*arguments: Any, **options: Any) -> Run:
    """``workload_run``, but of a run whose operations are far from each other."""
    run = workload_run(*arguments, **options)
    load = run.load

    def paced(until: int) -> Generator:
        return stagger(SPARSE_S, load(until), seed=Seed(1))

    return replace(run, load=paced)


def short_runs(count: int) -> float:
    """Processor seconds of so many short runs with a sparse load, judged."""
    with patch("rumpus.runs.performing.workload_run", sparse_run):
        costs = [
            cost("lock", seed, SHORT_S, interval=SHORT_FAULTS_EVERY_S) for seed in range(count)
        ]
    return sum(each.seconds() for each in costs)


def first_start() -> float:
    """Processor seconds of the start of the first run of a process, its imports apart."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_START], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def measure(scale: Scale) -> Table:
    table = Table(title="What a simulated run costs (milliseconds)")
    parts = ("start", "load", "walks", "end", "judge", "reports")
    for heading in ("", *parts, "all", "requests/s"):
        table.add_column(heading, justify="right")
    virtual_s = SHORT_S if scale.quick else LONG_S
    cost("lock", 1, 0.001, nemesis=())  # modules are compiled
    for workload in WORKLOADS[: 1 if scale.quick else None]:
        found = min(
            (cost(workload, 3, virtual_s, reports=True) for _ in range(scale.rounds(2))),
            key=Cost.seconds,
        )
        rate = found.requests / found.seconds("load")
        taken = [found.seconds(part) for part in parts]
        figures = [f"{1e3 * seconds:,.0f}" for seconds in (*taken, found.seconds())]
        table.add_row(f"{workload}, {virtual_s:g} virtual s", *figures, f"{rate:,.0f}")
    starts = [cost("lock", 1, 0.001, nemesis=()) for _ in range(scale.rounds(8))]
    quickest = min(each.seconds("start") for each in starts)
    whole = min(each.seconds() for each in starts)
    table.add_row(
        f"next run, no load (start: target {NEXT_START_MS})",
        f"{1e3 * quickest:,.0f}", *[""] * 5, f"{1e3 * whole:,.0f}",
    )  # fmt: skip
    table.add_row("first run of a process", f"{1e3 * first_start():,.0f}")
    runs = 2 if scale.quick else 20
    spent = short_runs(runs)
    table.add_row(f"{runs} sparse runs of {SHORT_S:g} virtual s", *[""] * 6, f"{1e3 * spent:,.0f}")
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
