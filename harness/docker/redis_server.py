"""Redis servers in containers: alone, or a primary and replicas with a Sentinel on each node."""

import re
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from rumpus.checker.servers.lease_log import leases_of_redis
from rumpus.harness.docker.server_kind import Addresses, Answer, LeaseLog, System

DOWN_MS = 2000
"""After how many milliseconds of silence a Sentinel takes a primary for down."""

GROUP = "rumpus"
"""The name by which Sentinels know the primary and its replicas."""

_PATIENCE_S = 1.0
_EPOCH = re.compile(rb"\$12\r\nconfig-epoch\r\n\$\d+\r\n(\d+)\r\n")
_NOW = re.compile(rb"\*2\r\n\$\d+\r\n(\d{1,12})\r\n\$\d+\r\n(\d{1,6})\r\n")
_ROLE = re.compile(
    rb"role:(?P<role>master|slave)\r\n(?:.*\r\n)*?(?:master_link_status:(?P<link>up|down)\r\n|"
    rb"connected_slaves:)"
)


class RedisServer:
    """See ``harness.docker.server_kind.ServerKind``.

    Args:
        replicated: whether the servers are a primary with replicas, to which writes are
            replicated asynchronously, and Sentinels that promote a replica when the primary is
            down. Else they know nothing of each other.
        keeps: whether a server keeps its data on disk (``appendonly``, without waiting for the
            disk), so that they survive if it is killed.
    """

    image = "redis"
    clock_command = "set-clock.sh"
    lease_log = LeaseLog("data/monitor.log", leases_of_redis)

    def __init__(self, *, replicated: bool, keeps: bool = True) -> None:
        self.ports: Mapping[str, int] = {"": 6379} | ({"sentinel": 26379} if replicated else {})
        self.elects = replicated
        self._keeps = keeps

    def environment(self, names: Sequence[str], name: str) -> dict[str, str]:
        """The variables of ``docker/redis/redis-node.sh``."""
        return {
            "REDIS_NAME": name,
            "REDIS_PRIMARY": names[0] if self.elects else "",
            "REDIS_QUORUM": str(len(names) // 2 + 1),
            "REDIS_DOWN_MS": str(DOWN_MS),
            "REDIS_APPENDONLY": "yes" if self._keeps else "no",
        }

    def command(self, names: Sequence[str], name: str) -> list[str]:  # noqa: ARG002 - the image's
        """The image's own."""
        return []

    def ask(self, addresses: Addresses) -> Answer | None:
        """By ``INFO replication``; a primary's rank is the epoch that its Sentinel knows."""
        said = _found(_ROLE, addresses[0], "INFO replication")
        if said is None:
            return None
        leads = said["role"] == b"master"
        if not self.elects:
            return Answer(serves=leads)
        epoch = _found(_EPOCH, addresses[1], f"SENTINEL MASTER {GROUP}")
        if epoch is None:
            return None
        return Answer(leads or said["link"] == b"up", leads, int(epoch[1]))

    def wall_clock(self, addresses: Addresses) -> float | None:
        """By ``TIME``: whole seconds, and microseconds."""
        said = _found(_NOW, addresses[0], "TIME")
        return None if said is None else int(said[1]) + int(said[2]) / 1e6

    def statistics(self, addresses: Addresses) -> dict[str, str]:  # noqa: ARG002 - as ServerKind says
        """None are kept."""
        return {}

    def data(self, environment: Mapping[str, str]) -> Mapping[PurePosixPath, str]:  # noqa: ARG002
        """Its data, its configuration, and what it has executed (``monitor.log``)."""
        return {PurePosixPath("/data"): "data"}


def _found(
    pattern: re.Pattern[bytes], address: tuple[str, int], command: str
) -> re.Match[bytes] | None:
    """What a pattern finds in the reply to an inline command; None if not within a second."""
    deadline = time.monotonic() + _PATIENCE_S
    reply = b""
    try:
        with socket.create_connection(address, _PATIENCE_S) as connection:
            connection.sendall(f"{command}\r\n".encode())
            while (left := deadline - time.monotonic()) > 0:
                connection.settimeout(left)
                part = connection.recv(65536)
                reply += part
                if not part or (found := pattern.search(reply)) is not None:
                    return found if part else None
    except OSError:
        pass  # the server is dead, paused or cut off
    return None


SYSTEMS = {
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
}
