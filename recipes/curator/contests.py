"""Curator's locks, semaphore and elections.

The classes say what Curator's documentation promises. The clients are in ``docker/curator/worker``.
They heed the state of the connection as the documentation asks: while it is SUSPENDED they do not
rely on what they hold, after LOST never again.
"""

from typing import ClassVar, Final

from rumpus.recipes.promises import EXCLUSION, LEADERSHIP, LIVENESS, Line, Promises

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


class CuratorSemaphoreMutex(CuratorRecipe):
    """``InterProcessSemaphoreMutex``: not re-entrant."""

    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | LIVENESS | {"unaware-holder"}, notes=NO_TOKENS
    )

    @classmethod
    def line(cls, path: str) -> Line:
        """The leases of its semaphore."""
        return Line(kind="sequential", path=f"{path}/leases", mark="lease-")


class CuratorSemaphore(CuratorSemaphoreMutex):
    """``InterProcessSemaphoreV2``."""


class CuratorReadWriteLock(CuratorRecipe):
    """``InterProcessReadWriteLock``: "fair". Curator lets a writer read, too; clients do not."""

    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | LIVENESS | {"unaware-holder", "unfair-grant"}, notes=NO_TOKENS
    )

    @classmethod
    def line(cls, path: str) -> Line:
        """The children of ``path`` that its two locks make."""
        return Line(kind="sequential", path=path, mark="__", shared="__READ__")


class CuratorLeaderLatch(CuratorRecipe):
    """``LeaderLatch``, a new one for each campaign."""

    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | LEADERSHIP | {"unaware-holder"},
        notes="A term ends when the listener is told. Nobody observes who leads.",
    )

    @classmethod
    def line(cls, path: str) -> Line:
        """The children of ``path`` that latches make."""
        return Line(kind="sequential", path=path, mark="latch-")


class CuratorLeaderSelector(CuratorRecipe):
    """``LeaderSelector``, a new one for each campaign, with ``LeaderSelectorListenerAdapter``."""

    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | LEADERSHIP | {"unaware-holder"},
        notes="A leader is interrupted when the connection is lost. Nobody observes who leads.",
    )

    @classmethod
    def line(cls, path: str) -> Line:
        """The children of ``path`` that the selectors' locks make."""
        return Line(kind="sequential", path=path, mark="lock-")
