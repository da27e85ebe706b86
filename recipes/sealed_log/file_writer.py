"""The writer of one file of a sealed log."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import Message
from rumpus.recipes.requests.retries import pause
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.sealed_log.log_directory import LogDirectory, LogFile
from rumpus.recipes.sealed_log.replica_calls import ReplicaCalls


class FileWriter:
    """Appends to a file of the log, at all replicas; a majority has to have each entry.

    A writer never puts two entries at one position: an entry whose outcome is unknown is sent again
    together with the next.

    Args:
        file: the file.
        identity: as whom it writes.
        calls: asks the replicas.
        directory: tells how long the file is once it has been sealed.
        entries: what the file has already.
    """

    def __init__(
        self,
        file: LogFile,
        identity: str,
        calls: ReplicaCalls,
        directory: LogDirectory,
        entries: Sequence[Any] = (),
    ) -> None:
        self._file = file
        self._identity = identity
        self._calls = calls
        self._directory = directory
        self._entries = list(entries)
        self._lengths: dict[str, int] = {}  # of the replicas' copies, at least
        self._refused = False

    def append(self, value: Any, deadline: Deadline) -> int:
        """Append a value; see ``recipes.sealed_log.owned_log.Writer``."""
        if self._refused:
            return self._open_last(value, deadline)
        at = len(self._entries)
        self._entries.append(value)
        answers = self._send(deadline)
        if self._taken(answers):
            return self._file.base + at
        if not self._is_refused(answers):
            raise OutcomeUnknown(f"no majority of the replicas has position {at}")
        self._refused = True
        return self._resolve(at, value, deadline)

    def _send(self, deadline: Deadline) -> dict[str, Message]:
        """Send to each replica what it lacks, until enough have all, or refuse."""
        file, until = self._file, len(self._entries)

        def question(replica: str) -> Message:
            at = self._lengths.get(replica, 0)
            return {
                "do": "append",
                "file": file.name,
                "writer": file.writer,
                "by": self._identity,
                "at": at,
                "entries": self._entries[at:until],
            }

        def is_last(replica: str, answer: Message) -> bool:
            if answer["is"] not in ("appended", "behind"):
                return True
            self._lengths[replica] = answer["length"]
            return bool(answer["is"] == "appended")

        return self._calls.ask(
            question, is_last, deadline, lambda given: self._taken(given) or self._is_refused(given)
        )

    def _taken(self, answers: Mapping[str, Message]) -> bool:
        return bool(sum(a["is"] == "appended" for a in answers.values()) >= self._calls.majority)

    def _is_refused(self, answers: Mapping[str, Message]) -> bool:
        """Whether so many have refused that no majority can take it."""
        return bool(sum(a["is"] != "appended" for a in answers.values()) >= self._calls.majority)

    def _resolve(self, at: int, value: Any, deadline: Deadline) -> int:
        """After a refusal: the sealed file's length tells whether the entry is in the log."""
        while True:
            with suppress(Unanswered):
                for file in self._directory.files(deadline)[0]:
                    if file.name == self._file.name and file.length is not None:
                        if at < file.length:
                            return self._file.base + at
                        return self._open_last(value, deadline)
            if deadline.passed:
                raise OutcomeUnknown("sealed, but nobody has written its length yet")
            pause(deadline)

    def _open_last(self, value: Any, deadline: Deadline) -> int:
        """Open the log's last file, as after an accident of our own; its replicas refuse us.

        Raises:
            NotDone: we are not its writer.
        """
        try:
            files, _ = self._directory.files(deadline)
        except Unanswered as error:
            raise NotDone("cannot tell which file is the last") from error
        last = files[-1]
        shown = self._calls.ask(
            lambda _: {"do": "show", "file": last.name}, lambda *_: True, deadline
        )
        entries: list[Any] = max((each["entries"] for each in shown.values()), key=len, default=[])
        again = FileWriter(last, self._identity, self._calls, self._directory, [*entries, value])
        if not self._taken(again._send(deadline)):
            raise NotDone(f"{last.name} is written by {last.writer}")
        return last.base + len(entries)
