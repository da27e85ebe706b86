"""Logs with one known mistake each in how former owners are refused."""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final

from rumpus.recipes.contests.faulty_calls import REST_S
from rumpus.recipes.failover.replicated_log import Entry, merit
from rumpus.recipes.mistake import given, made
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.sealed_log.file_writer import FileWriter
from rumpus.recipes.sealed_log.log_directory import LogFile
from rumpus.recipes.sealed_log.owned_log import Place, Writer
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
        made(file)
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
        made(file)
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
        if len(copies[0]) < max(map(len, copies)):
            made(file)
        return super()._length(copies[:1], file, deadline)


class AppendsAfterSeal(StoreReplica):
    @staticmethod
    def _is_closed(copy: FileCopy) -> bool:
        if copy.sealed:
            made(copy.writer)
        return False


class ForgetsSeal(StoreReplica):
    def _record_seal(self, file: str) -> None:
        """Nothing: the seal is in memory only."""
        made(file)


class WriterUnchecked(StoreReplica):
    @staticmethod
    def _may_write(copy: FileCopy, by: str) -> bool:
        if by != copy.writer:
            made(by, copy.writer)
        return True


class RepeatsAppend(FileWriter):
    def append(self, value: Any, deadline: Deadline) -> int:
        with suppress(OutcomeUnknown):
            return super().append(value, Deadline(min(REPEAT_S, deadline.left() or 0.0)))
        made(value)
        return super().append(value, deadline)


class ReadsPastSeal(SealedLog):
    @staticmethod
    def _within(copy: Sequence[Any], length: int) -> list[Any]:
        if len(copy) > length:
            made()
        return list(copy)


class ReadsByWriter(SealedLog):
    def _closed_files(self, files: Sequence[LogFile], deadline: Deadline) -> list[Any]:
        by_writer = sorted(files, key=lambda file: file.writer)
        return super()._closed_files(given(by_writer, files), deadline)


class ReadsOne(SealedLog):
    def _open_file(self, file: LogFile, deadline: Deadline) -> list[Any] | None:
        made(file.name)
        shown: Mapping[str, Any] = self._calls.ask(
            lambda _: {"do": "show", "file": file.name}, lambda *_: True, deadline, bool
        )
        return next((answer["entries"] for answer in shown.values()), None)


class RestsAfterTimeout(SealedLog):
    def take_over(self, timeout: float) -> Place:
        try:
            return super().take_over(timeout)
        except (NotDone, OutcomeUnknown):
            made(own=True)
            time.sleep(REST_S)
            raise


class NeverRepairs(SealedLog):
    def repair(self, timeout: float) -> None:
        """Nothing: what a replica has missed it does not get any more."""
        made(own=True)


class AdoptsOne(TokenWriter):
    @staticmethod
    def _best(logs: Sequence[list[Entry]]) -> list[Entry]:
        if merit(logs[0]) < max(map(merit, logs)):
            made()
        return logs[0]
