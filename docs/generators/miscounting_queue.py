"""A queue that counts once, to show what a false answer about itself looks like.

``rumpus run queue --recipe docs.generators.miscounting_queue:MiscountingQueue --usage asks=0.5`` in
a clone of this project.
"""

from kazoo.recipe.queue import Queue


class MiscountingQueue(Queue):  # type: ignore[misc] # kazoo has no types
    """kazoo's queue; its length is what it found when it was first asked."""

    first: int | None = None

    def __len__(self) -> int:
        """How many elements there are, supposedly."""
        if self.first is None:
            self.first = int(super().__len__())
        return self.first
