"""A barrier: a node that holds everybody as long as it is there.

After ZooKeeper's published recipe ("ZooKeeper Recipes and Solutions, Barriers"): whoever sets the
barrier up creates the node; a waiter reads whether it is there, and sets a watch. It reads again
after any event, because a watch is lost with its connection, and changes meanwhile are not
reported. Two things are added.

**Fresh reads.** A server that lags may say that there is no barrier when one was set up long ago.
So before its first read on a connection, a waiter sends a write without effect: it needs a quorum,
and the server has applied everything up to it before it answers. (``sync`` would not do: a deposed
leader that has not noticed answers it by itself.)

**Writes whose answer was lost** are sent again until they are answered. An earlier one cannot
come in afterwards and undo what others do: requests of a session are carried out in order, and
those of a session that has ended are refused. But the barrier that is there by then may be another
one, set up since: a removal that is sent again removes the node that it found at first (by its
czxid), and no later one.
"""

import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.retrying_call import RetryingCall


class Barrier(Recipe):
    """A barrier at ``path``, which any client may set up, remove, and wait for, again and again.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode that is the barrier; its parents are made as needed.
        grace: seconds by which a call may run over its timeout, for answers that are on their way.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"early-entry", "stuck-waiter", "early-timeout", "overdue-call"}),
        notes=(
            "Who passes knows that the barrier was open at a moment of the wait, not that it still "
            "is. A waiter that is cut off may sleep through an opening and find the barrier set up "
            "again: it goes on waiting. The barrier outlives who set it up."
        ),
    )
    _call_class: ClassVar[type[RetryingCall]] = RetryingCall

    def __init__(self, client: KazooClient, path: str, *, grace: float = 2.0) -> None:
        if not path.startswith("/") or path.endswith("/"):
            raise ValueError(f"{path!r} is not an absolute znode path such as /barriers/start")
        self._client = client
        self._path = path
        self._grace = grace
        self._nothing = f"{path}-{uuid.uuid4().hex}"
        """A node that never is: what a write of no effect is about."""

    def create(self, timeout: float | None = None) -> None:
        """Set the barrier up; it may be there already.

        Raises:
            OutcomeUnknown: no answer in ``timeout`` seconds (plus ``grace``).
        """
        with self._call_class(self._client, timeout, self._grace) as call:

            def create() -> bool:
                with suppress(NodeExistsError):
                    try:
                        call.write(self._client.create_async, self._path)
                    except NoNodeError:
                        parent = self._path.rpartition("/")[0]
                        call.write(self._client.ensure_path_async, parent)
                        call.write(self._client.create_async, self._path)
                return True

            self._get_through(call, create)

    def remove(self, timeout: float | None = None) -> None:
        """Open the barrier; it may be open already.

        Raises what ``create`` does.
        """
        found: int | None = None
        with self._call_class(self._client, timeout, self._grace) as call:

            def remove() -> bool:
                nonlocal found
                self._catch_up(call)
                stat = call.read(self._client.exists_async, self._path)
                if stat is None or found not in (None, stat.czxid):
                    return True  # it was open, or is so by an earlier round
                found = stat.czxid
                with suppress(NoNodeError):
                    call.write(self._client.delete_async, self._path)
                return True

            self._get_through(call, remove)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the barrier is open, for ever or for ``timeout`` seconds (plus ``grace``).

        Returns:
            True: there was no barrier at a moment of the call. False: timed out.
        """
        with self._call_class(self._client, timeout, self._grace) as call:

            def look() -> bool | None:
                self._catch_up(call)
                return self._await(call) or None

            return call.rounds(look) or False

    def _catch_up(self, call: RetryingCall) -> None:
        """See to it that the next look shows all that was done before this call."""
        call.settle(self._nothing)

    def _await(self, call: RetryingCall) -> bool:
        """Look, and look again after all news, until there is no barrier or the time is over.

        Reads the node rather than asking whether it exists, which would leave a watch on a
        missing one.
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

    def _get_through(self, call: RetryingCall, write: Callable[[], bool]) -> None:
        if call.rounds(write) is None:
            raise OutcomeUnknown(f"{self._path}: no answer in time")
