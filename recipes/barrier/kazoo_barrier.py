"""kazoo's own Barrier behind the interface of ``recipes.barrier.node_barrier``.

A thin adapter that adds and repairs nothing, so there is no bare variant. kazoo's requests have no
timeout of their own: with no server in reach ``create`` and ``remove`` block until one is, and so
does the first read of ``wait``.
"""

from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, OperationTimeoutError, SessionExpiredError
from kazoo.recipe.barrier import Barrier as TheirBarrier

from rumpus.recipes.barrier.node_barrier import Barrier
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.promises import Promises


class KazooBarrier(Barrier):
    """``kazoo.recipe.barrier.Barrier``; see the module."""

    promises: ClassVar[Promises] = Promises(
        prevents=Barrier.promises.prevents,
        notes=(
            "kazoo promises that a waiter blocks while the node exists and returns when it does "
            "not. It warns that wait may raise when the connection is lost. A wait that raised is "
            "repeated here, as kazoo's users have to do."
        ),
    )

    def __init__(self, client: KazooClient, path: str, *, grace: float = 2.0) -> None:
        super().__init__(client, path, grace=grace)
        self._theirs = TheirBarrier(client, path)

    def create(self, timeout: float | None = None) -> None:  # noqa: ARG002 - kazoo has none
        """Close the barrier; blocks until that is done."""
        self._theirs.create()

    def remove(self, timeout: float | None = None) -> None:  # noqa: ARG002 - kazoo has none
        """Open the barrier; blocks until that is done."""
        self._theirs.remove()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the barrier is open; False when timed out.

        Raises:
            OutcomeUnknown: kazoo raised an error of the connection or session.
        """
        try:
            return bool(self._theirs.wait(timeout))
        except (ConnectionLoss, OperationTimeoutError, SessionExpiredError) as error:
            raise OutcomeUnknown(f"{type(error).__name__}: {error}") from error
