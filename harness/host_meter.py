"""How late this host wakes a thread that only sleeps, and how busy its processors are.

A promise about time can be broken by a recipe, or by a host that lets everybody wait. The history
tells the two apart only if the host was measured meanwhile.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rumpus.checker.host import LATE_MS

SLEEP_S = 0.05
"""For how long the thread sleeps each time."""

_LATE_WINDOW_NS = 1_000_000_000
_CALM_WINDOW_NS = 10_000_000_000


class HostMeter:
    """Collects how late a sleeping thread was woken into records, each of which covers a window.

    A window ends after a second in which the thread was late, or after ten calm ones.

    Args:
        now: the time on the run's clock, in nanoseconds.
        stalled: for how many microseconds since the host started some task has had to wait for a
            processor; None where the host does not tell.
    """

    def __init__(self, now: int, stalled: Callable[[], int | None]) -> None:
        self._stalled = stalled
        self._begin(now)

    def _begin(self, now: int) -> None:
        self._since = now
        self._worst = 0
        self._waited = self._stalled()

    def woken(self, due: int, now: int) -> dict[str, Any] | None:
        """The thread was to wake at ``due`` and woke ``now``; the record, if a window ends here."""
        self._worst = max(self._worst, now - due)
        late = self._worst >= LATE_MS * 1e6
        if now - self._since < (_LATE_WINDOW_NS if late else _CALM_WINDOW_NS):
            return None
        return self.close(now)

    def close(self, now: int) -> dict[str, Any]:
        """The record of the window that ends now."""
        waited = self._stalled()
        pressure = None
        if waited is not None and self._waited is not None and now > self._since:
            pressure = round(min(1.0, (waited - self._waited) * 1e3 / (now - self._since)), 2)
        record = {
            "since": self._since,
            "late_ms": round(self._worst / 1e6, 1),
            "pressure": pressure,
            "load": round(os.getloadavg()[0], 1),
        }
        self._begin(now)
        return record


def stalled_us(path: Path = Path("/proc/pressure/cpu")) -> int | None:
    """For how long some task has had to wait for a processor (Linux's pressure stall information).

    None on hosts that do not count it.
    """
    try:
        first = path.read_text().splitlines()[0]
        return int(first.rpartition("total=")[2])
    except (OSError, ValueError, IndexError):
        return None  # a kernel without it; the lateness is measured all the same
