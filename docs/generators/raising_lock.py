"""A lock with a slip of the keyboard, to show what an error of a program looks like.

``rumpus run lock --recipe docs.generators.raising_lock:RaisingLock`` in a clone of this project.
"""

from typing import Any

from kazoo.exceptions import NodeExistsError


class RaisingLock:
    """Whoever creates the node holds the lock; ``release`` forgets that a number is no text."""

    def __init__(self, client: Any, path: str) -> None:
        self.client, self.path = client, path

    def acquire(self) -> bool:
        """Try once."""
        try:
            self.client.create(self.path, ephemeral=True, makepath=True)
        except NodeExistsError:
            return False
        return True

    def release(self) -> None:
        """Say so, and remove the node."""
        _, stat = self.client.get(self.path)
        self.client.set(self.path, b"released by " + stat.ephemeralOwner)
        self.client.delete(self.path)
