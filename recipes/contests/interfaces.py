"""What all recipes have in common, and how calls of locks, elections and their kin can fail.

Times are seconds. Objects may be shared by threads, and must not be used from kazoo's own
callbacks: these run on the threads that would have to deliver the answers.
"""

from typing import ClassVar, Protocol

from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.promises import Line, Promises


class LockUnknown(OutcomeUnknown):
    """Nobody can say: a node of ours may still stand in the line, or may not.

    Raised by locks and elections when the ensemble could not be asked in time. They go on
    removing that node by themselves; call ``release`` (or ``resign``) to wait for it, or
    simply acquire again.
    """


class NotHeld(NotDone):
    """There was nothing to release: it was never ours, or it was lost in the meantime."""


class Recipe(Protocol):
    """What is known of any recipe without using it. Those that queue say where."""

    promises: ClassVar[Promises]

    @classmethod
    def line(cls, path: str) -> Line | None:  # noqa: ARG003 - for those that have one
        """Where the contenders for ``path`` stand on the server; None if they do not queue."""
        return None
