"""A line that says how far a command is, or what it is still at."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

SILENT_S = 10.0
"""After how many seconds without a line a command says what it is at."""
LONGEST_SILENCE_S = 60.0
"""Lines that say the same come ever less often, but as often as this."""


@contextmanager
def waiting(console: Console, doing: str, period: float = SILENT_S) -> Iterator[None]:
    """Say now and then what is being done while the block runs: nobody takes it for a hang.

    A run on real servers takes a minute, and its progress is shown by nobody when it is one of
    several. Each line comes twice as late as the one before, up to ``LONGEST_SILENCE_S``.
    """
    began, over = time.monotonic(), threading.Event()

    def tell() -> None:
        pause = period
        while not over.wait(pause):
            elapsed = time.monotonic() - began
            console.print(Text(f"{elapsed:6.1f} s  {doing}"), soft_wrap=True)
            pause = min(2 * pause, LONGEST_SILENCE_S)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class LiveLine:
    """Is kept up to date on a terminal; elsewhere (logs of a CI job) it is printed now and then.

    Args:
        console: where it is shown.
        period: seconds between two lines where lines cannot be overwritten.

    Attributes:
        began: when it was made, by the monotonic clock.
    """

    def __init__(self, console: Console, period: float) -> None:
        self.began = self._shown = time.monotonic()
        self._console, self._period = console, period
        self._live: Live | None = None

    @contextmanager
    def live(self) -> Iterator[None]:
        """Keep the line up to date while the block runs, where that is possible."""
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, transient=True, auto_refresh=False) as self._live:
            yield
        self._live = None

    def due(self) -> bool:
        """Whether a line would be shown now."""
        return self._live is not None or time.monotonic() - self._shown >= self._period

    def show(self, line: RenderableType) -> None:
        """Show the line now, or not, if that was done a moment ago."""
        if self._live is not None:
            self._live.update(line, refresh=True)
        elif self.due():
            self._shown = time.monotonic()
            self._console.print(line, soft_wrap=True)
