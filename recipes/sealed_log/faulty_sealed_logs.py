"""Logs with one known mistake each in how former owners are refused."""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final

from rumpus.recipes.failover.replicated_log import Entry
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.sealed_log.file_writer import FileWriter
from rumpus.recipes.sealed_log.log_directory import LogFile
from rumpus.recipes.sealed_log.owned_log import Writer
from rumpus.recipes.sealed_log.replica_calls import ReplicaCalls
from rumpus.recipes.sealed_log.sealed_log import SealedLog
from rumpus.recipes.sealed_log.store_replica import FileCopy, StoreReplica
from rumpus.recipes.sealed_log.token_log import TokenWriter

SEAL_S: Final = 2.0
"""Seconds that a seal of which nobody waits for the end may take."""

QUEUED_S: Final = 0.3
"""Seconds until a seal is sent that is left to a background task."""

REPEAT_S: Final = 0.1
"""Seconds after which ``RepeatsAppend`` appends once more."""


class SealsOne(SealedLog):
    def _seal(self, file: str, deadline: Deadline) -> list[list[Any]]:
        every, self._calls = (
            self._calls,
            ReplicaCalls(self.name, self._calls.replicas[:1], self._directory),
        )
        try:
            return super()._seal(file, deadline)
        finally:
            self._calls = every

    def _length(self, copies: Sequence[list[Any]], _file: str, _deadline: Deadline) -> int:
        return len(copies[0])


class _ShowsFirst(SealedLog):
    """Takes the length from copies that are not sealed."""

    def _seal(self, file: str, deadline: Deadline) -> list[list[Any]]:
        answers = self._calls.ask(lambda _: {"do": "show", "file": file}, lambda *_: True, deadline)
        if len(answers) < self._calls.majority:
            raise NotDone(f"{file} could not be read")
        return [answer["entries"] for answer in answers.values()]

    def _length(self, copies: Sequence[list[Any]], _file: str, _deadline: Deadline) -> int:
        return max(map(len, copies))

    def _really_seal(self, file: str) -> None:
        with suppress(NotDone):
            super()._seal(file, Deadline(SEAL_S))


class SealNotAwaited(_ShowsFirst):
    def _seal(self, file: str, deadline: Deadline) -> list[list[Any]]:
        def later() -> None:
            time.sleep(QUEUED_S)
            self._really_seal(file)

        copies = super()._seal(file, deadline)
        threading.Thread(target=later, name="seal", daemon=True).start()
        return copies


class _SealsLater(FileWriter):
    """Has its predecessor's file sealed once it has written for the first time."""

    seal: Any = None

    def append(self, value: Any, deadline: Deadline) -> int:
        at = super().append(value, deadline)
        if self.seal is not None:
            self.seal()
            self.seal = None
        return at


class WritesFirst(_ShowsFirst):
    _writer_class: ClassVar[type[FileWriter]] = _SealsLater
    _former = ""

    def _seal(self, file: str, deadline: Deadline) -> list[list[Any]]:
        self._former = file
        return super()._seal(file, deadline)

    def _writer(self, file: LogFile) -> Writer:
        writer = super()._writer(file)
        former = self._former
        if former and isinstance(writer, _SealsLater):
            writer.seal = lambda: self._really_seal(former)
        return writer


class LengthOfOne(SealedLog):
    def _length(self, copies: Sequence[list[Any]], file: str, deadline: Deadline) -> int:
        return super()._length(copies[:1], file, deadline)


class AppendsAfterSeal(StoreReplica):
    @staticmethod
    def _is_closed(_copy: FileCopy) -> bool:
        return False


class ForgetsSeal(StoreReplica):
    def _record_seal(self, _file: str) -> None:
        """Nothing: the seal is in memory only."""


class WriterUnchecked(StoreReplica):
    @staticmethod
    def _may_write(_copy: FileCopy, _by: str) -> bool:
        return True


class RepeatsAppend(FileWriter):
    def append(self, value: Any, deadline: Deadline) -> int:
        with suppress(OutcomeUnknown):
            return super().append(value, Deadline(min(REPEAT_S, deadline.left() or 0.0)))
        return super().append(value, deadline)


class ReadsPastSeal(SealedLog):
    @staticmethod
    def _within(copy: Sequence[Any], _length: int) -> list[Any]:
        return list(copy)


class ReadsByWriter(SealedLog):
    def _closed_files(self, files: Sequence[LogFile], deadline: Deadline) -> list[Any]:
        return super()._closed_files(sorted(files, key=lambda file: file.writer), deadline)


class ReadsOne(SealedLog):
    def _open_file(self, file: LogFile, deadline: Deadline) -> list[Any] | None:
        shown: Mapping[str, Any] = self._calls.ask(
            lambda _: {"do": "show", "file": file.name}, lambda *_: True, deadline, bool
        )
        return next((answer["entries"] for answer in shown.values()), None)


class NeverRepairs(SealedLog):
    def repair(self, timeout: float) -> None:
        """Nothing: what a replica has missed it does not get any more."""


class AdoptsOne(TokenWriter):
    @staticmethod
    def _best(logs: Sequence[list[Entry]]) -> list[Entry]:
        return logs[0]
