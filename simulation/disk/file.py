"""A file of a simulated disk: what is in it, and how much of that is safe."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rumpus.simulation.disk.disk import Disk
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


class File:
    """An open file; made by ``Disk``. Nothing is safe in a power failure before ``sync``."""

    __slots__ = ("_contents", "_disk", "path")

    def __init__(self, disk: "Disk", path: str, contents: Contents) -> None:
        self._disk = disk
        self._contents = contents
        self.path = path
        """Under which it was opened."""

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self._contents.data)

    @property
    def safe_size(self) -> int:
        """How many bytes a power failure cannot take away."""
        return self._contents.safe

    def append(self, data: bytes) -> None:
        """Write at the end.

        Raises:
            OSError: ENOSPC (what there was room for has been written), or EIO.
        """
        self._disk.append_to(self._contents, data)

    def truncate(self, size: int) -> None:
        """Cut off what is behind the first ``size`` bytes.

        Raises:
            OSError: EIO.
        """
        self._disk.truncate(self._contents, size)

    def read(self, offset: int = 0, size: int | None = None) -> bytes:
        """What is in it, from an offset; ``size`` bytes at most."""
        end = None if size is None else offset + size
        return bytes(memoryview(self._contents.data)[offset:end])

    def sync(self, process: "Process", done: Callable[[OSError | None], None]) -> None:
        """Make safe what has been written so far, and the names of files, as ``fsync`` does.

        Args:
            process: in which ``done`` is called; never if it has died, later if it is frozen.
            done: is given None, or EIO.
        """
        self._disk.sync(self._contents, process, done)
