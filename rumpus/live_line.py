"""A line that says how far a command is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.live import Live


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
