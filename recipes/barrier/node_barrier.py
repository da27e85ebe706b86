"""A barrier: a node that blocks all waiters while it exists.

This is ZooKeeper's published recipe ("ZooKeeper Recipes and Solutions, Barriers"): a client creates
the node to close the barrier; a waiter reads the node and sets a watch. It reads again after any
event, because a watch is lost with its connection, and changes meanwhile are not reported. Two
things are added.

**Fresh reads.** A server that lags may not show yet that the barrier was closed. So before its
first read on a connection, a waiter sends a write without effect: it needs a quorum, and the server
has applied everything up to it before it answers. (``sync`` would not do: a deposed leader that has
not noticed answers it by itself.)

**Repeated writes.** A write whose reply was lost is sent again until it is answered. The earlier
one cannot take effect afterwards and undo what others do: requests of a session are carried out in
order, and those of a session that has ended are refused. But the barrier may have been opened and
closed again meanwhile. So a repeated removal removes only the node that the first try found (by its
czxid), and no later one.
"""

import uuid
from contextlib import suppress
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError

from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.retrying_recipe import RetryingRecipe


class Barrier(RetryingRecipe):
    """A barrier at ``path``. Any client may close it, open it and wait for it, any number of times.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode that is the barrier; its parents are created as needed.
        grace: seconds by which a call may exceed its timeout, to await late answers.

    Raises:
        ValueError: ``path`` is not an absolute znode path.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"early-entry", "stuck-waiter", "early-timeout", "overdue-call"}),
        notes=(
            "A waiter that returns knows that the barrier was open at some moment of the wait, not "
            "that it still is. A waiter that is cut off may miss that the barrier was opened and "
            "closed again: it goes on waiting. The barrier outlives the client that closed it."
        ),
    )

    def __init__(self, client: KazooClient, path: str, *, grace: float = 2.0) -> None:
        super().__init__(client, path, grace=grace)
        self._nowhere = f"{path}-{uuid.uuid4().hex}"
        """The path of a node that never exists: writes without effect delete it."""

    def create(self, timeout: float | None = None) -> None:
        """Close the barrier; it may be closed already.

        Raises:
            OutcomeUnknown: no answer in ``timeout`` seconds (plus ``grace``).
        """
        with self._call(timeout) as call:

            def create() -> bool:
                with suppress(NodeExistsError):
                    call.create_with_parents(self._path)
                return True

            self._complete(call, create)

    def remove(self, timeout: float | None = None) -> None:
        """Open the barrier; it may be open already.

        Raises:
            OutcomeUnknown: as ``create``.
        """
        found: int | None = None
        with self._call(timeout) as call:

            def remove() -> bool:
                nonlocal found
                self._catch_up(call)
                stat = call.read(self._client.exists_async, self._path)
                if stat is None or found not in (None, stat.czxid):
                    return True  # open already, or an earlier round has opened it
                found = stat.czxid
                with suppress(NoNodeError):
                    call.write(self._client.delete_async, self._path)
                return True

            self._complete(call, remove)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the barrier is open, for ever or for ``timeout`` seconds (plus ``grace``).

        Returns:
            True: the barrier was open at some moment of the call. False: timed out.
        """
        with self._call(timeout) as call:

            def look() -> bool | None:
                self._catch_up(call)
                return self._await(call) or None

            return call.rounds(look) or False

    def _catch_up(self, call: RetryingCall) -> None:
        """Make sure that the next read shows everything committed before this call."""
        call.settle(self._nowhere)

    def _await(self, call: RetryingCall) -> bool:
        """Read, and read again after any event, until the node is gone or the time is over.

        This reads the node's data, because a watch set by ``exists`` would stay on a missing node.
        """
        while True:
            call.session.wake.clear()
            try:
                call.read(self._client.get_async, self._path, call.news)
            except NoNodeError:
                return True
            if call.deadline.passed:
                return False
            call.wait()
