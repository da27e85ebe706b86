"""What a person sees while a run goes on: steps, and one status line that is kept up to date."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from rumpus.harness.run import Status

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
        follow = self._overwrite if self._console.is_terminal else self._print
        thread = threading.Thread(target=follow, args=(status, over), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _overwrite(self, status: Status, over: threading.Event) -> None:
        with Live(console=self._console, transient=True, auto_refresh=False) as live:
            while not over.wait(PERIOD_S):
                live.update(self._line(status), refresh=True)

    def _print(self, status: Status, over: threading.Event) -> None:
        while not over.wait(PLAIN_PERIOD_S):
            self._console.print(self._line(status), soft_wrap=True)

    def _line(self, status: Status) -> Text:
        progress = status.progress
        elapsed = time.monotonic() - self._began
        line = Text(f"{elapsed:6.1f} s  ", style="dim")
        line.append(f"ok {progress.ok}", style="green")
        line.append(f"  fail {progress.fail}  ")
        line.append(f"info {progress.info}", style="yellow" if progress.info else "")
        line.append(f"  leader {status.leader or '-'}", style="cyan")
        faults = ", ".join(list(progress.faults.values()))
        line.append(f"  faults: {faults or 'none'}", style="red" if faults else "dim")
        return line
