"""How late this host wakes a thread that only sleeps, and how many tasks wait for its processors.

A promise about time can be broken by a recipe, or by a host that lets everybody wait. The history
tells the two apart only if the host was measured meanwhile.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

SLEEP_S = 0.05
"""For how long the thread sleeps each time."""

WINDOW_NS = 1_000_000_000


class HostMeter:
    """Collects, second by second, how late a sleeping thread was woken and how many tasks ran.

    Args:
        now: the time on the run's clock, in nanoseconds.
        tasks: how many other tasks run or wait for a processor now; None if the host does not tell.
    """

    def __init__(self, now: int, tasks: Callable[[], int | None]) -> None:
        self._tasks = tasks
        self._processors = os.cpu_count() or 1
        self._begin(now)

    def _begin(self, now: int) -> None:
        self._since = now
        self._worst = 0
        self._seen: list[int] = []

    def woken(self, due: int, now: int) -> dict[str, Any] | None:
        """The thread was to wake at ``due`` and woke ``now``; a record if a second is over."""
        self._worst = max(self._worst, now - due)
        tasks = self._tasks()
        if tasks is not None:
            self._seen.append(tasks)
        return None if now - self._since < WINDOW_NS else self.close(now)

    def close(self, now: int) -> dict[str, Any]:
        """The record of the time since the last one."""
        queue = sum(self._seen) / len(self._seen) / self._processors if self._seen else None
        record = {
            "since": self._since,
            "late_ms": round(self._worst / 1e6, 1),
            "queue": None if queue is None else round(queue, 1),
        }
        self._begin(now)
        return record


def runnable_tasks(path: Path = Path("/proc/loadavg")) -> int | None:
    """How many tasks of the host run or wait for a processor, without the one that asks.

    None on hosts other than Linux.
    """
    try:
        return int(path.read_text().split()[3].partition("/")[0]) - 1
    except (OSError, ValueError, IndexError):
        return None  # the lateness is measured all the same
