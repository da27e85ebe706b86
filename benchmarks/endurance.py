"""Whether a long run needs more and more memory.

A lock's run with all faults as ``rumpus run`` makes it, in a process of its own, and the resident
memory (``VmRSS``) of the control process, of the links' process and of all clients' processes
together, every 10 s (more often in a short run) from the beginning of the load to its end. Clients
are killed and started anew by the faults, so theirs goes up and down. The slope is that of the
least-squares line through the samples after the first fifth, which is warm-up.

With ``--no-op`` the control process runs operations that do nothing as fast as it can instead
(``benchmarks.driver``), so that a leak of a few bytes an operation would show: it does in a minute
what a real run does in hours. Its history takes about 4 MB a second of disk while it runs.

``python -m benchmarks.endurance [--minutes 10] [--no-op]``
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import driver
from benchmarks.command_line import Scale

LONGEST_PERIOD_S = 10.0
LEAST_SAMPLES = 30
WARM_UP = 0.2  # of all samples
START_PATIENCE_S = 120.0
CLIENTS = 5

Samples = dict[str, list[tuple[float, float]]]
"""For each part of the program: (seconds since the load began, megabytes)."""


def resident(pid: int) -> float:
    """Megabytes; 0 for a process that is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0.0


def children(pid: int) -> dict[int, str]:
    """Process id -> command line, of all children."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            numbers = (task / "children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has ended meanwhile
        for child in numbers:
            try:
                found[int(child)] = Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended meanwhile
    return found


def sample(control: int, samples: Samples, began: float) -> None:
    at = time.monotonic() - began
    parts = children(control)
    links = sum(
        resident(pid) for pid, what in parts.items() if "rumpus.harness.links.link_process" in what
    )
    clients = sum(
        resident(pid) for pid, what in parts.items() if "rumpus.harness.clients.worker" in what
    )
    for name, size in (
        ("control process", resident(control)),
        ("links", links),
        (f"{CLIENTS} clients", clients),
    ):
        samples.setdefault(name, []).append((at, size))


def sample_until(over: Callable[[], bool], control: int, began: float, minutes: float) -> Samples:
    period = min(LONGEST_PERIOD_S, minutes * 60 / LEAST_SAMPLES)
    samples: Samples = {}
    while not over():
        sample(control, samples, began)
        time.sleep(period)
    return samples


def real(minutes: float) -> tuple[Samples, str]:
    """A run with faults; and what its operations came to."""
    seconds = minutes * 60
    with tempfile.TemporaryDirectory(prefix="rumpus-bench-") as runs:
        command = [sys.executable, "-m", "rumpus.program", "run", "lock", "--runs", runs]
        command += ["--time-limit", f"{seconds:g}", "--clients", f"{CLIENTS}"]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                history = wait_for_load(process, Path(runs))
                began = time.monotonic()
                samples = sample_until(
                    lambda: process.poll() is not None or time.monotonic() - began > seconds,
                    process.pid,
                    began,
                    minutes,
                )
                size = history.stat().st_size / 1e6
                code = process.wait(300)
            finally:
                if process.poll() is None:
                    process.terminate()
    return samples, f"lock / fair with all faults, {size:.0f} MB of history, exit code {code}"


def wait_for_load(process: subprocess.Popen[bytes], runs: Path) -> Path:
    """The run's history, once clients' operations are in it."""
    deadline = time.monotonic() + START_PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        for history in runs.glob("lock/2*/history.jsonl"):
            if b'"invoke"' in history.read_bytes()[:1_000_000]:
                return history
        time.sleep(0.2)
    raise RuntimeError(f"no load within {START_PATIENCE_S:.0f} s; exit code {process.poll()}")


def no_op(minutes: float) -> tuple[Samples, str]:
    """As many operations as the driver can run; and how many those were."""
    over = threading.Event()
    samples: Samples = {}
    began = time.monotonic()

    def watch() -> None:
        samples.update(sample_until(over.is_set, os.getpid(), began, minutes))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        rate, _ = driver.run(CLIENTS, minutes * 60)
    finally:
        over.set()
        watcher.join()
    # The last sample may be from after the end.
    samples = {name: values[:-1] for name, values in samples.items()}
    return samples, f"no-op operations, {rate:,.0f}/s, {rate * minutes * 60:,.0f} in all"


def report(samples: Samples, what: str, minutes: float) -> Table:
    table = Table(title=f"Memory over {minutes:g} minutes: {what}")
    for heading in ("MB resident", "at first", "after warm-up", "at last", "most", "slope MB/min"):
        table.add_column(heading, justify="right")
    for name, values in samples.items():
        steady = values[int(len(values) * WARM_UP) :]
        slope = statistics.linear_regression(*zip(*steady, strict=True)).slope * 60
        table.add_row(
            name,
            f"{values[0][1]:.1f}",
            f"{steady[0][1]:.1f}",
            f"{values[-1][1]:.1f}",
            f"{max(size for _, size in values):.1f}",
            f"{slope:+.3f}",
        )
    return table


def measure(scale: Scale) -> Table:
    """For the run of all benchmarks; the real one takes ten minutes."""
    minutes = 0.05 if scale.quick else 2
    return report(*no_op(minutes), minutes)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10, help="length of the load (10)")
    parser.add_argument("--no-op", action="store_true", help="operations that do nothing")
    arguments = parser.parse_args()
    run = no_op if arguments.no_op else real
    Console().print(report(*run(arguments.minutes), arguments.minutes))


if __name__ == "__main__":
    main()
