"""The mark of changes of a file: whether a change is under way, so that nobody may cache the file.

The znode ``caches/key`` holds the mark, and every change of a file is conditioned on the mark's
version. So changes of one file come one after another.
"""

import json
import time
from dataclasses import dataclass
from typing import Self

from kazoo.protocol.states import ZnodeStat


@dataclass(frozen=True)
class ChangeMark:
    """What the mark says.

    Args:
        change: unique id of the change that is under way; None if there is none.
        last: unique id of the change that was carried out last.
    """

    change: str | None = None
    last: str | None = None

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read a mark; empty data is the mark of a file that was never changed."""
        return cls(*json.loads(data)) if data else cls()

    def dump(self) -> bytes:
        """The znode's data."""
        return json.dumps([self.change, self.last]).encode()


class Patience:
    """Tells when a change of somebody else counts as abandoned: its client may have died.

    Args:
        seconds: how long one and the same mark may stand.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seen: tuple[int, float] | None = None

    def exhausted(self, stat: ZnodeStat) -> bool:
        """Whether the mark with this Stat has been seen for too long, on our clock."""
        now = time.monotonic()
        if self._seen is None or self._seen[0] != stat.mzxid:
            self._seen = (stat.mzxid, now)
        return now - self._seen[1] > self._seconds
