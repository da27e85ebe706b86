"""What simulated runs cost: processor time and memory.

- *requests*: kazoo's requests, half of them writes, of 5 clients at 5 servers, without faults.
- *locks*: 60 virtual seconds in which 5 clients contend for a fair lock at 5 servers, hold it for
  20 ms, and every 5 s a server is killed, paused or cut off; in a bare world, and as a whole run
  of the harness with all its kinds of fault, from start to the servers' files on disk.
- *idle*: 5 servers without clients.
- *freeze*: 40 virtual seconds at one server; the holder of a lock is frozen until its session has
  expired and the next has been granted, and thawed.
- *start and end*: a whole run of the harness with 3 servers and 5 clients that has next to no load.
- *growth*: of the resident memory over 1,000 such runs with some load in one process, after the
  first ones, in which caches fill.

Times are the processor's for this process, the best of some; wall time is the same on a machine
that has nothing else to do.

``python -m benchmarks.simulation [--quick]``
"""

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from benchmarks.endurance import resident
from benchmarks.simulated_worlds import World, lock_cycles, one_hold, requests
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.harness.simulated.run import perform_simulated
from rumpus.nemesis.random_plan import random_plan
from rumpus.nemesis.registry import EVERYWHERE
from rumpus.nemesis.runner import Nemesis
from rumpus.results.history_file import HistoryWriter
from rumpus.runs.workload_run import workload_run
from rumpus.simulation.kernel.simulator import SECOND
from rumpus.workloads.contests.lock import LOCK

SERVERS = 5
CLIENTS = 5
SESSION_TIMEOUT_S = 2.0
NO_LOAD_S = 0.001
SHORT_LOAD_S = 2.0
CONTENDERS = 2
WARM_UP_RUNS = 20
RUNS = 1000

REQUESTS_A_SECOND = 10_000
LOCKS_S = 1
IDLE_RATE = 2_000
FREEZE_MS = 20
START_AND_END_MS = 50
GROWTH_MB = 20


def processor_seconds(act: Callable[[], object]) -> float:
    """How long it takes, the collector resting as it does in simulated runs."""
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        act()
        return time.process_time() - began
    finally:
        gc.enable()


@contextmanager
def world(servers: int) -> Iterator[World]:
    made = World(servers)
    try:
        yield made
    finally:
        made.close()


def request_rate(virtual_s: float) -> float:
    """Requests a second of processor time."""
    with world(SERVERS) as made:
        for _ in range(CLIENTS):
            made.client(requests)
        made.run_for(SECOND)  # modules are loaded, sessions granted
        made.done = 0
        spent = processor_seconds(lambda: made.run_for(int(virtual_s * SECOND)))
        return made.done / spent


def bare_locks(virtual_s: float) -> tuple[float, int]:
    """Processor seconds, and cycles."""
    with world(SERVERS) as made:
        for _ in range(CLIENTS):
            made.client(lock_cycles)
        made.strike()
        return processor_seconds(lambda: made.run_for(int(virtual_s * SECOND))), made.done


def whole_run(
    seed: int, load_s: float, *, servers: int, kinds: Sequence[str] = EVERYWHERE
) -> tuple[float, int]:
    """Processor seconds of a run of the harness, and records in its history."""
    plan = random_plan(
        kinds,
        seed=seed,
        time_limit=load_s,
        interval=5.0,
        nodes=servers,
        clients=CLIENTS,
        session_timeout=SESSION_TIMEOUT_S,
        tick=0.5,
    )
    context = WorkloadContext(Seed(seed), LOCK.recipes["fair"], CLIENTS, SESSION_TIMEOUT_S)
    run = workload_run(LOCK, "fair", context, time_limit=load_s)

    with tempfile.TemporaryDirectory(prefix="rumpus-bench-") as place:
        logs, node_files = Path(place, "clients"), Path(place, "nodes")
        history = Path(place, "history.jsonl")
        logs.mkdir()
        node_files.mkdir()

        def perform() -> None:
            with HistoryWriter(history) as sink:
                perform_simulated(
                    run,
                    seed=seed,
                    nodes=servers,
                    nemesis=partial(Nemesis, plan, seed=seed),
                    sink=sink,
                    logs=logs,
                    node_files=node_files,
                    preemption="blocking",
                )

        spent = processor_seconds(perform)
        return spent, history.read_bytes().count(b"\n")


def idle_rate(virtual_s: float) -> float:
    """Virtual seconds a second of processor time."""
    with world(SERVERS) as made:
        return virtual_s / processor_seconds(lambda: made.run_for(int(virtual_s * SECOND)))


def freeze() -> float:
    """Processor seconds of the whole scenario, the world's making and end included."""

    def scenario() -> None:
        with world(1) as made:
            made.client(one_hold)
            made.run_for(SECOND)
            made.client(one_hold)
            made.run_for(SECOND)
            made.spaces[0].process.freeze()
            made.run_for(6 * SECOND)
            if made.done != CONTENDERS:
                raise RuntimeError(f"{made.done} grants: the frozen client's session is not over")
            made.spaces[0].process.thaw()
            made.run_for(40 * SECOND - made.simulator.now)

    return processor_seconds(scenario)


def growth(warm_up: int, runs: int) -> float:
    """Megabytes by which the process grows over so many short runs after the first ones."""
    for seed in range(warm_up):
        whole_run(seed, SHORT_LOAD_S, servers=3, kinds=("kill",))
    before = resident(os.getpid())
    for seed in range(runs):
        whole_run(seed, SHORT_LOAD_S, servers=3, kinds=("kill",))
    return resident(os.getpid()) - before


def measure(scale: Scale) -> Table:
    table = Table(title="Simulated runs")
    for heading in ("", "measured", "target"):
        table.add_column(heading, justify="right")
    rounds = range(scale.rounds(3))
    virtual_s = 6 if scale.quick else 60  # all kinds of fault need so long

    rate = max(request_rate(scale.seconds(6)) for _ in rounds)
    table.add_row("requests, 5 servers, 5 clients", f"{rate:,.0f}/s", f"{REQUESTS_A_SECOND:,}/s")
    spent, cycles = min(bare_locks(virtual_s) for _ in rounds)
    locks = f"locks and faults, {virtual_s:g} virtual s"
    table.add_row(f"{locks}, bare", f"{spent:.2f} s, {cycles} cycles", f"{LOCKS_S} s")
    spent, records = min(whole_run(1, virtual_s, servers=SERVERS) for _ in rounds)
    table.add_row(f"{locks}, whole run", f"{spent:.2f} s, {records} records", f"{LOCKS_S} s")
    rate = idle_rate(scale.seconds(300))
    table.add_row("idle, 5 servers", f"{rate:,.0f} virtual s/s", f"{IDLE_RATE:,} virtual s/s")
    spent = min(freeze() for _ in range(scale.rounds(10)))
    table.add_row("freeze, 40 virtual s", f"{spent * 1e3:.0f} ms", f"{FREEZE_MS} ms")
    spent = min(whole_run(1, NO_LOAD_S, servers=3, kinds=())[0] for _ in range(scale.rounds(10)))
    table.add_row("start and end of a run", f"{spent * 1e3:.0f} ms", f"{START_AND_END_MS} ms")
    runs = scale.count(RUNS)
    grown = growth(scale.count(WARM_UP_RUNS), runs)
    table.add_row(
        f"growth over {runs:,} runs",
        f"{grown:.1f} MB",
        f"{GROWTH_MB} MB",
    )
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
