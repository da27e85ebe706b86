"""The contents of a file: what programs see, and how much of that is safe in a power failure."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process


class Sync:
    """A sync under way: what it will make safe."""

    __slots__ = ("changes", "contents", "crashes", "cut", "done", "process", "size")

    def __init__(
        self,
        contents: "Contents",
        process: "Process",
        done: Callable[[OSError | None], None],
        changes: int = 0,
        crashes: int = 0,
    ) -> None:
        self.contents = contents
        self.process = process
        self.done = done
        self.size = len(contents.data)
        """So many bytes of the contents."""
        self.cut = contents.cut and contents.cut[0]
        """The truncation to this size, if any."""
        self.changes = changes
        """Changes of names since the disk was new."""
        self.crashes = crashes
        """Which life of the disk it belongs to."""


class Contents:
    """What a file holds, whatever its names are."""

    __slots__ = ("cut", "data", "safe", "syncs", "whole")

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)
        """As programs see it."""
        self.safe = len(data)
        """So many of these bytes are safe."""
        self.cut: tuple[int, bytes] | None = None
        """Where safe bytes begin that an unsafe truncation took away, and what they are."""
        self.syncs: dict[Sync, None] = {}
        """Syncs under way."""
        self.whole = 0
        """So many bytes become safe with the file's name."""

    def truncate(self, size: int) -> None:
        """Cut off what is behind ``size``; that is not safe at once."""
        if size < self.safe:
            place, cut = self.cut or (self.safe, b"")
            if size < place:  # the oldest state is the one on the disk
                self.cut = (size, bytes(self.data[size:place]) + cut)
            self.safe = size
        del self.data[size:]
        self.whole = min(self.whole, size)
        for sync in self.syncs:
            sync.size = min(sync.size, size)

    def save(self, sync: Sync) -> None:
        """What a sync was to make safe is safe."""
        self.safe = max(self.safe, sync.size)
        if self.cut is not None and sync.cut is not None:
            place, cut = self.cut
            cut = cut[: sync.cut - place]
            self.cut = (place, cut) if cut else None

    def after_crash(self, random: Random) -> "Contents":
        """What a power failure leaves of it."""
        if self.cut is not None and random.random() < 0.5:  # the truncation had not been written
            place, cut = self.cut
            return Contents(bytes(self.data[:place]) + cut)
        return Contents(bytes(self.data[: random.randint(self.safe, len(self.data))]))
