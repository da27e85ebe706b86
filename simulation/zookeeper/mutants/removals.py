"""Servers that remove containers and znodes with a time to live too early."""

from collections.abc import Iterator

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.mutants.structure import ClosesAmongOrphans
from rumpus.simulation.zookeeper.serving.outstanding_changes import Record
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.wire import opcodes


class DeletesUnusedContainers(DataTree):
    """A container that has no child is deleted, even if it never had one."""

    def expired(self, now: int, never_used: int = 0) -> Iterator[str]:
        """Paths of the container and TTL nodes to delete."""
        yield from [path for path in self.containers if not self.nodes[path].children]
        yield from (path for path in super().expired(now, never_used) if path in self.ttls)


class OffersFullContainers(DataTree):
    """A container that has children is to be deleted; needs `DeletesFullContainers`."""

    def expired(self, now: int, never_used: int = 0) -> Iterator[str]:
        """Paths of the container and TTL nodes to delete."""
        yield from [path for path in self.containers if self.nodes[path].cversion > 0]
        yield from (path for path in super().expired(now, never_used) if path in self.ttls)


class DeletesFullContainers(ClosesAmongOrphans):
    """A container is deleted although it has children, which stay."""

    def _check_no_children(self, node: Record) -> None:
        if self._request.type != opcodes.DELETE_CONTAINER:
            super()._check_no_children(node)


class IgnoresTimeToLive(DataTree):
    """A TTL node without children is deleted, however short it has been there."""

    def expired(self, now: int, never_used: int = 0) -> Iterator[str]:
        """Paths of the container and TTL nodes to delete."""
        yield from (path for path in super().expired(now, never_used) if path in self.containers)
        yield from [path for path in self.ttls if not self.nodes[path].children]


MUTANTS = (
    ServerMutant(
        "eager-containers",
        "delete containers that never had a child",
        GUIDE + "Container Nodes: a container may go when its last child is deleted",
        "znode",
        "guarded",
        frozenset({"illegal-change"}),
        {DataTree: DeletesUnusedContainers},
    ),
    ServerMutant(
        "full-containers",
        "delete containers that have children, and leave these without a parent",
        GUIDE + "Container Nodes: a container may go when its last child is deleted",
        "znode",
        "guarded",
        frozenset({"illegal-change"}),
        {DataTree: OffersFullContainers, Preparer: DeletesFullContainers},
    ),
    ServerMutant(
        "ignored-ttl",
        "delete znodes that have no child before their time to live is over",
        GUIDE + "TTL Nodes: deleted if not modified within the TTL and without children",
        "znode",
        "guarded",
        frozenset({"illegal-change"}),
        {DataTree: IgnoresTimeToLive},
    ),
)
