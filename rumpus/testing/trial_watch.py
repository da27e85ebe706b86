"""A line now and then while a trial or servers of a test take long: nobody takes it for a hang."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from rich.console import Console
from rich.text import Text

from rumpus.harness.run import Status
from rumpus.live_line import LiveLine
from rumpus.runs.onlookers import FOLLOWING, TOLD
from rumpus.status_text import StatusText

VERBOSE_S: Final = 3.0
"""Seconds from one line to the next for those who want to see what goes on."""
SILENT_S: Final = 10.0
"""The same for others."""
WORKER_S: Final = 60.0
"""The same for each of xdist's workers."""
LOOK_S: Final = 0.25


class TrialWatch:
    """Prints where a test's trial or servers are, on lines of their own: step, and status of a run.

    Args:
        stream: where; not one that is captured.
        period: seconds of silence before each line.
        what: is put on trial.
    """

    def __init__(self, stream: TextIO, period: float, what: str) -> None:
        # pytest's own line is not finished, so no line can be overwritten even on a terminal.
        self._console = Console(file=stream, force_terminal=False, width=200)
        self._period, self._what = period, what
        self._over = threading.Event()
        self._began = time.monotonic()
        self._runs = 0
        self._step = "begins"
        self._now: tuple[StatusText, Status] | None = None
        """Of the run that is being performed."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Print lines while the block runs."""
        thread = threading.Thread(target=self._tell, daemon=True)
        tokens = FOLLOWING.set(self._following), TOLD.set(self._told)
        thread.start()
        try:
            yield
        finally:
            FOLLOWING.reset(tokens[0])
            TOLD.reset(tokens[1])
            self._over.set()
            thread.join()

    @contextmanager
    def _following(self, status: Status) -> Iterator[None]:
        self._runs += 1
        self._now = StatusText(self._began), status
        try:
            yield
        finally:
            self._now = None

    def _told(self, step: str) -> None:
        self._step = step

    def _tell(self) -> None:
        line = LiveLine(self._console, self._period)
        first = True
        while not self._over.wait(LOOK_S):
            if not line.due():
                continue
            if first:
                self._console.print()
            first = False
            line.show(self._line(self._now))

    def _line(self, now: tuple[StatusText, Status] | None) -> Text:
        words = f"{self._what}, run {self._runs}:" if self._runs else f"{self._what}:"
        if now is None:
            return Text(f"{words}{time.monotonic() - self._began:6.1f} s  {self._step}")
        return Text(words).append_text(now[0].line(now[1])).append(f"  ({self._step})")
