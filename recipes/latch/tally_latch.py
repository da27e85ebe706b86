"""A countdown latch: created with a count, and open for good once that many clients have counted.

The latch is a node whose data is its count, as text. A client counts down by creating a child under
its own name. The latch is open when it has at least as many children as the count says.

No number is changed, so no client can count twice: after a lost reply it creates the child again
under the same name, and if the child exists already, the client has counted. The children are
persistent: they stay when the session or process that created them has ended.

Children are only created, never deleted. So a server that lags shows too few of them, never too
many: no waiter returns early, and a watch reports the missing ones. A watch is lost with its
connection, and changes meanwhile are not reported: so a waiter reads again after any event.

Each count wakes all waiters, so the latch is meant for some tens of clients.
"""

import uuid
from contextlib import suppress
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError

from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.retrying_recipe import RetryingRecipe


class Latch(RetryingRecipe):
    """A latch at ``path``. See the module.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode that is the latch; the first client to use it creates it and its parents.
        count: how many clients have to count down, 0 or more. A latch that exists already keeps
            the count with which it was created.
        name: the name under which this object counts; a new unique one if empty.
        grace: seconds by which a call may exceed its timeout, to await late answers.

    Raises:
        ValueError: ``path`` is not an absolute znode path, or the count is below 0.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"early-entry", "stuck-waiter", "early-timeout", "overdue-call"}),
        notes=(
            "A name counts once on each latch, however often it calls. If the server lags, a wait "
            "may time out although the latch has just been opened. A latch is never closed again, "
            "and its nodes are never removed: one for each name."
        ),
    )
    _ephemeral: ClassVar[bool] = False

    def __init__(
        self, client: KazooClient, path: str, count: int, *, name: str = "", grace: float = 2.0
    ) -> None:
        super().__init__(client, path, grace=grace)
        if count < 0:
            raise ValueError(f"the count is {count}, and cannot be below 0")
        self._count = count
        self._name = name or uuid.uuid4().hex

    def count_down(self, timeout: float | None = None) -> None:
        """Lower the count by one, unless this name has done so already.

        Raises:
            OutcomeUnknown: no answer in ``timeout`` seconds (plus ``grace``): this name may have
                counted, or may yet. Call again under the same name; it counts once.
        """
        with self._call(timeout) as call:

            def count() -> bool:
                child = f"{self._path}/{self._mark()}"
                with suppress(NodeExistsError):
                    try:
                        call.write(self._client.create_async, child, ephemeral=self._ephemeral)
                    except NoNodeError:
                        self._make(call)
                        call.write(self._client.create_async, child, ephemeral=self._ephemeral)
                return True

            self._complete(call, count)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the latch is open, for ever or for ``timeout`` seconds (plus ``grace``).

        Returns:
            True: it is open, for good. False: timed out.
        """
        with self._call(timeout) as call:
            return call.rounds(lambda: self._await(call) or None) or False

    def _mark(self) -> str:
        """The name of the child that this object creates."""
        return self._name

    def _make(self, call: RetryingCall) -> None:
        """Create the latch unless it exists."""
        with suppress(NodeExistsError):
            call.create_with_parents(self._path, str(self._count).encode())

    def _await(self, call: RetryingCall) -> bool:
        """Read, and read again after any event, until the latch is open or the time is over."""
        try:
            data, _ = call.read(self._client.get_async, self._path)
        except NoNodeError:
            self._make(call)
            data, _ = call.read(self._client.get_async, self._path)
        while True:
            call.session.wake.clear()
            if self._is_open(self._children(call), int(data)):
                return True
            if call.deadline.passed:
                return False
            call.wait()

    def _children(self, call: RetryingCall) -> list[str]:
        """The names that have counted; sets a watch for the next one."""
        found: list[str] = call.read(self._client.get_children_async, self._path, call.news)
        return found

    def _is_open(self, counted: list[str], count: int) -> bool:
        return len(counted) >= count
