"""Who looks on while runs are performed in a context: shown their status, told of every step.

What performs a run for somebody else says nothing by itself; a display that surrounds it is told
all the same.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Final

from rumpus.harness.run import Status

Following = Callable[[Status], AbstractContextManager[None]]

FOLLOWING: Final[ContextVar[Following | None]] = ContextVar("following", default=None)
"""What shows the status of each run that is performed in this context; None if nothing does."""

TOLD: Final[ContextVar[Callable[[str], None] | None]] = ContextVar("told", default=None)
"""What is called with a line for every step in this context; None if nothing is."""


def telling(say: Callable[[str], None] = lambda _: None) -> Callable[[str], None]:
    """What tells ``say`` of a step, and whoever looks on in this context."""
    told = TOLD.get()
    if told is None:
        return say

    def tell(words: str) -> None:
        say(words)
        told(words)

    return tell
