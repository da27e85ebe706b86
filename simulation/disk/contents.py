"""The contents of a file: what programs see, and how much of it survives a power failure."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process


class Sync:
    """A sync that has begun, and what it will make safe when it ends."""

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
        """How many bytes of the contents it makes safe."""
        self.cut = contents.cut and contents.cut[0]
        """The size to which it was truncated before, if that was not safe; else None."""
        self.changes = changes
        """How many changes of names it commits, counted since the disk was new."""
        self.crashes = crashes
        """The disk's number of crashes when the sync began; a later crash voids it."""


class Contents:
    """What a file holds; its names are kept by the disk."""

    __slots__ = ("cut", "data", "safe", "syncs", "whole")

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)
        """The content as programs see it."""
        self.safe = len(data)
        """How many of these bytes survive a power failure."""
        self.cut: tuple[int, bytes] | None = None
        """Offset and value of safe bytes that a truncation cut off which is not safe itself yet."""
        self.syncs: dict[Sync, None] = {}
        """Syncs under way."""
        self.whole = 0
        """How many bytes become safe together with the file's name (``Disk.write_whole``)."""

    def truncate(self, size: int) -> None:
        """Cut off everything after ``size`` bytes; a power failure may undo that until a sync."""
        if size < self.safe:
            place, cut = self.cut or (self.safe, b"")
            if size < place:  # extend it downwards: the oldest bytes are on the disk
                self.cut = (size, bytes(self.data[size:place]) + cut)
            self.safe = size
        del self.data[size:]
        self.whole = min(self.whole, size)
        for sync in self.syncs:
            sync.size = min(sync.size, size)

    def save(self, sync: Sync) -> None:
        """Make safe what a sync covers."""
        self.safe = max(self.safe, sync.size)
        if self.cut is not None and sync.cut is not None:
            place, cut = self.cut
            cut = cut[: sync.cut - place]
            self.cut = (place, cut) if cut else None

    def after_crash(self, random: Random) -> "Contents":
        """What a power failure leaves of the contents."""
        if self.cut is not None and random.random() < 0.5:  # the truncation had not been written
            place, cut = self.cut
            return Contents(bytes(self.data[:place]) + cut)
        return Contents(bytes(self.data[: random.randint(self.safe, len(self.data))]))
