"""The lock of an aisle: who creates the node holds it."""

import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError


class AisleLock:
    def __init__(self, client: KazooClient, path: str) -> None:
        self.client = client
        self.path = path

    def acquire(self, timeout: float = 10.0) -> bool:
        deadline = time.monotonic() + timeout
        while True:
            try:
                self.client.create(self.path, ephemeral=True, makepath=True)
                return True
            except NodeExistsError:
                pass
            changed = threading.Event()
            if self.client.exists(self.path, watch=lambda _: changed.set()):
                left = deadline - time.monotonic()
                if left <= 0 or not changed.wait(left):
                    return False

    def release(self) -> None:
        try:
            self.client.delete(self.path)
        except NoNodeError:
            pass  # the session has expired meanwhile
