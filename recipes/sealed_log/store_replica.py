"""One replica's files: append-only, each with one writer, and sealable.

The write protection is that of Pangu (Alibaba Cloud Storage, "What kind of distributed lock does
our system need?", section on IO fences), in the terms of BookKeeper's ledgers (Junqueira, Kelly and
Reed, "Durability with BookKeeper", SIGOPS Operating Systems Review 2013):

- An *inline file* names its only writer. A replica refuses appends by anybody else, so a former
  owner cannot open its successor's file.
- A *sealed* file takes no more appends, so a former owner cannot go on in the file that it has
  open.

A file has one writer, which never puts two entries at one position. So all copies of a file are
prefixes of one sequence, and the longest copy of a majority has every acknowledged entry.

The journal is an append-only file of lines of JSON: ``["create", file, writer]``,
``["seal", file]`` and ``["put", file, position, entries]``. Each is on disk before it is
acknowledged. A last line that is incomplete, because its process was killed, is ignored.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.requests.json_lines import read_journal


class Sealed(NotDone):
    """The file is sealed: nothing was appended, and nothing ever will be."""


class NotTheWriter(NotDone):
    """The file has another writer: nothing was appended."""


class Behind(NotDone):
    """The copy ends before the first of the entries: nothing was appended."""


@dataclass
class FileCopy:
    """A replica's copy of a file; ``writer`` is empty until the replica knows it."""

    writer: str = ""
    sealed: bool = False
    entries: list[Any] = field(default_factory=list)


class StoreReplica:
    """The files of one replica, read from its journal.

    Args:
        journal: the journal's content so far.
        write: appends to the journal, and returns once that is on disk.
    """

    def __init__(self, journal: bytes, write: Callable[[bytes], None]) -> None:
        self._files: dict[str, FileCopy] = {}
        self._write = write
        for record in read_journal(journal, write):
            self._replay(record)

    def _replay(self, record: Sequence[Any]) -> None:
        what, file, *more = record
        copy = self._files.setdefault(file, FileCopy())
        if what == "create":
            (copy.writer,) = more
        elif what == "seal":
            copy.sealed = True
        else:
            at, entries = more
            copy.entries[at:] = entries

    def copy(self, file: str) -> FileCopy:
        """The copy of a file; an empty one if nothing of the file has come here yet."""
        return self._files.get(file, FileCopy())

    def append(self, file: str, writer: str, by: str, at: int, entries: Sequence[Any]) -> int:
        """Append a writer's entries; those that the copy has already are left alone.

        Args:
            file: its name.
            writer: the file's only writer, for a replica that does not have the file yet.
            by: who appends.
            at: the position of the first of the entries.
            entries: values of JSON.

        Returns:
            The length of the copy.

        Raises:
            Sealed, NotTheWriter, Behind: nothing was appended.
        """
        copy = self._files.setdefault(file, FileCopy())
        if not copy.writer:
            self._record("create", file, writer)
            copy.writer = writer
        if not self._may_write(copy, by):
            raise NotTheWriter(f"{file} is written by {copy.writer}, not by {by}")
        if self._is_closed(copy):
            raise Sealed(f"{file} is sealed")
        if at > len(copy.entries):
            raise Behind(f"{file} has {len(copy.entries)} entries here")
        self._put(file, copy, entries[len(copy.entries) - at :])
        return len(copy.entries)

    def seal(self, file: str) -> FileCopy:
        """Refuse all appends to a file from now on; returns the copy as it is then."""
        copy = self._files.setdefault(file, FileCopy())
        if not copy.sealed:
            self._record_seal(file)
            copy.sealed = True
        return copy

    def fill(self, file: str, entries: Sequence[Any]) -> None:
        """Copy what is missing here of a sealed file, from a longer copy of it.

        Raises:
            NotDone: the file is not sealed here, so its writer may still append.
        """
        copy = self.copy(file)
        if not copy.sealed:
            raise NotDone(f"{file} is not sealed here")
        self._put(file, copy, entries[len(copy.entries) :])

    def _put(self, file: str, copy: FileCopy, entries: Sequence[Any]) -> None:
        if entries:
            self._record("put", file, len(copy.entries), list(entries))
            copy.entries.extend(entries)

    def _record_seal(self, file: str) -> None:
        self._record("seal", file)

    def _record(self, *record: Any) -> None:
        self._write(json.dumps(record).encode() + b"\n")

    @staticmethod
    def _is_closed(copy: FileCopy) -> bool:
        return copy.sealed

    @staticmethod
    def _may_write(copy: FileCopy, by: str) -> bool:
        return by == copy.writer
