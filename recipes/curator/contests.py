"""Curator's locks, semaphore and elections.

The classes say what Curator's documentation promises. The clients are in ``docker/curator/worker``.
They heed the state of the connection as the documentation asks: while it is SUSPENDED they do not
rely on what they hold, after LOST never again.
"""

from typing import ClassVar, Final

from rumpus.recipes.promises import EXCLUSION, LIVENESS, Line, Promises

NO_TOKENS: Final = "Curator gives no tokens, and its timeouts do not bound its requests."


class CuratorRecipe:
    """A recipe that clients in containers of the image ``docker/curator`` use."""

    client_image: ClassVar[str] = "curator"
    promises: ClassVar[Promises]


class CuratorMutex(CuratorRecipe):
    """``InterProcessMutex``: "fair", and re-entrant for one thread."""

    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION
        | LIVENESS
        | {"unaware-holder", "refused-reentry", "unfair-grant", "herd"},
        wakeups=1,
        reentrant=True,
        notes=NO_TOKENS,
    )

    @classmethod
    def line(cls, path: str) -> Line:
        """The children of ``path`` that Curator's lock makes."""
        return Line(kind="sequential", path=path, mark="lock-")
