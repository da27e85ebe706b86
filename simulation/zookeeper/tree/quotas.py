"""Soft quotas: nodes and bytes below a path are counted, and no request is refused.

A quota on ``/a`` is a pair of nodes, ``/zookeeper/quota/a/zookeeper_limits`` and
``.../zookeeper_stats``. The data of the latter are updated in place, without a transaction.

Source: ``DataTree.updateQuotaStat``, ``StatsTrack`` and ``Quotas`` of ZooKeeper 3.8.0.
"""

import re

from rumpus.simulation.zookeeper.tree.znode import Znode
from rumpus.simulation.zookeeper.wire.paths import QUOTA

LIMITS = "zookeeper_limits"
STATISTICS = "zookeeper_stats"

_TEXT = re.compile(rb"count=(-?\d{1,19}),bytes=(-?\d{1,19})(?!\d)")
"""A client may write into these nodes whatever it likes. Where it is no pair of numbers with as
many digits as a ``long`` of Java has, counting begins anew; a real 3.8.0 never serves again."""


class Quotas:
    """The paths with a quota; updates the nodes of the tree that it belongs to."""

    __slots__ = ("_nodes", "limited")

    def __init__(self, nodes: dict[str, Znode]) -> None:
        self._nodes = nodes
        self.limited: dict[str, None] = {}

    def created(self, parent: str, name: str) -> None:
        """A node below /zookeeper/quota has been created."""
        path = parent[len(QUOTA) :]
        if name == LIMITS and path:
            self.limited[path] = None
        elif name == STATISTICS:
            self._recount(path)

    def lifted(self, parent: str) -> None:
        """A node with limits has been deleted."""
        self.limited.pop(parent[len(QUOTA) :], None)

    def count(self, path: str, nodes: int, size: int) -> None:
        """Add nodes and bytes to the count of the longest prefix with a quota, if there is one."""
        limited = self.limited
        while path and path not in limited:
            path = path[: path.rfind("/")]
        if not path:
            return
        statistics = self._nodes.get(f"{QUOTA}{path}/{STATISTICS}")
        if statistics is None:
            return
        match = _TEXT.match(statistics.data or b"")
        old_nodes, old_size = (int(match[1]), int(match[2])) if match else (0, 0)
        counted = (_as_long(old_nodes + nodes), _as_long(old_size + size))
        statistics.data = b"count=%d,bytes=%d" % counted

    def _recount(self, path: str) -> None:
        root = self._nodes.get(path)
        if root is None:
            return
        below = path + "/"
        counted = [root]
        counted += [node for other, node in self._nodes.items() if other.startswith(below)]
        size = sum(len(node.data or b"") for node in counted)
        self._nodes[f"{QUOTA}{path}/{STATISTICS}"].data = b"count=%d,bytes=%d" % (
            len(counted),
            size,
        )


def _as_long(number: int) -> int:
    """The number as a ``long`` of Java, which begins again at its least value."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
