"""What all recipes have in common, and how calls of contests (locks, elections, ...) can fail.

Times are seconds. Objects may be shared by threads, and must not be used from kazoo's own
callbacks: these run on the threads that would have to deliver the answers.
"""

from typing import ClassVar, Protocol

from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.servers import ZOOKEEPER


class LockUnknown(OutcomeUnknown):
    """Nobody can say whether a node of ours is still in the line.

    Raised by locks and elections when the ensemble did not answer in time. They go on removing
    that node in the background. Call ``release`` (or ``resign``) to wait until it is gone, or
    simply acquire again.
    """


class NotHeld(NotDone):
    """The caller does not hold it: it was never granted to us, or it was lost in the meantime."""


class Recipe(Protocol):
    """Static facts about a recipe: what it promises, and where its contenders queue, if they do.

    A recipe for servers that are not ZooKeeper's names their ``system`` (see ``system_of``), and as
    ``library`` the distribution of the package index by which it speaks to them. A recipe whose
    clients are not written in Python names their ``client_image`` (see ``client_image_of``).
    """

    promises: ClassVar[Promises]

    @classmethod
    def line(cls, path: str) -> Line | None:  # noqa: ARG003 - for those that have one
        """Which znodes represent the contenders for ``path``; None if they do not queue."""
        return None


def system_of(recipe: type[Recipe]) -> str:
    """What servers a recipe is for: a name of ``harness.docker.systems``."""
    return str(getattr(recipe, "system", ZOOKEEPER))


def client_image_of(recipe: type[Recipe]) -> str:
    """The folder of ``docker/`` with the image of a recipe's clients; empty for those in Python."""
    return str(getattr(recipe, "client_image", ""))
