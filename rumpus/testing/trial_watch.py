"""A line now and then while a test's trial goes on, so that nobody takes a long one for a hang."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from rich.console import Console
from rich.text import Text

from rumpus.harness.run import Status
from rumpus.live_line import LiveLine
from rumpus.runs.judged_run import FOLLOWING
from rumpus.status_text import StatusText

VERBOSE_S: Final = 3.0
"""Seconds from one line to the next for those who want to see what goes on."""
SILENT_S: Final = 10.0
"""The same for others."""
LOOK_S: Final = 0.25


class TrialWatch:
    """Prints where the trial of a test is, on lines of their own.

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
        self._now: tuple[StatusText, Status] | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Print lines while the block runs."""
        thread = threading.Thread(target=self._tell, daemon=True)
        token = FOLLOWING.set(self._following)
        thread.start()
        try:
            yield
        finally:
            FOLLOWING.reset(token)
            self._over.set()
            thread.join()

    @contextmanager
    def _following(self, status: Status) -> Iterator[None]:
        self._runs += 1
        self._now = StatusText(self._began), status
        yield

    def _tell(self) -> None:
        line = LiveLine(self._console, self._period)
        first = True
        while not self._over.wait(LOOK_S):
            if self._now is None or not line.due():
                continue
            text, status = self._now
            if first:
                self._console.print()
            first = False
            line.show(Text(f"{self._what}, run {self._runs}:").append_text(text.line(status)))
