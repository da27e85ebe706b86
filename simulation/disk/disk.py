"""A disk of a simulated server: files in a page cache, and what a power failure leaves of them.

Writes go to the cache, which survives the death of a process. ``File.sync`` makes a file safe:
it survives a power failure. Changes of names (creations, renames, deletions) go through a journal,
in order, as in ext4. They are committed by a later sync of any file, or after ``commit_interval``
(ext4: 5 s). A file that was written by ``write_whole`` becomes safe together with its name, as with
ext4's ``data=ordered`` and ``auto_da_alloc``.
"""

import errno
import os
from collections import deque
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING
from zlib import adler32

from rumpus.simulation.disk.contents import Contents, Sync

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process, World

MICROSECOND = 1_000
SECOND = 1_000_000_000
SHORTEST_SYNC = 100 * MICROSECOND
SYNC_SPREAD = 700 * MICROSECOND
NANOSECONDS_PER_BYTE = 5
"""200 MB a second."""

Change = tuple[tuple[str, Contents | None], ...]
"""Paths, and the contents that each names from now on (None: deleted); atomic."""


class File:
    """An open file of a ``Disk``. Nothing is safe in a power failure before ``sync``."""

    __slots__ = ("_contents", "_disk", "path")

    def __init__(self, disk: "Disk", path: str, contents: Contents) -> None:
        self._disk = disk
        self._contents = contents
        self.path = path
        """The path under which the file was opened."""

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return len(self._contents.data)

    @property
    def safe_size(self) -> int:
        """How many bytes a power failure cannot take away."""
        return self._contents.safe

    def append(self, data: bytes) -> None:
        """Write at the end of the file.

        Raises:
            OSError: ENOSPC (what there was room for has been written), or EIO.
        """
        self._disk.append_to(self._contents, data)

    def truncate(self, size: int) -> None:
        """Cut off everything after the first ``size`` bytes.

        Raises:
            OSError: EIO.
        """
        self._disk.truncate(self._contents, size)

    def read(self, offset: int = 0, size: int | None = None) -> bytes:
        """The content from an offset on, ``size`` bytes at most."""
        end = None if size is None else offset + size
        return bytes(memoryview(self._contents.data)[offset:end])

    def sync(self, process: "Process", done: Callable[[OSError | None], None]) -> None:
        """Make safe what has been written so far, and all changes of names, as ``fsync`` does.

        Args:
            process: the process in which ``done`` is called; never if it is dead, after the thaw if
                it is frozen.
            done: called with None, or with an ``OSError`` (EIO).
        """
        self._disk.sync(self._contents, process, done)


class Disk:
    """The disk of one host; it outlives the host's processes.

    Args:
        simulator: the world.
        name: the host's name; with the world's seed it decides the randomness.
        commit_interval: nanoseconds after which a change of names is safe without a sync; None:
            never.
    """

    def __init__(
        self, simulator: "World", name: str, commit_interval: int | None = 5 * SECOND
    ) -> None:
        self.name = name
        self._simulator = simulator
        self._note = simulator.trace.append
        self._random = simulator.random(f"disk {name}")
        self._chance = self._random.random
        self._commit_interval = commit_interval
        self._files: dict[str, Contents] = {}
        self._safe_files: dict[str, Contents] = {}
        self._journal: deque[tuple[int, Change]] = deque()  # changes of names not safe yet
        self._committed = 0  # changes that have left the journal
        self._busy_until = 0
        self._crashes = 0
        self.syncs = 0
        """How many syncs have ended, with success or not."""
        self._factor: float = 1
        self._extra = 0
        self._failing_syncs: int | None = 0
        self._failing_writes: int | None = 0
        self._lying = False
        self._capacity: int | None = None

    # -- files --------------------------------------------------------------------------------

    def create(self, path: str) -> File:
        """Create an empty file; it replaces a file of the same name.

        Raises:
            OSError: EIO, if writing fails.
        """
        self._check_write()
        contents = Contents()
        self._change((path, contents))
        return File(self, path, contents)

    def open(self, path: str) -> File:
        """Open a file that exists.

        Raises:
            FileNotFoundError: it does not.
        """
        return File(self, path, self._find(path))

    def exists(self, path: str) -> bool:
        """Whether there is a file of this path."""
        return path in self._files

    def list(self, prefix: str = "") -> list[str]:
        """The paths that begin with a prefix, sorted."""
        return sorted(path for path in self._files if path.startswith(prefix))

    def delete(self, path: str) -> None:
        """Delete a file.

        Raises:
            FileNotFoundError: there is no such file.
        """
        self._find(path)
        self._check_write()
        self._change((path, None))

    def rename(self, path: str, target: str) -> None:
        """Give a file another name, atomically; it replaces a file of that name.

        Raises:
            FileNotFoundError: there is no such file.
        """
        contents = self._find(path)
        self._check_write()
        if path != target:
            self._change((path, None), (target, contents))

    def read(self, path: str) -> bytes:
        """The whole content of a file.

        Raises:
            FileNotFoundError: there is no such file.
        """
        return bytes(self._find(path).data)

    def write_whole(self, path: str, data: bytes) -> File:
        """Create a file with this content; it becomes safe together with its name.

        Raises:
            OSError: ENOSPC or EIO; the file may then be there in part.
        """
        file = self.create(path)
        file.append(data)
        self._files[path].whole = len(data)
        return file

    def used(self) -> int:
        """Bytes in all files."""
        return sum(len(contents.data) for contents in self._files.values())

    # -- faults -------------------------------------------------------------------------------

    def slow(self, factor: float = 1, extra: int = 0) -> None:
        """Make syncs slower, by a factor and then by ``extra`` nanoseconds."""
        self._note(f"disk {self.name} slow {factor} {extra}")
        self._factor = factor
        self._extra = extra

    def fail_sync(self, times: int | None = None) -> None:
        """Have the next syncs (None: all) fail with EIO, and make nothing safe."""
        self._note(f"disk {self.name} fails syncs {times}")
        self._failing_syncs = times

    def fail_writes(self, times: int | None = None) -> None:
        """Have the next writes and changes of names (None: all) fail with EIO."""
        self._note(f"disk {self.name} fails writes {times}")
        self._failing_writes = times

    def lie(self) -> None:
        """Have syncs report success, but make nothing safe."""
        self._note(f"disk {self.name} lies")
        self._lying = True

    def full(self, bytes_left: int = 0) -> None:
        """Leave room for ``bytes_left`` bytes only; truncating and deleting make room again."""
        self._note(f"disk {self.name} full {bytes_left}")
        self._capacity = self.used() + bytes_left

    def corrupt_tail(self, path: str, length: int, keep: int = 0) -> None:
        """Corrupt every byte near a file's end, in the cache and on the disk.

        Args:
            path: the path of the file.
            length: how many bytes are changed.
            keep: how many bytes after these, at the very end, are left intact.

        Raises:
            FileNotFoundError: there is no such file.
        """
        data = self._find(path).data
        end = max(0, len(data) - keep)
        start = max(0, end - length)
        self._note(f"disk {self.name} corrupts {path} {start} {end}")
        for place in range(start, end):
            data[place] ^= 1 + int(self._random.random() * 255)

    def damage(self, path: str, data: bytes | None) -> None:
        """Give a file another content, in the cache and on the disk, or take it away (None)."""
        self._note(f"disk {self.name} damages {path} {None if data is None else adler32(data)}")
        _apply(((path, None if data is None else Contents(data)),), self._files)
        _apply(((path, self._files.get(path)),), self._safe_files)
        self._journal = deque(
            (time, change)
            for time, change in self._journal
            if all(name != path for name, _ in change)
        )

    def heal(self) -> None:
        """End all faults; what is not safe stays so until it is synced again."""
        self._note(f"disk {self.name} heals")
        self._factor = 1
        self._extra = 0
        self._failing_syncs = 0
        self._failing_writes = 0
        self._lying = False
        self._capacity = None

    def crash(self, random: Random | None = None) -> None:
        """Power failure: what was synced stays; a random part of the rest is lost.

        Of the bytes appended to a file since its last sync, a random prefix stays, perhaps with
        a torn write at its end. A truncation may be undone. Of the changes of names in the
        journal, the first few stay, a random number. Syncs under way never end; files must be
        opened again. Before this call, kill the processes that use the disk.

        Args:
            random: what is lost is drawn from it; None: from the disk's own stream.
        """
        random = random or self._random
        self._crashes += 1
        self._busy_until = self._simulator.now
        self._commit_old()
        self._commit(random.randint(0, len(self._journal)))
        self._journal.clear()
        self._files = {}
        survivors: dict[Contents, Contents] = {}
        for path in sorted(self._safe_files):
            contents = self._safe_files[path]
            if contents not in survivors:
                survivors[contents] = contents.after_crash(random)
            self._files[path] = survivors[contents]
        self._safe_files = dict(self._files)
        self._note(f"disk {self.name} crashes")
        for path, contents in self._files.items():
            self._note(path)
            self._note(adler32(contents.data))

    # -- for files ----------------------------------------------------------------------------

    def append_to(self, contents: Contents, data: bytes) -> None:
        """Write at the end; see ``File.append``."""
        if self._failing_writes != 0:
            self._check_write()
        self._note(adler32(data))
        if self._capacity is not None:
            room = max(0, self._capacity - self.used())
            if len(data) > room:
                contents.data += data[:room]
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.name)
        contents.data += data

    def truncate(self, contents: Contents, size: int) -> None:
        """Cut off the end; see ``File.truncate``."""
        self._check_write()
        contents.truncate(size)

    def sync(
        self, contents: Contents, process: "Process", done: Callable[[OSError | None], None]
    ) -> None:
        """Make a file safe; see ``File.sync``."""
        simulator = self._simulator
        now = simulator.now
        chance = self._chance()
        unsafe = len(contents.data) - contents.safe
        latency = SHORTEST_SYNC + int(chance * chance * SYNC_SPREAD) + unsafe * NANOSECONDS_PER_BYTE
        if self._factor != 1 or self._extra:
            latency = int(latency * self._factor) + self._extra
        # The device does one sync after the other.
        self._busy_until = end = max(now, self._busy_until) + latency
        changes = self._committed + len(self._journal)
        sync = Sync(contents, process, done, changes, self._crashes)
        contents.syncs[sync] = None
        simulator.call_at(end, self._end_sync, sync)

    def _end_sync(self, sync: Sync) -> None:
        if sync.crashes != self._crashes:
            return
        self.syncs += 1
        error = None
        if self._failing_syncs != 0:
            if self._failing_syncs is not None:
                self._failing_syncs -= 1
            error = OSError(errno.EIO, os.strerror(errno.EIO), self.name)
        del sync.contents.syncs[sync]
        if error is None and not self._lying:
            sync.contents.save(sync)
            if sync.changes > self._committed:
                self._commit(sync.changes - self._committed)
        sync.process.post(sync.done, error)

    # -- names --------------------------------------------------------------------------------

    def _find(self, path: str) -> Contents:
        contents = self._files.get(path)
        if contents is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return contents

    def _check_write(self) -> None:
        if self._failing_writes != 0:
            if self._failing_writes is not None:
                self._failing_writes -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO), self.name)

    def _change(self, *change: tuple[str, Contents | None]) -> None:
        self._commit_old()
        _apply(change, self._files)
        self._journal.append((self._simulator.now, change))

    def _commit_old(self) -> None:
        if self._commit_interval is not None and not self._lying:
            before = self._simulator.now - self._commit_interval
            self._commit(sum(time <= before for time, _ in self._journal))

    def _commit(self, count: int) -> None:
        """Make the first changes of names in the journal safe."""
        for _ in range(count):
            change = self._journal.popleft()[1]
            _apply(change, self._safe_files)
            for _, contents in change:
                if contents is not None:
                    contents.safe = max(contents.safe, contents.whole)
            self._committed += 1


def _apply(change: Change, files: dict[str, Contents]) -> None:
    for path, contents in change:
        if contents is None:
            files.pop(path, None)
        else:
            files[path] = contents
