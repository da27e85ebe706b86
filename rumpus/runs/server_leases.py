"""What the servers of a run say that are not ZooKeeper's: when their leases began and ended."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from rumpus.checker.servers.lease_log import Lease, leases_of_etcd, leases_of_redis
from rumpus.checker.timeline.lease_view import lease_view
from rumpus.checker.timeline.ownership import ServerView
from rumpus.checker.timeline.timeline import Effect
from rumpus.checker.untrusted_file import in_utf8
from rumpus.harness.docker.systems import SYSTEMS
from rumpus.recipes.servers import ZOOKEEPER
from rumpus.results.record import RunRecord
from rumpus.results.run_directory import RunDirectory

_LOGS: Final[Mapping[str, tuple[str, Callable[[Path], list[Lease]]]]] = {
    "redis": ("monitor.log", leases_of_redis),
    "etcd": ("events.log", leases_of_etcd),
}
"""Image of the servers -> the log that tells of leases, and what reads it."""


def server_leases(run: RunDirectory, record: RunRecord) -> tuple[ServerView | None, list[str]]:
    """When grants began and ended by the servers' logs; None if these are not at hand.

    Also what cannot be read, in words.
    """
    system = SYSTEMS.get(record.system)
    if system is None or not record.clock_anchors:
        return None, []
    name, read = _LOGS[system.server(record.tick_ms).image]
    servers: list[Sequence[Lease]] = []
    unread = []
    for directory in sorted(run.nodes.glob("*/")):
        try:
            servers.append(read(directory / "data" / name))
        except (ValueError, OSError) as error:
            unread.append(f"{name} of {in_utf8(Path(directory.name))} cannot be read: {error}")
    if not servers:
        return None, unread
    quorum = record.nodes // 2 + 1 if system.independent else 1
    if read is leases_of_etcd:
        quorum = record.nodes  # what ends, ends everywhere; who lags or was dead learns it later
    return lease_view(servers, record.wall_clock(), quorum=quorum), unread


def impossible_effects(name: str, *, holding: bool) -> Collection[Effect]:
    """The effects that faults cannot have with a system.

    Args:
        name: the system.
        holding: whether the workload's clients hold something; only ZooKeeper's have sessions
            besides.
    """
    system = SYSTEMS.get(name)
    found: set[Effect] = set()
    if system is not None and not system.server(1).elects:
        found.add("leader change")
    if name != ZOOKEEPER and not holding:
        found.add("expiry")
    return found
