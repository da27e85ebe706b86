"""Reading one server's files: its logs, its snapshots, its epochs, and what it says of itself.

The files are untrusted (`checker.untrusted_file`).
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import BinaryIO

from rumpus.checker.servers.own_words import OwnWords, read_own_words
from rumpus.checker.servers.snapshot import UnreadableSnapshot, read_snapshot
from rumpus.checker.servers.tree_digest import Znode
from rumpus.checker.servers.txnlog import CorruptLog, Known, LogFile, read_log, written_behind
from rumpus.checker.untrusted_file import open_regular, read_regular

MOST_LOGGED = 1 << 30
"""Bytes of logs that are read: at least five million transactions."""

_LITTLE = 64 << 20
_SPARSEST = 32
"""Bytes of records that are read of any log, and for each byte that it takes on the disk. A file
can be a gigabyte of holes, though some file systems compress what is in it."""

_LARGEST_NUMBER = 64  # bytes of a file with an epoch
_END_OF_SNAPSHOT = b"\0\0\0\x01/"
_DIGEST_OF_SNAPSHOT = Struct(">5sqiQq5s")
"""End of the tree, zxid, digest version, digest, and the checksum and end mark of the three."""
_LAST_ZXID_OF_SNAPSHOT = Struct(">qq5s")
"""What 3.9 writes behind that: the last zxid, and its checksum and end mark."""


def _no_trees(zxid: int) -> Mapping[str, Znode]:
    raise UnreadableSnapshot(f"the contents of snapshot.{zxid:x} are not at hand")


@dataclass(frozen=True)
class NodeFiles:
    """The contents of one server's files.

    Attributes:
        logs: in the order of the zxids in their names.
        snapshots: the zxids in the names of complete snapshots.
        current_epoch: None if there is no such file.
        accepted_epoch: None if there is no such file.
        damage: in words, what could not be read (the server may have had more then).
        broken: those of them that no crash explains: it may leave a newest log without a header.
        unread: in words, what stands in logs behind their end, where the server will not read it.
        digest: of the tree in the newest snapshot, (zxid, digest); None if it has none.
        read_tree: path -> znode, of the snapshot with this zxid in its name; raises
            ``checker.servers.snapshot.UnreadableSnapshot``.
        own_words: what it says of itself.
    """

    logs: tuple[LogFile, ...] = ()
    snapshots: frozenset[int] = frozenset()
    current_epoch: int | None = None
    accepted_epoch: int | None = None
    damage: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    digest: tuple[int, int] | None = None
    read_tree: Callable[[int], Mapping[str, Znode]] = field(default=_no_trees, compare=False)
    own_words: OwnWords = field(default_factory=OwnWords)


def read_node_directory(
    directory: Path, known: Known | None = None, most: int = MOST_LOGGED
) -> NodeFiles:
    """Read the files of one server: ``<directory>/version-2/``, and what it printed and counted.

    A half-written snapshot, which the server would not load, is ignored. A log that the server
    would refuse is reported in ``damage``; its records before the damage are kept.

    Args:
        directory: the server's directory.
        known: payloads that were read from other servers' logs; see `read_log`.
        most: bytes that the records of its logs may take together.

    Raises:
        OSError: the directory or a file in it cannot be read.
        UnfitFile: a file is a pipe, a device or a directory, or too large.
        ValueError: an epoch file does not hold a number.
    """
    files = directory / "version-2"
    logs: list[LogFile] = []
    damage: list[str] = []
    broken: list[str] = []
    unread: list[str] = []
    paths = [path for _, path in sorted(_named(files, "log"))]
    for path in paths:
        with open_regular(path) as file:
            try:
                logs.append(read_log(file, path.name, known, min(most, _room(file))))
            except CorruptLog as problem:
                logs.append(LogFile(path.name, problem.txns, "torn record", problem.offset))
                damage.append(str(problem))
                if path != paths[-1] or problem.offset:
                    broken.append(str(problem))
            if behind := written_behind(file, logs[-1]):
                unread.append(
                    f"transaction log {path.name} goes on for {behind:,} bytes behind byte "
                    f"{logs[-1].offset}, where no server reads: it wrote behind a record that it "
                    "had not finished"
                )
        most -= logs[-1].offset
    snapshots = {zxid: path for zxid, path in _named(files, "snapshot") if _is_whole(path)}
    newest = snapshots[max(snapshots)] if snapshots else None
    return NodeFiles(
        logs=tuple(logs),
        snapshots=frozenset(snapshots),
        current_epoch=_number(files / "currentEpoch"),
        accepted_epoch=_number(files / "acceptedEpoch"),
        damage=tuple(damage),
        broken=tuple(broken),
        unread=tuple(unread),
        digest=None if newest is None else _digest_of(newest),
        read_tree=lambda zxid: read_snapshot(snapshots[zxid]),
        own_words=read_own_words(directory),
    )


def _named(files: Path, kind: str) -> Iterator[tuple[int, Path]]:
    """Logs or snapshots with the zxids in their names; files still being written are left out."""
    for path in files.glob(f"{kind}.*"):
        if found := re.fullmatch(kind + r"\.([0-9a-f]{1,16})(\.gz|\.snappy)?", path.name):
            yield int(found[1], 16), path


def _room(log: BinaryIO) -> int:
    """How many bytes of records a log can have. Some file systems do not say what it takes."""
    status = os.fstat(log.fileno())
    return max(_LITTLE, _SPARSEST * status.st_blocks * 512 if status.st_blocks else status.st_size)


def _is_whole(snapshot: Path) -> bool:
    """Whether a server would load it: it is compressed, or ends in the string "/"."""
    if snapshot.suffix in {".gz", ".snappy"}:
        return True
    with open_regular(snapshot) as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - len(_END_OF_SNAPSHOT)))
        return file.read() == _END_OF_SNAPSHOT


def _digest_of(snapshot: Path) -> tuple[int, int] | None:
    """The zxid of the tree in a snapshot, and its digest; None if the snapshot has none.

    A server that got its tree from the leader and has not changed it yet writes zeros.
    """
    with open_regular(snapshot) as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _DIGEST_OF_SNAPSHOT.size - _LAST_ZXID_OF_SNAPSHOT.size))
        end = file.read()
    for behind in (0, _LAST_ZXID_OF_SNAPSHOT.size):
        at = len(end) - behind - _DIGEST_OF_SNAPSHOT.size
        if at < 0:
            return None
        before, zxid, version, digest, _, mark = _DIGEST_OF_SNAPSHOT.unpack_from(end, at)
        if (before, version, mark) == (_END_OF_SNAPSHOT, 2, _END_OF_SNAPSHOT):
            return (zxid, digest) if zxid != 0 else None
    return None


def _number(path: Path) -> int | None:
    if not path.exists():
        return None
    content = read_regular(path, _LARGEST_NUMBER).strip()
    if not content.isdigit():
        raise ValueError(f"{path.name} holds no number: {content!r}")
    return int(content)


def epoch(zxid: int) -> int:
    """The leader's epoch: the high 32 bits of a zxid."""
    return zxid >> 32


def counter(zxid: int) -> int:
    """The position within the epoch, from 1: the low 32 bits of a zxid."""
    return zxid & 0xFFFF_FFFF
