"""The systems that a run's servers can be: which kind of server, and how many."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from rumpus.harness.docker.etcd_server import EtcdServer
from rumpus.harness.docker.redis_server import RedisServer
from rumpus.harness.docker.server_kind import ServerKind
from rumpus.harness.docker.zookeeper_server import ZooKeeperServer


@dataclass(frozen=True)
class System:
    """A system under test.

    Args:
        summary: what it is, in words.
        nodes: how many servers it has unless told otherwise.
        server: makes its kind of server, given a tick in milliseconds.
        independent: whether the servers know nothing of each other, so that a grant takes a
            majority of them.
    """

    summary: str
    nodes: int
    server: Callable[[int], ServerKind]
    independent: bool = False


SYSTEMS: Final[Mapping[str, System]] = {
    "zookeeper": System("an ensemble of ZooKeeper", 3, ZooKeeperServer),
    "redis": System("one Redis server", 1, lambda _: RedisServer(replicated=False)),
    "redis-sentinel": System(
        "a Redis primary and its replicas, with Sentinels",
        3,
        lambda _: RedisServer(replicated=True),
    ),
    "redis-independent": System(
        "Redis servers that know nothing of each other, as Redlock uses them",
        5,
        lambda _: RedisServer(replicated=False),
        independent=True,
    ),
    "redis-forgetful": System(
        "the same, and they keep nothing on disk",
        5,
        lambda _: RedisServer(replicated=False, keeps=False),
        independent=True,
    ),
    "etcd": System("a cluster of etcd", 3, EtcdServer),
}
