"""How the time to judge a run grows with its length and with the number of clients.

Judged is what ``rumpus run`` judges a lock's run by: exclusion on all three timelines, tokens,
order, herd, liveness and exercise, with the servers' logs at hand
(``workloads.framework.judgement``). The run is made up (``benchmarks.orderly_run``); reading files
is not in the time. Memory is the largest that Python held on top of the evidence itself.

``python -m benchmarks.checking [--quick]``
"""

import time
import tracemalloc

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from benchmarks.orderly_run import orderly_run
from rumpus.workloads.contests.lock import LOCK

CLIENTS = (1, 5, 20)
SIZES = (10_000, 100_000, 1_000_000)


def judge(clients: int, records: int) -> tuple[float, int]:
    """Seconds to judge a new run, and the number of its records."""
    evidence = orderly_run(clients, records)
    began = time.perf_counter()
    verdict = LOCK.judge(evidence)
    took = time.perf_counter() - began
    # One client never contends: its run is sound and yet shows too little.
    expected = "valid" if clients > 1 else "inconclusive"
    if verdict.outcome != expected:
        raise AssertionError(f"{verdict.outcome}: {verdict.reasons} {verdict.anomalies[:3]}")
    return took, len(evidence.history)


def extra_memory(clients: int, records: int) -> float:
    """Megabytes at most while judging."""
    evidence = orderly_run(clients, records)
    tracemalloc.start()
    LOCK.judge(evidence)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 1e6


def measure(scale: Scale) -> Table:
    table = Table(title="Judging a run of a lock")
    for heading in ("clients", "records", "seconds", "µs/record", "MB on top"):
        table.add_column(heading, justify="right")
    for clients in CLIENTS:
        for size in SIZES[:1] if scale.quick else SIZES:
            rounds = [judge(clients, size) for _ in range(scale.rounds(3 if size < 10**6 else 1))]
            took, records = min(rounds)
            memory = f"{extra_memory(clients, size):.0f}" if size < 10**6 else ""
            table.add_row(
                f"{clients}", f"{records:,}", f"{took:.2f}", f"{took / records * 1e6:.1f}", memory
            )
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
