"""A berth: ships queue for it, and the first of the queue has it."""

import threading
import time
from collections.abc import Sequence

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError


class Berth:
    """The children of the path are the queue; the one with the lowest number has the berth."""

    def __init__(self, client: KazooClient, path: str) -> None:
        self.client = client
        self.path = path

    def acquire(self, timeout: float = 10.0) -> bool:
        deadline = time.monotonic() + timeout
        self._queue_up()
        while ahead := self._ships_ahead(self.client.get_children(self.path)):
            gone = threading.Event()
            if self.client.exists(f"{self.path}/{ahead[-1]}", watch=lambda _: gone.set()):
                left = deadline - time.monotonic()
                if left <= 0 or not gone.wait(left):
                    self.release()
                    return False
        return True

    def release(self) -> None:
        try:
            self.client.delete(f"{self.path}/{self.ship}")
        except NoNodeError:
            pass  # somebody else has deleted it

    def _queue_up(self) -> None:
        node = self.client.create(
            f"{self.path}/ship-", ephemeral=True, sequence=True, makepath=True
        )
        self.ship = node.rpartition("/")[2]

    def _ships_ahead(self, queue: Sequence[str]) -> list[str]:
        return sorted(ship for ship in queue if ship < self.ship)


class WatchfulBerth(Berth):
    """Queues up again if its own node is no longer in the queue."""

    def _ships_ahead(self, queue: Sequence[str]) -> list[str]:
        while self.ship not in queue:
            self._queue_up()
            queue = self.client.get_children(self.path)
        return super()._ships_ahead(queue)
