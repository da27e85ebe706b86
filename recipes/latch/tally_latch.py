"""A countdown latch: made with a count, and open for good once so many have counted it down.

The latch is a node whose data is its count, as text; whoever counts it down makes a child under a
name of its own. It is open when there are as many children as the count says, or more.

No number is changed, so none can be changed twice: after a lost reply, the client creates the child
again under the same name, and if it exists already, it has been counted. The children are
persistent: they stay when the session or process that created them has ended.

Children are only created, never deleted. So a server that lags shows too few of them, never too
many: nobody passes early, and a watch reports the missing ones. A watch is lost with its
connection, and changes meanwhile are not reported: so a waiter reads again after any event.

Every count wakes all waiters: fine for some tens of them.
"""

import uuid
from contextlib import suppress
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.retrying_call import RetryingCall


class Latch(Recipe):
    """A latch at ``path``. See the module.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode that is the latch; whoever comes first makes it, and its parents.
        count: how many have to count it down, 0 or more. The first to come decides: a latch that
            is there keeps its count.
        name: whose count this object's is; a name of its own if empty.
        grace: seconds by which a call may run over its timeout, for answers that are on their way.

    Raises:
        ValueError: ``path`` is none, or the count is below 0.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"early-entry", "stuck-waiter", "early-timeout", "overdue-call"}),
        notes=(
            "A name counts once on a latch, however often it does. A wait may time out on a latch "
            "that has just been opened, at a server that lags. A latch is not closed again, and "
            "its nodes are left: one for each name."
        ),
    )
    _call_class: ClassVar[type[RetryingCall]] = RetryingCall
    _ephemeral: ClassVar[bool] = False

    def __init__(
        self, client: KazooClient, path: str, count: int, *, name: str = "", grace: float = 2.0
    ) -> None:
        if not path.startswith("/") or path.endswith("/"):
            raise ValueError(f"{path!r} is not an absolute znode path such as /latches/ready")
        if count < 0:
            raise ValueError(f"the count is {count}, and cannot be below 0")
        self._client = client
        self._path = path
        self._count = count
        self._name = name or uuid.uuid4().hex
        self._grace = grace

    def count_down(self, timeout: float | None = None) -> None:
        """Lower the count by one, if this name has not done so yet.

        Raises:
            OutcomeUnknown: no answer in ``timeout`` seconds (plus ``grace``): it may have been
                counted, or may be yet. Call again, under the same name: it is counted once.
        """
        with self._call_class(self._client, timeout, self._grace) as call:

            def count() -> bool:
                child = f"{self._path}/{self._mark()}"
                with suppress(NodeExistsError):
                    try:
                        call.write(self._client.create_async, child, ephemeral=self._ephemeral)
                    except NoNodeError:
                        self._make(call)
                        call.write(self._client.create_async, child, ephemeral=self._ephemeral)
                return True

            if call.rounds(count) is None:
                raise OutcomeUnknown(f"{self._path}: no answer in time")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the count is 0, for ever or for ``timeout`` seconds (plus ``grace``).

        Returns:
            True: it is 0, and stays so. False: timed out.
        """
        with self._call_class(self._client, timeout, self._grace) as call:
            return call.rounds(lambda: self._await(call) or None) or False

    def _mark(self) -> str:
        """The name of the child that is this count."""
        return self._name

    def _make(self, call: RetryingCall) -> None:
        """Make the latch, unless it is there."""
        count = str(self._count).encode()
        with suppress(NodeExistsError):
            try:
                call.write(self._client.create_async, self._path, count)
            except NoNodeError:
                call.write(self._client.ensure_path_async, self._path.rpartition("/")[0])
                call.write(self._client.create_async, self._path, count)

    def _await(self, call: RetryingCall) -> bool:
        """Look, and look again after all news, until it is open or the time is over."""
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
        """Who has counted, with a watch on who is next."""
        found: list[str] = call.read(self._client.get_children_async, self._path, call.news)
        return found

    def _is_open(self, counted: list[str], count: int) -> bool:
        return len(counted) >= count
