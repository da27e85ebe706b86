"""What a power failure leaves of a real server's files, by the journal of what it did to them.

``docker/zookeeper/disk.c``, which is preloaded into the server, notes each change of its files with
what was there before, and each fsync. When the server has been killed, changes that no fsync made
safe are undone here, from the last one back:

- Of the writes to a file since its last sync, in the last 30 s, a random number stays, and of the
  next one a random part (a torn write).
- A write whose sync failed is never safe: a later sync that succeeds does not write it again
  (Rebello et al., Can applications recover from fsync failures?, ATC 2020). What was written behind
  it may stay.
- Changes of names (creations, renames, deletions) go through one journal of the file system, in
  order, as in ext4: a sync of any file makes all earlier ones safe, and so do 5 s. Of the others
  the first few stay, a random number.

`simulation.disk.disk` does the same to simulated servers. Both follow Pillai et al., All file
systems are not created equal, OSDI 2014, for ext4 with its default options.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from struct import Struct
from typing import NamedTuple

COMMIT_NS = 5_000_000_000
"""After how long a change of names is safe without a sync (ext4's ``commit``)."""
WRITEBACK_NS = 30_000_000_000
"""After how long a write is safe without a sync (Linux's ``dirty_expire_centisecs``)."""

_RECORD = Struct("<QQQQQQIII")


class Step(NamedTuple):
    """One record of the journal.

    Attributes:
        operation: ``C`` created, ``W`` written, ``T`` cut or extended, ``R`` renamed, ``U``
            removed, ``S`` synced, ``F`` failed to sync.
        inode: the file; of ``R`` and ``U`` the one whose name went.
        offset: where something was written, or the size to which it was cut; of ``S`` and ``F`` the
            length that the journal had when the sync began; of ``R`` and ``U`` whether a name went.
        end: the first byte behind what was written.
        size: of the file before.
        time: in ns, of the machine's monotonic clock.
        path: the file's; before a rename.
        second: the path after a rename.
        before: the bytes that were overwritten, or went.
        place: where the record begins in the journal.
    """

    operation: str
    inode: int
    offset: int
    end: int
    size: int
    time: int
    path: str
    second: str
    before: bytes
    place: int


@dataclass
class Files:
    """The files of a server.

    Attributes:
        names: path -> inode.
        contents: inode -> content.
    """

    names: dict[str, int] = field(default_factory=dict)
    contents: dict[int, bytes] = field(default_factory=dict)

    def copy(self) -> "Files":
        """Another one with the same files."""
        return Files(dict(self.names), dict(self.contents))

    def by_path(self) -> dict[str, bytes]:
        """Path -> content."""
        return {path: self.contents[inode] for path, inode in self.names.items()}


class Lost(NamedTuple):
    """What a power failure took.

    Attributes:
        files: what is left.
        writes: how many writes and truncations are gone, torn ones included.
        names: how many changes of names are.
    """

    files: Files
    writes: int
    names: int


def steps(journal: bytes) -> list[Step]:
    """The records of a journal.

    One that breaks off at its end, since the server was killed then, is left out: what it was to
    announce had not been done yet.

    Raises:
        ValueError: it holds anything else than records.
    """
    found = []
    at = 0
    while at + _RECORD.size <= len(journal):
        operation, inode, offset, end, size, time, *lengths = _RECORD.unpack_from(journal, at)
        behind = at + _RECORD.size + sum(lengths)
        if not 0 <= operation < 128 or chr(operation) not in "CWTRUSF":
            raise ValueError(f"the journal of a disk has no record at byte {at}")
        if behind > len(journal):
            break
        texts = []
        start = at + _RECORD.size
        for length in lengths:
            texts.append(journal[start : start + length])
            start += length
        path, second, before = texts
        name, other = path.decode(errors="surrogateescape"), second.decode(errors="surrogateescape")
        found.append(Step(chr(operation), inode, offset, end, size, time, name, other, before, at))
        at = behind
    return found


def after_power_failure(files: Files, journal: Iterable[Step], now: int, random: Random) -> Lost:
    """What is left of the files when the power fails.

    Args:
        files: as the killed server left them.
        journal: what it did to them.
        now: the time in ns, of the clock that the journal has.
        random: what is lost is drawn from it.
    """
    left = files.copy()
    every = list(journal)
    syncs = [step for step in every if step.operation == "S"]
    safe: dict[int, int] = {}  # inode -> up to where in the journal
    for step in syncs:
        safe[step.inode] = max(safe.get(step.inode, 0), step.offset)
    committed = max((step.offset for step in syncs), default=0)
    names = [
        step
        for step in every
        if step.operation in "CRU" and step.place >= committed and step.time > now - COMMIT_NS
    ]
    writes: dict[int, list[Step]] = {}
    for step in every:
        unsafe = step.place >= safe.get(step.inode, 0) and step.time > now - WRITEBACK_NS
        if step.operation in "WT" and unsafe:
            writes.setdefault(step.inode, []).append(step)
    doomed = _never_written(every)
    gone = 0
    for inode in sorted(writes):
        gone += _undo_writes(left, writes[inode], random)
    for step in doomed:
        later = [
            each
            for each in every
            if (each.operation, each.inode) == ("W", step.inode)
            and each.place > step.place
            and each not in doomed
        ]
        _leave_out(left, step, later)
    kept = random.randint(0, len(names))
    for step in reversed(names[kept:]):
        _undo_name(left, step)
    return Lost(left, gone + len(doomed), len(names) - kept)


def _never_written(journal: list[Step]) -> list[Step]:
    """Writes that no sync had made safe when one failed."""
    waiting: dict[int, list[Step]] = {}
    found: list[Step] = []
    for step in journal:
        if step.operation == "W":
            waiting.setdefault(step.inode, []).append(step)
        elif step.operation in "SF":
            before = [each for each in waiting.get(step.inode, ()) if each.place < step.offset]
            found += before if step.operation == "F" else ()
            waiting[step.inode] = waiting.get(step.inode, [])[len(before) :]
    return found


def _leave_out(files: Files, step: Step, later: Iterable[Step]) -> None:
    """Take a write away, and leave what later ones wrote, behind it or over it."""
    content = files.contents.get(step.inode)
    if content is None:
        return
    left = bytearray(content)
    before = step.before.ljust(step.end - step.offset, b"\0")
    over = [(each.offset, each.end) for each in later]
    for at in range(step.offset, min(step.end, len(left))):
        if not any(start <= at < end for start, end in over):
            left[at] = before[at - step.offset]
    files.contents[step.inode] = bytes(left)


def _undo_writes(files: Files, steps: list[Step], random: Random) -> int:
    """Undo the last writes to a file, a random number; how many."""
    inode = steps[0].inode
    content = files.contents.get(inode)
    if content is None:
        return 0  # it has no name any more
    kept = random.randint(0, len(steps))
    for number in range(len(steps) - 1, kept - 1, -1):
        step = steps[number]
        torn = step.operation == "W" and number == kept
        start = random.randint(step.offset, step.end) if torn else step.offset
        content = undone(content, step, start)
    files.contents[inode] = content
    return len(steps) - kept


def undone(content: bytes, step: Step, start: int) -> bytes:
    """A file's content before a write or a truncation.

    Args:
        content: after it.
        step: what was done.
        start: of a write, from which byte on it is undone.
    """
    if step.operation == "T":
        return (
            content[: step.offset] + step.before
            if step.offset < step.size
            else content[: step.size]
        )
    before = step.before[start - step.offset :]
    changed = content[:start] + before + content[start + len(before) :]
    return changed[: max(step.size, start)]


def _undo_name(files: Files, step: Step) -> None:
    """Undo the creation, the removal or the renaming of a file."""
    if step.operation == "C":
        files.names.pop(step.path, None)
        return
    if step.operation == "R":
        moved = files.names.pop(step.second, None)
        if moved is not None:
            files.names[step.path] = moved
    if step.offset:  # a name went
        path = step.second if step.operation == "R" else step.path
        files.names[path] = step.inode
        files.contents.setdefault(step.inode, step.before)


def differences(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """Path -> what has to be written there, or None if the file has to go."""
    found: dict[str, bytes | None] = {path: None for path in before if path not in after}
    found.update({path: data for path, data in after.items() if before.get(path) != data})
    return found
