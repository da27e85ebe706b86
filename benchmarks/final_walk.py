"""What it costs to ask every server for its whole tree at the end of a run.

- *docker*: runs of a lock by 5 clients, 20 s of load without faults, at an ensemble of three whose
  tree has so many znodes. All three servers are walked at once, through the links. The time is that
  of the slowest walk, and the share that of the whole run, from its first client to its end. A walk
  that took longer than it may has the number of znodes that it had seen.
- *sim*: a world of three simulated servers, walked one after the other: processor time, and its
  share of that with the creation of the tree before. ``benchmarks.run_cost`` has the share of usual
  runs.

``python -m benchmarks.final_walk [--quick]``
"""

import secrets
import tempfile
import time
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from benchmarks.standing import Calm, Standing
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.final_walk import LONGEST_S
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.harness.links.link_process import ProcessLinks
from rumpus.harness.run import Status, perform
from rumpus.harness.simulated.run import OWN_CLIENT_PRIVATE, walk_from
from rumpus.harness.simulated.workers import SHARED
from rumpus.results.history_file import HistoryWriter, read_history
from rumpus.runs.workload_run import workload_run
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.loader.space import Space
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster
from rumpus.workloads.contests.lock import LOCK

SIZES = (10, 1_000, 100_000)
LOAD_S = 20.0
CLIENTS = 5
SESSION_S = 2.0
IN_A_FOLDER = 1_000
AT_ONCE = 500


def plant(kazoo: Any, znodes: int) -> None:
    """Create so many znodes, a thousand at most below each, with a hundred bytes of data."""
    base = f"/walk-{znodes}"
    kazoo.create(base)
    made = 1
    while made < znodes:
        folder = f"{base}/{made}"
        kazoo.create(folder)
        paths = [f"{folder}/{number}" for number in range(min(IN_A_FOLDER, znodes - made) - 1)]
        for first in range(0, len(paths), AT_ONCE):
            transaction = kazoo.transaction()
            for path in paths[first : first + AT_ONCE]:
                transaction.create(path, b"x" * 100)
            transaction.commit()
        made += 1 + len(paths)


def plant_on_docker(ensemble: DockerEnsemble, znodes: int) -> None:
    host, port = ensemble.client_address(ensemble.nodes[0])
    kazoo = KazooClient(f"{host}:{port}", timeout=10)
    kazoo.start(timeout=30)
    plant(kazoo, znodes)
    kazoo.stop()
    kazoo.close()


def on_docker(ensemble: DockerEnsemble, load_s: float) -> tuple[list[dict[str, Any]], float]:
    """The walks at the end of a run, and how long the run took in seconds."""
    run = workload_run(
        LOCK,
        "fair",
        WorkloadContext(Seed(1), LOCK.recipes["fair"], CLIENTS, SESSION_S),
        time_limit=load_s,
        fencing=False,
    )
    origin = time.monotonic_ns()
    with tempfile.TemporaryDirectory(prefix="rumpus-bench-") as place:
        directory = Path(place)
        with HistoryWriter(directory / "history.jsonl") as sink:
            perform(
                run,
                ensemble=Standing(ensemble),
                connect=ProcessLinks,
                nemesis=lambda *_: Calm(),
                sink=sink,
                logs=directory,
                nodes=directory,
                origin=origin,
                status=Status(origin=origin),
                step=lambda _: None,
                stop_requested=lambda: False,
            )
        lasted = (time.monotonic_ns() - origin) / 1e9
        history = read_history(directory / "history.jsonl")
    return [op.value for op in history.events("control", "walk")], lasted


def in_simulation(znodes: int) -> tuple[list[dict[str, Any]], float, float]:
    """Three walks; processor seconds that they took, and that the creation before took."""
    simulator = Simulator(1)
    network = Network(simulator)
    cluster = Cluster(simulator, network, 3)
    cluster.start()
    control = simulator.process("control")
    walks: list[dict[str, Any]] = []
    times: list[float] = []

    def main() -> None:
        times.append(time.process_time())
        space = Space(control, network, private=OWN_CLIENT_PRIVATE, shared=SHARED)
        hosts = ",".join(f"{host}:{port}" for host, port in cluster.addresses)
        kazoo = space.load("rumpus.harness.own_client").open_client(hosts, lambda _: None)
        plant(kazoo, znodes)
        kazoo.stop()
        times.append(time.process_time())
        walks.extend(
            walk_from(simulator, network, "c0", address, SESSION_S, lambda: False)
            for address in cluster.addresses
        )
        times.append(time.process_time())
        simulator.stop()

    try:
        simulator.run(until=5 * SECOND)
        control.spawn(main, "main")
        simulator.run()
    finally:
        simulator.close()
    began, planted, ended = times
    return walks, ended - planted, planted - began


def row(world: str, walks: list[dict[str, Any]], seconds: float, whole: float) -> list[str]:
    seen = min(walk["znodes"] for walk in walks)
    return [
        world,
        f"{seen:,}",
        f"{seconds:.3f}",
        f"{sum(walk['znodes'] for walk in walks) / seconds:,.0f}",
        f"{100 * seconds / whole:.1f} %",
        "; ".join(sorted({str(walk["error"]) for walk in walks if walk["error"]})),
    ]


def measure(scale: Scale) -> Table:
    table = Table(title=f"Walking three servers, {LONGEST_S:g} s each at most")
    for heading in ("", "znodes seen", "s", "znodes/s of all", "share", "not all seen because"):
        table.add_column(heading, justify="right")
    sizes = SIZES[:1] if scale.quick else SIZES
    ensemble = DockerEnsemble(f"bench-{secrets.token_hex(3)}")
    try:
        ensemble.start()
        for size in sizes:
            plant_on_docker(ensemble, size)
            walks, lasted = on_docker(ensemble, scale.seconds(LOAD_S))
            seconds = max(walk["seconds"] for walk in walks)
            table.add_row(*row("docker", walks, seconds, lasted))
    finally:
        ensemble.tear_down()
    for size in sizes:
        walks, walking, planting = in_simulation(size)
        table.add_row(*row("sim", walks, walking, walking + planting))
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
