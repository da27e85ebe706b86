"""What a long run costs: simulated runs of a lock under faults, and ``rumpus check`` on each.

Each command is a process of its own. CPU is that of the process and its kernel calls. ``load`` is
the most resident memory (``VmRSS``) before the run is sealed, that is without its judgement; that
of the check is the kernel's count (``ru_maxrss``). What grows faster than the minutes is a defect.

``python -m benchmarks.long_run [--quick]``
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from benchmarks.endurance import resident

MINUTES = (1.0, 5.0, 30.0)
TARGET = "check of 30 minutes: 20 s, 500 MB"
PERIOD_S = 0.2

HEADINGS = (
    "minutes",
    "records",
    "history MB",
    "bytes a record",
    "run CPU s",
    "load MB",
    "check CPU s",
    "check MB",
    "report MB",
)


def rumpus(*words: str, until: Path | None = None) -> tuple[float, float, float]:
    """CPU seconds and most MB of a command, and its most MB before a file was there."""
    command = [sys.executable, "-m", "rumpus.program", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    early = 0.0
    while until is not None and _alive(process.pid) and not [*until.glob("lock/2*/seal.json")]:
        early = max(early, resident(process.pid))
        time.sleep(PERIOD_S)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in {0, 3}, said.decode()  # a short run may be inconclusive
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, early


def _alive(pid: int) -> bool:
    """Whether a child runs; without ``poll``, which would take its figures away."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def row(minutes: float) -> list[str]:
    """The figures of a run of so many virtual minutes."""
    with tempfile.TemporaryDirectory(prefix="rumpus-bench-") as place:
        runs = Path(place)
        words = ["--ensemble", "sim", "--seed", "1", "--runs", place]
        run_cpu, _, load = rumpus("run", "lock", *words, f"--time-limit={minutes * 60}", until=runs)
        run = runs / "lock" / "latest"
        check_cpu, memory, _ = rumpus("check", str(run))
        content = (run / "history.jsonl").read_bytes()
        records = content.count(b"\n")
        return [
            f"{minutes:g}",
            f"{records:,}",
            f"{len(content) / 1e6:.1f}",
            f"{len(content) / records:.0f}",
            f"{run_cpu:.1f}",
            f"{load:.0f}",
            f"{check_cpu:.1f}",
            f"{memory:.0f}",
            f"{(run / 'report.html').stat().st_size / 1e6:.1f}",
        ]


def measure(scale: Scale) -> Table:
    table = Table(title=f"Simulated runs of lock / fair with faults; target: {TARGET}")
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for minutes in (0.2,) if scale.quick else MINUTES:
        table.add_row(*row(minutes))
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
