"""Records of the history as rows of a report's tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rumpus.checker.history import History, Op

ALL_OF: Final = 1500
"""A history of at most so many records is told whole."""

_MOST_AROUND: Final = 500
_LONGEST_VALUE: Final = 240


@dataclass
class RecordRow:
    """One record of the history, as words; ``line`` is the story's line that it shows."""

    index: int
    at: str
    client: str
    process: str
    type: str
    f: str
    value: str
    error: str
    line: int | None = None


def record_row(op: Op, history: History, line: int | None = None) -> RecordRow:
    """A record as words."""
    client = ""
    if isinstance(op.process, int):
        client = str(history.client_of(op.process))
    elif isinstance(op.value, dict) and "client" in op.value:
        client = str(op.value["client"])
    return RecordRow(
        index=op.index,
        at=f"{(op.time - history.start) / 1e9:.3f} s",
        client=client,
        process=str(op.process),
        type=op.type,
        f=op.f,
        value="" if op.value is None else shortened(compact(op.value)),
        error=shortened(op.error or ""),
        line=line,
    )


def told_records(
    history: History, cited: Iterable[int], story: Mapping[int, int], stretch: tuple[int, int]
) -> list[RecordRow]:
    """The records that a report tells, in order of time.

    Of a short history all. Of a longer one those that anomalies or the story cite, and around the
    first anomaly those nearest to its middle.

    Args:
        history: the records.
        cited: indices of those that anomalies cite.
        story: index of a record -> the line of the story that it shows.
        stretch: the time around the first anomaly; from 0 to 0 if there is none.
    """
    wanted = {*cited, *story}
    start, end = stretch
    middle = (start + end) // 2
    whole = len(history) <= ALL_OF
    around = [] if whole else [op for op in history if start <= op.time <= end]
    around.sort(key=lambda op: (abs(op.time - middle), op.index))
    wanted.update(op.index for op in around[:_MOST_AROUND])
    return [
        record_row(op, history, story.get(op.index))
        for op in history
        if whole or op.index in wanted
    ]


def compact(value: Any) -> str:
    """A value as JSON."""
    return msgspec.json.encode(value).decode()


def shortened(words: str) -> str:
    """Words, cut to what a cell of a table has room for."""
    return words if len(words) <= _LONGEST_VALUE else words[: _LONGEST_VALUE - 1] + "…"
