"""Locks with a window of validity that is counted wrong."""

import time
from typing import Final

from kazoo.client import KazooClient

from rumpus.recipes.requests.session_validity import SessionValidity

TICK: Final = 0.05
"""Seconds by which a countdown goes down at a time."""


class WhileConnected(SessionValidity):
    """A connection that stands is taken for a heartbeat that was answered just now."""

    def remaining(self) -> float:
        session = self._session
        connected = session is not None and session.connected
        return self.session_timeout if connected else 0.0


class Countdown(SessionValidity):
    """A thread counts down what is left."""

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._left = 0.0

    def remaining(self) -> float:
        session = self._session
        return 0.0 if session is None or session.lost else max(0.0, self._left)

    def _count_from(self, sent: float) -> None:
        super()._count_from(sent)
        self._left = self._until - time.monotonic()

    def _run(self) -> None:
        self._client.handler.spawn(self._count_down)
        super()._run()

    def _count_down(self) -> None:
        while self._beating:
            time.sleep(TICK)
            self._left -= TICK
