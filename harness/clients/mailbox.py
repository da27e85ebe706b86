"""Where the driver waits for messages from clients and from other threads.

There are two kinds. ``StreamMailbox`` waits on sockets and a pipe, in real time; the simulation's
mailbox waits in virtual time (``harness.simulated.workers``).
"""

import contextlib
import os
import queue
import selectors
import socket
import threading
from collections.abc import Iterator
from typing import Any, Protocol


class Mailbox(Protocol):
    """What the driver, the one thread that reads it, needs."""

    def put(self, message: Any) -> None:
        """Leave a message for the driver; from any thread, also after ``close``."""

    def watch(self, client: int, stream: Any) -> None:
        """Wait for messages on this client's channel, too."""

    def unwatch(self, client: int) -> None:
        """Wait for this client no more."""

    def wait(self, seconds: float) -> list[int]:
        """Wait until a client or a thread has sent something, at most so long.

        Returns:
            The clients that have.
        """

    def messages(self) -> Iterator[Any]:
        """Takes out the messages that were put, in order, until none is left."""

    def close(self) -> None:
        """Free what it has open."""


class StreamMailbox:
    """For clients that are processes: their channels are sockets."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._streams: dict[int, socket.socket] = {}
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._closing = threading.Lock()
        self._closed = False

    def put(self, message: Any) -> None:
        """Leave a message and wake the driver."""
        self._messages.put(message)
        with self._closing:
            if not self._closed:
                with contextlib.suppress(BlockingIOError):  # the pipe is full of wake-ups already
                    os.write(self._wake_write, b"x")

    def watch(self, client: int, stream: socket.socket) -> None:
        """Wait for this client's channel, too."""
        self._streams[client] = stream
        self._selector.register(stream, selectors.EVENT_READ, client)

    def unwatch(self, client: int) -> None:
        """Wait for this client no more."""
        self._selector.unregister(self._streams.pop(client))

    def wait(self, seconds: float) -> list[int]:
        """The clients whose channels can be read, at the latest after so many seconds."""
        speakers = []
        for key, _ in self._selector.select(seconds):
            if key.data is None:
                self._drain_wake_ups()
            else:
                speakers.append(key.data)
        return speakers

    def messages(self) -> Iterator[Any]:
        """Takes out the messages that were put, in order, until none is left."""
        while not self._messages.empty():
            yield self._messages.get()

    def close(self) -> None:
        """Close the pipe and the selector."""
        with self._closing:
            self._closed = True
        self._selector.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _drain_wake_ups(self) -> None:
        with contextlib.suppress(BlockingIOError):  # the pipe is empty
            while os.read(self._wake_read, 4096):
                pass
