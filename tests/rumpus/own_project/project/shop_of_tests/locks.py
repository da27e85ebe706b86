"""A lock of another repository."""

from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock


class MyLock:
    """kazoo's lock, wrapped."""

    def __init__(self, client: KazooClient, path: str) -> None:
        self.lock = Lock(client, path)

    def acquire(self, timeout: float) -> bool:
        """Acquire it."""
        return bool(self.lock.acquire(timeout=timeout))

    def release(self) -> None:
        """Release it."""
        self.lock.release()
