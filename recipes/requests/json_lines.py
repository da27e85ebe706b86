"""Questions and answers between processes: one line of JSON each, over TCP.

A connection carries one question at a time. A connection that failed, or on which an answer was
late, is never used again, so that no late answer is mistaken for the answer to a later question.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from rumpus.recipes.outcomes import NotDone, OutcomeUnknown

Message = dict[str, Any]
Address = tuple[str, int]

IDLE_S: Final = 30.0
"""Seconds of silence after which a server drops a connection."""

_CHUNK: Final = 1 << 16


class Unheard(NotDone):
    """The question was never sent: no server has received it."""


class NoAnswer(OutcomeUnknown):
    """The question was sent, and no answer came: the server may act on it, even later, or never."""


def read_journal(journal: bytes, write: Callable[[bytes], None]) -> Iterator[Any]:
    """The records of a journal of JSON, one a line.

    A last line that is incomplete was never acknowledged: it is skipped, and ended by ``write``, so
    that the next record has a line of its own.
    """
    for line in journal.split(b"\n"):
        with suppress(ValueError):
            yield json.loads(line)
    if journal and not journal.endswith(b"\n"):
        write(b"\n")


class Caller:
    """Asks one server, over one connection that is opened when it is needed.

    Args:
        address: host and port.
        timeout: seconds to wait for a connection, and for each answer.
    """

    def __init__(self, address: Address, timeout: float) -> None:
        self._address = address
        self._timeout = timeout
        self._connection: _Lines | None = None

    def ask(self, question: Message) -> Message:
        """Put a question.

        Raises:
            Unheard: no connection could be made.
            NoAnswer: no answer came, or one that cannot be parsed.
        """
        if self._connection is None:
            try:
                self._connection = _Lines(
                    socket.create_connection(self._address, timeout=self._timeout)
                )
            except OSError as error:
                raise Unheard(f"{self._address}: {error}") from error
        try:
            self._connection.send(question)
            answer = self._connection.receive()
        except (OSError, ValueError) as error:
            self.close()
            raise NoAnswer(f"{self._address}: {error}") from error
        if answer is None:
            self.close()
            raise NoAnswer(f"{self._address}: hung up")
        return answer

    def close(self) -> None:
        """Hang up; the next question opens a connection anew."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def ask_once(address: Address, question: Message, timeout: float) -> Message:
    """Put one question over a connection of its own. Raises what ``Caller.ask`` does."""
    caller = Caller(address, timeout)
    try:
        return caller.ask(question)
    finally:
        caller.close()


class LineServer:
    """Answers whoever connects, each connection on a thread of its own.

    Args:
        host: where to listen, at any free port.
        answer: makes the answer to a question; called on many threads at once.
    """

    def __init__(self, host: str, answer: Callable[[Message], Message]) -> None:
        self._answer = answer
        self._closing = threading.Lock()
        self._connections: dict[_Lines, None] | None = {}
        self._listener = socket.create_server((host, 0))
        self.address: Address = self._listener.getsockname()[:2]
        threading.Thread(target=self._accept, name="accept", daemon=True).start()

    def close(self) -> None:
        """Accept no more, and hang up on everybody."""
        with self._closing:
            connections, self._connections = self._connections or {}, None
        for connection in connections:
            connection.hang_up()
        with suppress(OSError):  # the shutdown wakes up the thread that waits in ``accept``
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            threading.Thread(
                target=self._serve, args=(_Lines(connection),), name="serve", daemon=True
            ).start()

    def _serve(self, connection: "_Lines") -> None:
        with self._closing:
            if self._connections is None:
                connection.close()
                return
            self._connections[connection] = None
        connection.patience(IDLE_S)
        try:
            with suppress(OSError, ValueError):  # the caller is gone, or does not send JSON
                while (question := connection.receive()) is not None:
                    connection.send(self._answer(question))
        finally:
            connection.close()
            with self._closing:
                if self._connections is not None:
                    del self._connections[connection]


class _Lines:
    """A connection that carries lines of JSON."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connection
        self._held = bytearray()

    def patience(self, seconds: float) -> None:
        self._socket.settimeout(seconds)

    def send(self, message: Message) -> None:
        self._socket.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def receive(self) -> Message | None:
        """The next message, None when the other side has hung up.

        Raises:
            ValueError: what came is no message.
        """
        start = 0
        while (end := self._held.find(b"\n", start)) < 0:
            start = len(self._held)
            data = self._socket.recv(_CHUNK)
            if not data:
                return None
            self._held += data
        message = json.loads(self._held[:end])
        del self._held[: end + 1]
        if not isinstance(message, dict):
            raise ValueError(f"not a message: {message!r}")  # noqa: TRY004 - as json does
        return message

    def hang_up(self) -> None:
        """Shut the connection down from another thread; the thread that uses it closes it."""
        with suppress(OSError):  # the other side has already hung up
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()
