from pathlib import Path

from rumpus.runs.run_settings import RunSettings


def double_barrier(**options):
    """Simulated runs of kazoo's double barrier, which breaks when its clients lose connections."""
    return RunSettings(
        argv=(), workload="double-barrier", recipe="kazoo", ensemble="sim", **options
    )


def is_running(pid):
    """Whether a process runs, and is not only waiting for its parent to look at it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
