"""Deletes empty container nodes and expired TTL nodes, on leaders and standalone servers."""

from collections import deque
from typing import TYPE_CHECKING

from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.request import Request

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Timer
    from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer

MILLISECOND = 1_000_000
MINUTE = 60_000 * MILLISECOND


class ContainerManager:
    """Deletes empty container nodes and expired TTL nodes, once per interval.

    Source: ``ContainerManager`` of ZooKeeper 3.8.0.

    Args:
        server: a leader or standalone server; its role validates each deletion again.
    """

    def __init__(self, server: "ZooKeeperServer") -> None:
        self._server = server
        self._process = server.process
        self._interval = server.settings.container_check_interval * MILLISECOND
        self._pause = MINUTE // server.settings.container_max_per_minute
        self._timer: Timer | None = self._process.call_later(self._interval, self._check)

    def stop(self) -> None:
        """Delete no more nodes."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        started = self._process.clock.monotonic()
        now = self._process.clock.wall() // MILLISECOND
        expired = self._server.database.tree.expired(now)
        self._delete(deque(expired), started + self._interval)

    def _delete(self, paths: deque[str], next_check: int) -> None:
        """Submit one deletion, and the next after a pause; finally wait for ``next_check``."""
        if not paths:
            wait = max(next_check - self._process.clock.monotonic(), 0)
            self._timer = self._process.call_later(wait, self._check)
            return
        body = paths.popleft().encode()
        self._timer = self._process.call_later(self._pause, self._delete, paths, next_check)
        role = self._server.role
        if role is not None:
            role.submit(Request(0, 0, opcodes.DELETE_CONTAINER, body))
