"""A replica's process: answers writers and readers, and keeps what it takes on its disk.

It serves both kinds of log: files that are sealed (``recipes.sealed_log.store_replica``) and one
log whose entries carry fencing tokens (``recipes.failover.replicated_log``).
"""

import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress

from kazoo.exceptions import ConnectionClosedError

from rumpus.recipes.failover.database import Files
from rumpus.recipes.failover.replicated_log import Refused, ReplicatedLog
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import LineServer, Message
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.sealed_log.log_directory import LogDirectory
from rumpus.recipes.sealed_log.store_replica import Behind, NotTheWriter, Sealed, StoreReplica

JOURNAL = "journal"
TOKEN_JOURNAL = "token-journal"  # noqa: S105 - a file's name
"""The names of the journals of the two kinds of log."""

REGISTER_S = 1.0
"""Seconds that one try to register may take."""


class ReplicaServer:
    """One replica; it serves as soon as it is made, and registers its address.

    Args:
        name: the replica's unique name, the same after a restart.
        host: the address at which it listens.
        files: its disk.
        directory: where it registers.
        replica_class: how it keeps files.
        log_class: how it keeps the log with tokens.
    """

    def __init__(
        self,
        name: str,
        host: str,
        files: Files,
        directory: LogDirectory,
        replica_class: type[StoreReplica] = StoreReplica,
        log_class: type[ReplicatedLog] = ReplicatedLog,
    ) -> None:
        self.name = name
        self._disk = files
        self._directory = directory
        self._replica_class = replica_class
        self._log_class = log_class
        self._changed = threading.Condition()
        self._closed = False
        self._deaf: dict[str, float] = {}  # callers that are not heard, and until when
        self.store, self.log = self._load()
        self._server = LineServer(host, self._answer)
        threading.Thread(target=self._register, name="register", daemon=True).start()

    def restart(self) -> None:
        """Forget all that is in memory, and go on with what is on the disk."""
        with self._changed:
            self.store, self.log = self._load()

    def on_disk(self) -> tuple[StoreReplica, ReplicatedLog]:
        """What a reader of the disk would find, whatever is in memory."""
        with self._changed:
            return self._load()

    def cut_off(self, callers: Collection[str], seconds: float) -> None:
        """Hear nothing from these callers for a time; what they ask is heard after that."""
        with self._changed:
            self._deaf.update(dict.fromkeys(callers, time.monotonic() + seconds))

    def fill(self, file: str, entries: list[object]) -> None:
        """Complete the copy of a sealed file. Raises what ``StoreReplica.fill`` does."""
        with self._changed:
            self.store.seal(file)
            self.store.fill(file, entries)

    def adopt(self, token: int, entries: list[tuple[int, object]]) -> None:
        """Complete the copy of the log with tokens. Raises what ``ReplicatedLog.accept`` does."""
        with self._changed:
            self.log.accept(token, 0, 0, entries)

    def close(self) -> None:
        """Stop; nothing is written to the disk once this returns."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._server.close()

    def _load(self) -> tuple[StoreReplica, ReplicatedLog]:
        disk = self._disk
        return (
            self._replica_class(disk.read(JOURNAL), lambda data: disk.append(JOURNAL, data)),
            self._log_class(
                disk.read(TOKEN_JOURNAL), lambda data: disk.append(TOKEN_JOURNAL, data)
            ),
        )

    def _register(self) -> None:
        while not self._closed:
            with suppress(Unanswered, ConnectionClosedError):
                self._directory.register(self.name, self._server.address, Deadline(REGISTER_S))
                return
            time.sleep(REGISTER_S / 10)

    def _answer(self, question: Message) -> Message:
        with self._changed:
            while not self._closed and (left := self._deafness(question["from"])) > 0:
                self._changed.wait(left)
            if self._closed or question["to"] != self.name:
                return {"is": "somebody-else"}  # another replica had our address before
            answer: Callable[[Message], Message] = getattr(self, f"_{question['do']}")
            try:
                return answer(question)
            except Sealed:
                return {"is": "sealed"}
            except NotTheWriter:
                return {"is": "not-the-writer"}
            except Refused as refused:
                return {"is": "refused", "promised": refused.promised}
            except Behind:
                return {"is": "behind", "length": len(self.store.copy(question["file"]).entries)}
            except NotDone as error:
                return {"is": "not-done", "why": str(error)}

    def _deafness(self, caller: str) -> float:
        return self._deaf.get(caller, 0.0) - time.monotonic()

    # -- files that are sealed --------------------------------------------------------------

    def _append(self, question: Message) -> Message:
        length = self.store.append(
            question["file"],
            question["writer"],
            question["by"],
            question["at"],
            question["entries"],
        )
        return {"is": "appended", "length": length}

    def _seal(self, question: Message) -> Message:
        return {"is": "sealed", "entries": list(self.store.seal(question["file"]).entries)}

    def _fill(self, question: Message) -> Message:
        self.store.fill(question["file"], question["entries"])
        return {"is": "filled"}

    def _show(self, question: Message) -> Message:
        copy = self.store.copy(question["file"])
        return {"is": "shown", "sealed": copy.sealed, "entries": list(copy.entries)}

    # -- the log with tokens ----------------------------------------------------------------

    def _promise(self, question: Message) -> Message:
        self.log.promise(question["token"])
        return {**self._show_log(question), "is": "promised"}

    def _accept(self, question: Message) -> Message:
        at = question["at"]
        entries = [(token, value) for token, value in question["entries"]]
        if self.log.accept(question["token"], at, question["after"], entries):
            return {"is": "accepted", "length": at + len(entries)}
        return {"is": "behind", "length": len(self.log.entries)}

    def _show_log(self, _question: Message) -> Message:
        return {"is": "shown", "promised": self.log.promised, "entries": list(self.log.entries)}
