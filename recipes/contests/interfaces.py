"""What every lock and every election here can do, whatever it is built from.

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


class Grant(Protocol):
    """What somebody who was granted something can tell of it."""

    @property
    def token(self) -> int | None:
        """Fencing token: the czxid of the own node; None where there is none."""

    @property
    def node(self) -> str | None:
        """Full path of the own node; None while there is no grant."""

    @property
    def session(self) -> int | None:
        """Session id, as kazoo gives it (signed 64 bits), of the grant; None without one."""


class Lock(Recipe, Grant, Protocol):
    """A lock that one holder has at a time."""

    def acquire(self, timeout: float | None = None) -> bool:
        """Wait for the lock, for ever or for ``timeout`` seconds.

        Returns:
            True: granted. False: timed out, and nothing of ours is left in the line.

        Raises:
            LockUnknown: timed out, and whether something of ours is left cannot be said.
            NotHeld: called again by a holder who has lost it; release first.
        """

    def release(self) -> None:
        """Let go. After an unknown ``acquire``: wait until nothing of ours is left.

        Raises:
            NotHeld: it was not held, or was lost (its session ended, its node was removed).
            LockUnknown: the ensemble could not be asked in time.
        """

    @property
    def held(self) -> bool:
        """Whether we may believe, right now, that we hold it.

        False while the connection is lost (the session may end any moment), true again if the
        same session reconnects, never again once that session is lost.
        """


class Election(Recipe, Grant, Protocol):
    """An election with one leader at a time."""

    def campaign(self, timeout: float | None = None) -> bool:
        """Wait to lead. Outcomes and errors are those of ``Lock.acquire``.

        True at once for who leads already.
        """

    def resign(self) -> None:
        """Step down. Errors are those of ``Lock.release``."""

    @property
    def leading(self) -> bool:
        """Whether we may believe, right now, that we lead; see ``Lock.held``."""
