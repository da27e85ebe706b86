"""The fair contest: a queue of ephemeral sequential nodes, each watching the one before it.

The algorithm is ZooKeeper's published lock recipe ("ZooKeeper Recipes and Solutions, Locks"),
with Curator's protection against lost replies. A contender creates a node in the queue and lists
the queue. The node with the lowest number is first. Every other contender watches the nearest lower
node and *looks again* when its watch fires: the contender ahead of it may have given up without
ever having been first. One release wakes one waiter.

**Stale lists do no harm.** A server that lags may serve an old list. But a list is used only if it
contains our own node, and sequence numbers are assigned in the order of creates. So such a list
contains every lower node, except those that are gone for good. What it may miss is a *removal*, and
that only delays us: the watch is set on the same server, and fires when the server has caught up.

**A lost reply.** When a create got no answer, we look for our own node, by its unique mark and its
ephemeral owner, before we create another. A stale list would do harm here, so we write something
first (``Contest._settle_earlier``): a node that is not found after that will never appear.
"""

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.contests.contest import Contest, Entry
from rumpus.recipes.promises import Line
from rumpus.recipes.requests.deadline import Deadline

MARK: Final = "-contender-"
"""Between the unique mark of an entry and its sequence number."""

_CONTENDER: Final = re.compile(re.escape(MARK) + r"(-?\d{10})$")


class FairContest(Contest):
    """First come, first served. The queue is the children of ``path``; see the module.

    A subclass in which some nodes ahead do not block overrides ``_blocking`` (readers do not block
    readers). It overrides ``_watched`` if it has to watch more than the nearest blocking node.
    """

    mark: ClassVar[str] = MARK
    """The part of our node's name just before the sequence number; ends in ``MARK``."""

    @classmethod
    def line(cls, path: str) -> Line:
        """The children of ``path`` that carry the mark."""
        return Line(kind="sequential", path=path, mark=MARK)

    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        self._enter(entry, deadline)
        blocking = self._blocking(self._ahead(entry, deadline))
        if blocking and not deadline.passed:
            self._await(self._watched(blocking), entry, deadline)
        return not blocking

    def _enter(self, entry: Entry, deadline: Deadline) -> None:
        """Find or create our own node."""
        if entry.node is None and entry.tried:
            entry.node = self._find(entry, deadline)
        if entry.node is None:
            entry.tried = True
            try:
                entry.node = self._create(entry, deadline)
            except NoNodeError:
                self._ensure_parent(entry, self._path, deadline)
                entry.node = self._create(entry, deadline)

    def _create(self, entry: Entry, deadline: Deadline, *, ephemeral: bool = True) -> str:
        node, stat = entry.session.ask(
            deadline,
            self._client.create_async,
            f"{self._path}/{entry.mark}{self.mark}",
            self._name.encode(),
            ephemeral=ephemeral,
            sequence=True,
            include_data=True,
        )
        entry.token = stat.czxid
        return str(node)

    def _find(self, entry: Entry, deadline: Deadline) -> str | None:
        """Our own node, if a create whose reply was lost has made one; see the module."""
        self._settle_earlier(entry, deadline)
        try:
            children = entry.session.ask(deadline, self._client.get_children_async, self._path)
        except NoNodeError:
            return None
        for child in children:
            if child.startswith(entry.mark):
                node = f"{self._path}/{child}"
                stat = entry.session.ask(deadline, self._client.exists_async, node)
                if stat is not None and entry.session.owns(stat):
                    entry.token = stat.czxid
                    return node
        return None

    def _ahead(self, entry: Entry, deadline: Deadline) -> list[str]:
        """Nodes with lower numbers, lowest first.

        Raises:
            NoNodeError: our own node is not in the queue: somebody has removed it.
        """
        children = entry.session.ask(deadline, self._client.get_children_async, self._path)
        queue = sorted(
            (int(match[1]), f"{self._path}/{match.string}")
            for match in map(_CONTENDER.search, children)
            if match
        )
        nodes = [node for _, node in queue]
        if entry.node not in nodes:
            missing, entry.node, entry.token = entry.node, None, None
            raise NoNodeError(missing)
        return nodes[: nodes.index(entry.node)]

    def _blocking(self, ahead: list[str]) -> list[str]:
        """Those of the nodes ahead that block us, lowest first. Here: all of them."""
        return ahead

    def _watched(self, blocking: list[str]) -> list[str]:
        """The nodes whose removal to wait for. Here: the nearest blocking one."""
        return blocking[-1:]

    def _await(self, nodes: Sequence[str], entry: Entry, deadline: Deadline) -> bool:
        """Wait until something happens to one of the nodes or to the connection.

        Returns whether a node is known to be gone. That is no grant: the caller has to look again.
        Sets its watches with ``get``, because ``exists`` would leave watches on missing nodes.
        """
        events: list[WatchedEvent] = []

        def news(event: WatchedEvent) -> None:
            events.append(event)
            entry.session.wake.set()

        entry.session.wake.clear()
        for node in nodes:
            try:
                entry.session.ask(deadline, self._client.get_async, node, news)
            except NoNodeError:
                return True
        entry.session.wake.wait(deadline.left())
        return any(event.type == EventType.DELETED for event in events)

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        if entry.node is None and entry.tried:
            entry.node = self._find(entry, deadline)
        return entry.node is not None and self._delete(entry, entry.node, deadline)
