"""How many operations a second a run carries: real worker processes whose operations do nothing.

Everything else is as in a real run: dispatch over the workers' channels, three records for each
operation, the witness's and the roles' bookkeeping, the links'
process asked for watch events, and the history on disk. An operation is a dispatch and its
completion. CPU is that of the driver's thread; workers need theirs on top.

``python -m benchmarks.driver [--quick]``
"""

import tempfile
import time
from pathlib import Path

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from rumpus.checker.timeline.holds import Words
from rumpus.harness.clients.worker_pool import WorkerPool
from rumpus.harness.clients.workers import ClientSpec
from rumpus.harness.driver import Driver
from rumpus.harness.generators.combinators import (
    cycle,
    each_process,
    on_clients,
    sequence,
    time_limit,
)
from rumpus.harness.generators.generator import Generator, Invocation
from rumpus.harness.generators.interpreter import Interpreter
from rumpus.harness.links.link_process import ProcessLinks
from rumpus.harness.roles import RoleTracker
from rumpus.harness.witness import Witness
from rumpus.results.history_file import HistoryWriter

CLIENTS = (1, 5, 20)
TARGET = 8_000
WORDS = Words(acquire="acquire", work="work", release="release", thing="lock")
NOWHERE = {"n1": ("127.0.0.1", 1)}  # the links' process runs, though nobody uses it


def load(seconds: float) -> Generator:
    acquire_release = sequence(Invocation("acquire"), Invocation("release"))
    return on_clients(time_limit(seconds, each_process(cycle(acquire_release))))


def run(clients: int, seconds: float) -> tuple[float, float]:
    """Operations a second, and microseconds of the driver's CPU an operation."""
    origin = time.monotonic_ns()
    with (
        tempfile.TemporaryDirectory(prefix="rumpus-bench-") as directory,
        HistoryWriter(Path(directory) / "history.jsonl") as history,
        ProcessLinks(NOWHERE, clients) as links,
    ):
        driver = Driver(
            witness=Witness(),
            links=links,
            sink=history,
            roles=RoleTracker(clients, WORDS),
            nemesis=lambda _f, value: value,
            origin=origin,
        )
        pool = WorkerPool(
            clients,
            ClientSpec("benchmarks.noop_client:build"),
            hosts=lambda _client: "",
            logs=Path(directory),
            notify=driver.notify,
            origin=origin,
        )
        try:
            pool.start()
            driver.open(pool)
            interpreter = Interpreter(load(seconds), clients=clients)
            began, began_cpu = time.perf_counter(), time.thread_time()
            driver.run(interpreter, bound=seconds + 10)
            took, cpu = time.perf_counter() - began, time.thread_time() - began_cpu
        finally:
            pool.stop()
            driver.close()
    operations = driver.progress.ok
    return operations / took, cpu / operations * 1e6


def measure(scale: Scale) -> Table:
    table = Table(title=f"Driver with worker processes, no-op operations, target {TARGET:,}/s")
    for heading in ("clients", "operations/s", "of rounds", "driver's CPU µs/operation"):
        table.add_column(heading, justify="right")
    for clients in CLIENTS[:2] if scale.quick else CLIENTS:
        rounds = [run(clients, scale.seconds(3)) for _ in range(scale.rounds(5))]
        table.add_row(
            f"{clients}",
            f"{max(rate for rate, _ in rounds):,.0f}",
            f"{min(rate for rate, _ in rounds):,.0f} to {max(rate for rate, _ in rounds):,.0f}",
            f"{min(cpu for _, cpu in rounds):.0f}",
        )
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
