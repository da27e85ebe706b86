"""What a person sees while a run goes on: steps, and its status, which is kept up to date."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

from rumpus.harness.run import Status
from rumpus.live_line import LiveLine
from rumpus.status_text import StatusText

PERIOD_S = 0.25
PLAIN_PERIOD_S = 5.0
"""How often the status is printed where lines cannot be overwritten (logs of a CI job)."""


class ProgressDisplay:
    """Prints each step as it begins, with the seconds since the start; shows the status."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()

    def step(self, words: str) -> None:
        """Print what is being done now."""
        elapsed = time.monotonic() - self._began
        self._console.print(
            f"[dim]{elapsed:6.1f} s[/]  {escape(words)}", highlight=False, soft_wrap=True
        )

    @contextmanager
    def following(self, status: Status) -> Iterator[None]:
        """Show a run's status until the block ends."""
        over = threading.Event()
        thread = threading.Thread(target=self._follow, args=(status, over), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _follow(self, status: Status, over: threading.Event) -> None:
        line = LiveLine(self._console, PLAIN_PERIOD_S)
        told = StatusText(self._began)
        describe = told.view if self._console.is_terminal else told.line
        with line.live():
            while not over.wait(PERIOD_S):
                line.show(describe(status))
