"""Keeps what a night notes in the store, or holds it back while the store cannot be written."""

from collections import deque
from collections.abc import Callable
from typing import Final

from rumpus.nights.memory.store import Store
from rumpus.nights.records import Trouble
from rumpus.results.store_error import StoreError

Change = Callable[[Store], None]

MOST: Final = 100_000
"""So many changes are held back at most."""


class Keeping:
    """Changes of a store, in order.

    If one fails, because the disk is full, say, it is tried again before the next one: a night goes
    on without its memory, and tells it.

    Args:
        store: what is changed.

    Attributes:
        why: why the store could not be written, when that last failed; empty if it never did.
    """

    def __init__(self, store: Store) -> None:
        self.why = ""
        self._store = store
        self._left: deque[Change] = deque(maxlen=MOST)

    def keep(self, change: Change) -> None:
        """Make a change, and all that were held back."""
        self._left.append(change)
        try:
            while self._left:
                self._left[0](self._store)
                self._left.popleft()
        except StoreError as error:
            self.why = str(error)

    @property
    def troubles(self) -> list[Trouble]:
        """What could not be kept, so far."""
        if not self.why:
            return []
        left = len(self._left)
        what = f"{left} changes are not in the store" if left else "the store was late"
        return [Trouble(kind="store", what=f"{what}: {self.why}", runs=max(1, left))]
