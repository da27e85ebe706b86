"""A log of sealed files: a new owner seals its predecessor's file before it writes to its own.

1. **Seal.** The new owner has the last file sealed by a majority of the replicas. A replica writes
   the seal to its disk before it answers, with its copy of the file.
2. **Length.** The longest of these copies has every acknowledged entry. It is copied to a majority.
3. **New file.** One conditional write to the log's directory closes the old file at that length,
   and adds a new file with the new owner as its only writer.

So two owners can take over at once without harm: one of them makes the conditional write, and the
other begins again with the first one's file. Source: the recovery of BookKeeper's ledgers
(Junqueira, Kelly and Reed, "Durability with BookKeeper", SIGOPS Operating Systems Review 2013),
with Pangu's inline files for a ledger's single writer.

A reader takes closed files up to their lengths from any replica, and of the open file what a
majority has. If a majority of the replicas has not sealed the last file that the reader knows, then
there was no later file when it asked.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import Message
from rumpus.recipes.requests.retries import pause
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.sealed_log.file_writer import FileWriter
from rumpus.recipes.sealed_log.log_directory import LogFile
from rumpus.recipes.sealed_log.owned_log import LOOK_S, OwnedLog, Writer

LOG_PROMISES = frozenset(
    {
        "lost-write",
        "stale-action",
        "duplicate-element",
        "phantom-element",
        "out-of-order",
        "not-linearizable",
        "stuck-waiter",
        "leaderless",
        "overdue-call",
    }
)
"""What a log with one owner promises, however former owners are refused."""


class SealedLog(OwnedLog):
    """A log whose former owners are refused by seals; see the module and ``OwnedLog``."""

    promises: ClassVar[Promises] = Promises(
        prevents=LOG_PROMISES | {"late-append"},
        notes=(
            "Nothing is written without a majority of the replicas, nothing is owned without a "
            "majority of the ZooKeeper servers too. A replica that has lost its disk must not come "
            "back under its name. An owner does not learn that it was replaced before it writes."
        ),
    )
    _writer_class: ClassVar[type[FileWriter]] = FileWriter

    def _begin(self, epoch: int, deadline: Deadline) -> tuple[Writer, int]:
        identity = f"{self.name}/{epoch}"
        while True:
            files, version = self._directory.files(deadline)
            if files and files[-1].epoch > epoch:
                raise NotDone("a later owner has taken the log over")
            if not files or files[-1].epoch < epoch:
                files = self._succeed(files, identity, epoch, deadline)
                try:
                    if not self._directory.change(files, version, deadline):
                        continue
                except Unanswered:  # it may have been written: the next look shows that
                    if deadline.passed:
                        raise
                    pause(deadline)
                    continue
            ours = files[-1]
            return self._writer(ours), ours.base

    def _writer(self, file: LogFile) -> Writer:
        return self._writer_class(file, file.writer, self._calls, self._directory)

    def _succeed(
        self, files: Sequence[LogFile], identity: str, epoch: int, deadline: Deadline
    ) -> list[LogFile]:
        """The list of files with the last one closed, and one of ours added.

        Raises:
            NotDone: no majority of the replicas sealed the last one in time.
        """
        base = 0
        closed = list(files)
        if files:
            length = self._length(self._seal(files[-1].name, deadline), files[-1].name, deadline)
            closed[-1] = files[-1]._replace(length=length)
            base = files[-1].base + length
        return [*closed, LogFile(f"file-{epoch}", identity, epoch, base)]

    def _seal(self, file: str, deadline: Deadline) -> list[list[Any]]:
        """Have a file sealed by a majority; their copies of it. Raises as ``_succeed``."""
        answers = self._calls.ask(lambda _: {"do": "seal", "file": file}, lambda *_: True, deadline)
        if len(answers) < self._calls.majority:
            raise NotDone(f"{file} could not be sealed")
        return [answer["entries"] for answer in answers.values()]

    def _length(self, copies: Sequence[list[Any]], file: str, deadline: Deadline) -> int:
        """The length of a sealed file; its entries are at a majority. Raises as ``_succeed``."""
        longest = max(copies, key=len)
        filled = self._calls.ask(
            lambda _: {"do": "fill", "file": file, "entries": longest},
            lambda _, answer: answer["is"] == "filled",
            deadline,
        )
        if len(filled) < self._calls.majority:
            raise NotDone(f"{file} could not be copied")
        return len(longest)

    # -- reading ----------------------------------------------------------------------------

    def _read(self, deadline: Deadline) -> list[Any]:
        while not deadline.passed:
            try:
                files, _ = self._directory.files(deadline)
                if not files:
                    raise NotDone("nobody has owned the log yet")
                last = self._open_file(files[-1], deadline)
                if last is not None:
                    return [*self._closed_files(files[:-1], deadline), *last]
            except Unanswered:
                pause(deadline)
        raise NotDone("no majority of the replicas agrees in time")

    def _open_file(self, file: LogFile, deadline: Deadline) -> list[Any] | None:
        """What a majority has of an open file; None if it is being sealed or written."""

        def agreed(given: Mapping[str, Message]) -> list[Any] | None:
            copies = [answer["entries"] for answer in given.values()]
            longest: list[Any] = max(copies, key=len, default=[])
            open_here = sum(not answer["sealed"] for answer in given.values())
            complete = sum(len(copy) == len(longest) for copy in copies)
            return longest if min(open_here, complete) >= self._calls.majority else None

        return agreed(
            self._calls.ask(
                lambda _: {"do": "show", "file": file.name},
                lambda *_: True,
                Deadline(min(LOOK_S, deadline.left() or 0.0)),
                lambda given: agreed(given) is not None,
            )
        )

    def _closed_files(self, files: Sequence[LogFile], deadline: Deadline) -> list[Any]:
        """The entries of closed files. Raises as ``_read``."""
        values: list[Any] = []
        for file in files:
            values += self._closed_file(file, deadline)
        return values

    def _closed_file(self, file: LogFile, deadline: Deadline) -> list[Any]:
        known = self._known.get(file.name)
        if known is None:
            length = file.length or 0
            answers = self._calls.ask(
                lambda _: {"do": "show", "file": file.name},
                lambda _, answer: len(answer["entries"]) >= length,
                deadline,
                bool,
            )
            if not answers:
                raise NotDone(f"no replica shows all of {file.name} in time")
            known = self._within(next(iter(answers.values()))["entries"], length)
            self._known[file.name] = known
        return known

    @cached_property
    def _known(self) -> dict[str, list[Any]]:
        """Closed files by name: they do not change any more."""
        return {}

    @staticmethod
    def _within(copy: Sequence[Any], length: int) -> list[Any]:
        """What belongs to the log of a copy of a closed file."""
        return list(copy[:length])

    # -- this client's replica --------------------------------------------------------------

    def repair(self, timeout: float) -> None:
        """Complete the copies of closed files; see ``OwnedLog``."""
        assert self.replica is not None
        deadline = Deadline(timeout)
        for file in self._directory.files(deadline)[0]:
            if file.length:
                self.replica.fill(file.name, self._closed_file(file, deadline))

    def on_disk(self, timeout: float) -> list[Any]:
        """All values of closed files on the disk, and of the open one what is there."""
        assert self.replica is not None
        files, _ = self._directory.files(Deadline(timeout))
        store, _ = self.replica.on_disk()
        return [value for file in files for value in store.copy(file.name).entries[: file.length]]
