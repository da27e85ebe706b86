"""The transaction log on a server's disk: files ``log.<first zxid in hex>`` (``FileTxnLog``).

A file is a header (magic "ZKLG", int version 2, long dbid 0) and records: long Adler-32 of the
payload, int its length, the payload (``log_records``), and 0x42 'B'. ZooKeeper preallocates blocks
of 64 MiB of zeros; files here end after the last record, which readers treat alike.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import dropwhile
from struct import Struct
from zlib import adler32

from rumpus.simulation.disk.disk import Disk, File
from rumpus.simulation.kernel.process import Process
from rumpus.simulation.zookeeper.startup_errors import StartupRefused
from rumpus.simulation.zookeeper.storage.log_records import UnreadableRecord, parse
from rumpus.simulation.zookeeper.tree.transactions import Entry

MAGIC = b"ZKLG"
HEADER = MAGIC + b"\0\0\0\x02" + bytes(8)
LONGEST_RECORD = 2 * 0xFFFFF
"""Twice ``jute.maxbuffer``, in bytes. A server does not start on a longer record."""
END_OF_RECORD = 0x42
ALLOCATED = 16 + 64 * 1024 * 1024
"""Bytes of a file with the space that ZooKeeper preallocates when it writes the first record."""

_FRAME = Struct(">qi")
_pack_frame = _FRAME.pack
_ZXID = Struct(">q")
_ZXID_AT = 12
_SHORTEST_PAYLOAD = 32
_PREFIX = "log."


@lru_cache(maxsize=64)  # all servers log the same payloads at about the same time
def _record_of(payload: bytes) -> bytes:
    return _pack_frame(adler32(payload), len(payload)) + payload + b"B"


class TxnLog:
    """The log of one server: appends, syncs, truncates and reads entries.

    Args:
        disk: the server's.
        directory: of the files, on the disk.
    """

    __slots__ = ("_current", "_directory", "_disk", "_unsynced")

    def __init__(self, disk: Disk, directory: str = "version-2") -> None:
        self._disk = disk
        self._directory = directory
        self._current: File | None = None
        files = [disk.open(self._path(first)) for first in self._files()]
        # A killed process may have left unsynced records, which the next process reads. ZooKeeper
        # does not sync them; a power failure could then lose acknowledged writes.
        self._unsynced = [file for file in files if file.safe_size < file.size]
        """Files that the next sync has to sync: the current one, older and truncated ones."""

    # -- writing ------------------------------------------------------------------------------

    def append(self, entry: Entry) -> None:
        """Write a record to the page cache; it is durable after ``sync``.

        The first record of a new log, and the first after ``roll``, begins a new file. A file
        that has its name already is overwritten: it contains no complete record.

        Raises:
            OSError: the disk is full or fails. The record may have been written in part.
        """
        file = self._current
        if file is None:
            file = self._disk.write_whole(self._path(entry[0][2]), HEADER)
            self._unsynced.append(file)
            self._current = file
        file.append(_record_of(entry[3]))

    def sync(self, process: Process, done: Callable[[OSError | None], None]) -> None:
        """Sync all records appended so far, and then call ``done``.

        Args:
            process: in which ``done`` is called, unless it has died meanwhile.
            done: called with None or the disk's error.
        """
        files = self._unsynced
        if len(files) == 1 and files[0] is self._current:
            files[0].sync(process, done)
        elif files:
            _Syncs(process, self, files, done)
        else:
            process.post(done, None)

    def are_synced(self, files: list[tuple[File, int]]) -> None:
        """Files have been synced at these sizes: those not written to since need no more syncs."""
        for file, size in files:
            if file is not self._current and file.size == size and file in self._unsynced:
                self._unsynced.remove(file)

    @property
    def unsynced(self) -> bool:
        """Whether older files have to be synced before a new one begins.

        These are files of earlier processes and truncated ones. Otherwise a power failure could
        lose the end of an older file and keep a newer file.
        """
        return any(file is not self._current for file in self._unsynced)

    def roll(self) -> None:
        """Let the next entry begin a new file. Entries before it should have been synced."""
        self._current = None

    def truncate(self, zxid: int) -> None:
        """Remove all entries above a zxid (TRUNC).

        If the zxid itself was never logged (after a SNAP, for example), ZooKeeper keeps the first
        entry above it; here that one is removed as well.

        Raises:
            StartupRefused: the log cannot be read up to the zxid.
        """
        self._current = None
        names = self._files()
        kept = [first for first in names if first <= zxid]
        for first in names:
            if first > zxid:
                self._disk.delete(self._path(first))
        if not kept:
            return
        path = self._path(kept[-1])
        end = len(HEADER)
        for payload, end_of_record in records(self._disk.read(path), path):
            if _zxid_of(payload, path) > zxid:
                break
            end = end_of_record
        file = self._disk.open(path)
        file.truncate(end)
        # ZooKeeper does not sync the truncation; a journalling file system writes it with the next
        # sync of any file.
        self._unsynced.append(file)

    # -- reading ------------------------------------------------------------------------------

    def read(self, zxid: int) -> Iterator[Entry]:
        """All entries from the first one that is not below a zxid.

        A torn record ends its file without an error.

        Raises:
            StartupRefused: a file has no header, or a complete record is invalid.
        """
        return map(_entry, dropwhile(lambda record: record[0] < zxid, self._records(zxid)))

    def read_files(self, zxid: int) -> Iterator[Entry]:
        """As ``read``, but from the start of the file that may contain the zxid."""
        return map(_entry, self._records(zxid))

    def _records(self, zxid: int) -> Iterator[tuple[int, bytes, str]]:
        """Zxid, payload and path of each record; nothing is parsed."""
        for path in self._files_from(zxid):
            for payload, _ in records(self._disk.read(path), path):
                yield _zxid_of(payload, path), payload, path

    def allocated_after_first_file(self, zxid: int) -> int:
        """Bytes that ZooKeeper would have allocated for the files that ``read`` reads.

        Without the first file: ``getStorageSize`` does not count the one that is already open.
        """
        return len(self._files_from(zxid)[1:]) * ALLOCATED

    def has(self, zxid: int) -> bool:
        """Whether there is an entry of this zxid.

        Raises:
            StartupRefused: as ``read``.
        """
        entry = next(self.read(zxid), None)
        return entry is not None and entry.header.zxid == zxid

    @property
    def exists(self) -> bool:
        """Whether there is any file."""
        return bool(self._files())

    def last_zxid(self) -> int:
        """Zxid of the last entry in the files; -1 if there is no file."""
        names = self._files()
        if not names:
            return -1
        last = names[-1]
        for entry in self.read(last):
            last = entry.header.zxid
        return last

    def _path(self, first: int) -> str:
        return f"{self._directory}/{_PREFIX}{first:x}"

    def _files(self) -> list[int]:
        """First zxids of the files, ascending."""
        start = f"{self._directory}/{_PREFIX}"
        return sorted(int(path[len(start) :], 16) for path in self._disk.list(start))

    def _files_from(self, zxid: int) -> list[str]:
        """The newest file whose name is below a zxid, and those after it."""
        names = self._files()
        below = sum(first < zxid for first in names)
        return [self._path(first) for first in names[max(0, below - 1) :]]


def _zxid_of(payload: bytes, path: str) -> int:
    if len(payload) < _SHORTEST_PAYLOAD:
        raise StartupRefused(f"{path}: a record of {len(payload)} bytes has no header")
    zxid: int = _ZXID.unpack_from(payload, _ZXID_AT)[0]
    return zxid


def _entry(record: tuple[int, bytes, str]) -> Entry:
    _, payload, path = record
    try:
        return parse(payload)
    except UnreadableRecord as problem:
        raise StartupRefused(f"{path}: unreadable record: {problem}") from problem


class _Syncs:
    """Syncs several files, and then calls ``done`` once."""

    __slots__ = ("_done", "_error", "_files", "_left", "_log")

    def __init__(
        self,
        process: Process,
        log: TxnLog,
        files: list[File],
        done: Callable[[OSError | None], None],
    ) -> None:
        self._log = log
        self._files = [(file, file.size) for file in files]
        self._left = len(files)
        self._done = done
        self._error: OSError | None = None
        for file in list(files):
            file.sync(process, self._synced)

    def _synced(self, error: OSError | None) -> None:
        self._error = self._error or error
        self._left -= 1
        if self._left:
            return
        if self._error is None:
            self._log.are_synced(self._files)
        self._done(self._error)


def records(data: bytes, path: str) -> Iterator[tuple[bytes, int]]:
    """The payloads of a file's records and the offsets at which the records end.

    Zeros, a partial record or a wrong end mark end the file without an error, as in ZooKeeper.

    Raises:
        StartupRefused: the header is incomplete or not a log's; a checksum is wrong although
            the end mark is right; a length is impossible.
    """
    if len(data) < len(HEADER):
        raise StartupRefused(f"{path}: {len(data)} bytes, too short for the header of a log")
    if not data.startswith(MAGIC):
        raise StartupRefused(f"{path}: invalid magic number {data[:4]!r}")
    at = len(HEADER)
    size = len(data)
    while at + _FRAME.size <= size:
        checksum, length = _FRAME.unpack_from(data, at)
        if length == 0:
            return
        if not 0 < length <= LONGEST_RECORD:
            raise StartupRefused(f"{path}, byte {at}: unreasonable length {length}")
        start = at + _FRAME.size
        at = start + length
        if at >= size or data[at] != END_OF_RECORD:
            return
        payload = data[start:at]
        if adler32(payload) != checksum:
            raise StartupRefused(f"{path}, byte {start - _FRAME.size}: CRC check failed")
        at += 1
        yield payload, at
