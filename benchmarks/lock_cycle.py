"""What harness and links add to a lock's cycle, against the same loop in bare kazoo.

A cycle is: acquire; so many times, look whether the lock is held and act; release. With one act
that is the least a cycle can be; with three, and pauses of 5.5 ms between them, it is on average
what the workload's own clients do. Both variants run the same recipe
(``recipes.lock.contest_lock.FairLock``) with the same kazoo, one process a client, at the same
ensemble of three and its same published ports, and every client at the same server: client ``c``
is at server ``c % 3``, so that one variant has no leader nearer than the other.

- *bare*: a loop over the recipe's calls (``benchmarks.bare_loop``); to act is to count.
- *harness*: a run as ``rumpus run`` makes it (``harness.run.perform``), without faults: every
  call is dispatched and recorded, the action goes to the witness, all traffic passes the links,
  the history is written to disk, and the leader is watched.

Both are up all the time, and take turns in slices of half a second, with a rest between, so that
what else the machine does hits both alike. A slice's cycle time is its length over the cycles of
all clients that were completed in it. The overhead is that of each pair of neighbouring slices,
given as the median and the quartiles over all pairs.

``python -m benchmarks.lock_cycle [--quick]``
"""

import json
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import msgspec
from rich.table import Table

from benchmarks.bare_loop import BARE
from benchmarks.command_line import Scale, run_alone
from benchmarks.slices import Slices
from benchmarks.standing import Calm, Standing
from rumpus.checker.history import Op
from rumpus.harness.clients.workers import ClientSpec
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.ensemble import Ensemble
from rumpus.harness.generators.combinators import each_process
from rumpus.harness.generators.generator import (
    NOTHING,
    PENDING,
    Answer,
    Context,
    Generator,
    Invocation,
    Pending,
)
from rumpus.harness.links.link_process import ProcessLinks
from rumpus.harness.run import Run, Status, perform
from rumpus.results.history_file import HistoryWriter, read_history
from rumpus.workloads.contests.lock import LOCK

RECIPE = "fair"
CASES = ((1, 1, 0.0), (5, 1, 0.0), (1, 3, 0.0055), (5, 3, 0.0055))
"""Clients, acts, and seconds between them."""
TARGET = 15
HARNESS = 1
WARM_UP_S = 1.0
SLICE_NS = 500_000_000
REST_NS = 100_000_000
WARM_UP_PAIRS = 4


class PinnedLinks(ProcessLinks):
    """Each client knows one server."""

    def hosts(self, client: int) -> str:
        host, port = self.address(client, self._nodes[client % len(self._nodes)])
        return f"{host}:{port}"


class Cycles(msgspec.Struct, frozen=True):
    """One process's load: whole cycles, begun in the harness's slices.

    ``origin`` is what the system's monotonic clock said when the run's clock was 0.
    """

    slices: Slices
    origin: int
    acts: int
    pause: float
    step: int = 0

    def op(self, ctx: Context) -> Answer:
        if ctx.next_free() is None:
            return PENDING, self
        if self.step == 0:
            turn = self.slices.next_turn(HARNESS, ctx.time + self.origin)
            if turn is None:
                return None
            if turn > ctx.time + self.origin:
                return Pending(turn - self.origin), self
        words = LOCK.words
        f, value = (
            (words.acquire, {"timeout": 5.0}),
            (words.work, {"acts": self.acts, "pause": self.pause}),
            (words.release, None),
        )[self.step]
        return Invocation(f, value, ctx.next_free(), ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        if event.type == "invoke":
            return self
        return msgspec.structs.replace(self, step=(self.step + 1) % 3)


def start_bare(
    stack: ExitStack, ensemble: Ensemble, clients: int, acts: int, pause: float
) -> list[subprocess.Popen[str]]:
    processes = []
    for client in range(clients):
        host, port = ensemble.client_address(ensemble.nodes[client % len(ensemble.nodes)])
        what = [f"{host}:{port}", RECIPE, LOCK.path, f"bare-{client}", f"{acts}", f"{pause}"]
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.bare_loop", *what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.enter_context(process)
        stack.callback(process.kill)
        processes.append(process)
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "connected\n"
    return processes


def compare(
    ensemble: Ensemble, clients: int, acts: int, pause: float, warm_up: int, pairs: int
) -> list[tuple[float, float]]:
    """Milliseconds of a cycle, bare and through the harness, for each pair of slices."""
    origin = time.monotonic_ns()
    count = 2 * (warm_up + pairs)
    limit = WARM_UP_S + count * (SLICE_NS + REST_NS) / 1e9
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rumpus-bench-")))
        processes = start_bare(stack, ensemble, clients, acts, pause)
        slices: Slices | None = None

        def load(until: int) -> Generator:
            nonlocal slices
            began = origin + until - int(limit * 1e9)
            slices = Slices(began + int(WARM_UP_S * 1e9), SLICE_NS, REST_NS, count)
            for process in processes:
                assert process.stdin is not None
                process.stdin.write(json.dumps(slices) + "\n")
                process.stdin.flush()
            return each_process(Cycles(slices, origin, acts, pause))

        with HistoryWriter(directory / "history.jsonl") as sink:
            perform(
                Run(
                    clients=ClientSpec(LOCK.build, LOCK.options(RECIPE, clients)),
                    count=clients,
                    words=LOCK.words,
                    load=load,
                    final=NOTHING,
                    time_limit=limit,
                    cleanup=LOCK.cleanup,
                ),
                ensemble=Standing(ensemble),
                connect=PinnedLinks,
                nemesis=lambda *_: Calm(),
                sink=sink,
                logs=directory,
                nodes=directory,
                origin=origin,
                status=Status(origin=origin),
                step=lambda _: None,
                stop_requested=lambda: False,
            )
        assert slices is not None
        history = read_history(directory / "history.jsonl")
        harnessed = Counter(
            slices.counted(op.time + origin)
            for op in history
            if op.f == LOCK.words.release and op.type == "ok"
        )
        bare = [json.loads(process.communicate()[0]) for process in processes]
    completed = [
        (sum(counts[number + BARE] for counts in bare), harnessed[number + HARNESS])
        for number in range(2 * warm_up, count, 2)
    ]
    completed = [pair for pair in completed if all(pair)]  # not stalled by a busy machine
    if not completed:
        raise RuntimeError("no pair of slices in which both variants completed a cycle")
    return [
        (slices.counted_ms / direct, slices.counted_ms / through) for direct, through in completed
    ]


def row(pairs: list[tuple[float, float]]) -> list[str]:
    overheads = [(through / direct - 1) * 100 for direct, through in pairs]
    if len(overheads) > 1:
        low, median, high = statistics.quantiles(overheads, n=4, method="inclusive")
    else:
        low = median = high = overheads[0]
    return [
        f"{statistics.median(direct for direct, _ in pairs):.2f}",
        f"{statistics.median(through for _, through in pairs):.2f}",
        f"{median:+.1f} %",
        f"{low:+.1f} to {high:+.1f} %",
        f"{len(pairs)}",
    ]


def measure(scale: Scale) -> Table:
    table = Table(title=f"A lock's cycle through harness and links, target {TARGET} % at most")
    for heading in ("clients", "acts", "bare ms", "harness ms", "overhead", "quartiles", "pairs"):
        table.add_column(heading, justify="right")
    ensemble = DockerEnsemble(f"bench-{secrets.token_hex(3)}")
    warm_up = scale.count(WARM_UP_PAIRS)
    try:
        ensemble.start()
        for clients, acts, pause in CASES[1:3] if scale.quick else CASES:
            pairs = compare(ensemble, clients, acts, pause, warm_up, max(3, scale.count(40)))
            table.add_row(f"{clients}", f"{acts}", *row(pairs))
    finally:
        ensemble.tear_down()
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
