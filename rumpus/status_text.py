"""Where a run is, in words and as a small picture for a terminal."""

import time
from collections import deque
from typing import Final

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rumpus.harness.run import Status

S: Final = 1_000_000_000
RATE_S: Final = 2.0
"""Rates are those of the last seconds, on the run's clock."""

_INDENT: Final = 10
_BAR: Final = 24
_MOST_FAULTS: Final = 6


class StatusText:
    """Describes one run again and again, and remembers what rates and estimates need.

    Args:
        began: when the run began, by the monotonic clock.
    """

    def __init__(self, began: float) -> None:
        self._began = began
        self._loaded: float | None = None
        self._counts: deque[tuple[int, int]] = deque()
        self._since: dict[str, int] = {}

    def line(self, status: Status) -> Text:
        """Everything in one line."""
        parts = [self._elapsed(), *self._clock(status), self._numbers(status), _roles(status)]
        faults = ", ".join(list(status.progress.faults.values()))
        style = "red" if faults else "dim"
        parts.append(Text(f"faults: {faults or 'none'}", style=style))
        return Text("  ").join(parts)

    def view(self, status: Status) -> RenderableType:
        """Some lines: how far the load is, the operations, the roles, and each fault in force."""
        head = Table.grid(padding=(0, 2))
        cells: list[RenderableType] = [self._elapsed(), *self._clock(status)]
        if status.load is not None:
            began, ends = status.load
            done = min(max(status.progress.time - began, 0), ends - began)
            cells.append(ProgressBar(total=ends - began, completed=done, width=_BAR))
        head.add_row(*cells)
        lines: list[RenderableType] = [head]
        lines.append(_indented(Text("  ").join([self._numbers(status), _roles(status)])))
        lines += [_indented(Text(told, style="red")) for told in self._faults(status)]
        return Group(*lines)

    def _elapsed(self) -> Text:
        return Text(f"{time.monotonic() - self._began:6.1f} s", style="dim")

    def _clock(self, status: Status) -> list[Text]:
        """How much of the load is over, on the run's clock, and what is left, if that is known."""
        if status.load is None:
            return []
        began, ends = status.load
        now = time.monotonic()
        if self._loaded is None:
            self._loaded = now
        over = status.progress.time - began
        if over >= ends - began:
            return [Text("after the load")]
        unit = "virtual s" if status.virtual else "s"
        told = f"{max(over, 0) / S:.0f} of {(ends - began) / S:g} {unit}"
        spent = now - self._loaded
        left = spent * (ends - began - over) / over if over > 0 else 0.0
        if status.virtual and spent >= 1 and left >= 1:
            told += f", some {left:.0f} s left"
        return [Text(told)]

    def _numbers(self, status: Status) -> Text:
        progress = status.progress
        line = Text(f"ok {progress.ok}", style="green")
        if (rate := self._rate(status)) is not None:
            line.append(f" ({rate:.0f}/{'virtual s' if status.virtual else 's'})", style="dim")
        line.append(f"  fail {progress.fail}  ", style="default")
        line.append(f"info {progress.info}", style="yellow" if progress.info else "default")
        return line

    def _rate(self, status: Status) -> float | None:
        """How many operations succeeded a second of late; None as long as nobody knows."""
        if status.load is None:
            return None
        progress, counts = status.progress, self._counts
        counts.append((progress.time, progress.ok))
        while len(counts) > 2 and counts[-1][0] - counts[1][0] >= RATE_S * S:
            counts.popleft()
        passed = counts[-1][0] - counts[0][0]
        return (counts[-1][1] - counts[0][1]) * S / passed if passed >= S else None

    def _faults(self, status: Status) -> list[str]:
        """Each fault in force, and since when."""
        progress = status.progress
        faults = dict(progress.faults)
        self._since = {key: self._since.get(key, progress.time) for key in faults}
        told = [
            f"fault: {what}, for {(progress.time - self._since[key]) / S:.0f} s"
            for key, what in faults.items()
        ]
        more = len(told) - _MOST_FAULTS
        return told if more <= 0 else [*told[:_MOST_FAULTS], f"and {more} more"]


def _roles(status: Status) -> Text:
    holder = status.holder()
    said = f"leader {status.leader or '-'}  holder {'-' if holder is None else f'c{holder}'}"
    return Text(said, style="cyan")


def _indented(line: Text) -> Text:
    return Text(" " * _INDENT).append_text(line)
