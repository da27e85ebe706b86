"""Who holds a file's lock: the lock generation, the holders, and their lock-delays.

The znode ``taken`` beside the queue holds the table as JSON. It outlives the holders, so it tells
whether a holder has released or failed, as the mark of ``recipes.lock.delayed_lock`` does.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True)
class LockTable:
    """What the table says.

    Args:
        generation: how often the lock went from free to held.
        holders: unique mark of each holder that has not released -> its lock-delay in seconds.
    """

    generation: int = 0
    holders: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a table; an empty text is the table of a lock that was never held."""
        return cls(**json.loads(text)) if text else cls()

    def __str__(self) -> str:
        return json.dumps({"generation": self.generation, "holders": dict(self.holders)})
