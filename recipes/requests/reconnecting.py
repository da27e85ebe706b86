"""Dropping a connection while a call waits, to see that the call misses nothing."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rumpus.recipes.outcomes import NotDone


class Reconnecting(ABC):
    """A recipe whose connection can be dropped."""

    @abstractmethod
    def reconnect(self) -> None:
        """Drop the connection.

        Raises:
            NotDone: there was none, or none came in time.
        """

    @contextmanager
    def reconnecting_after(self, seconds: float) -> Iterator[None]:
        """Drop the connection after the block has run for ``seconds``; 0: never."""

        def drop() -> None:
            with suppress(NotDone):  # a fault has already cut the connection
                self.reconnect()

        timer = threading.Timer(seconds, drop)
        timer.daemon = True
        if seconds:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
