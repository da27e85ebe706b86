"""A server that goes on answering, whatever its clients do with their connections.

A client can ask for a page and not read it, ask for half a page, or for nothing at all. Each such
connection takes memory, and a place among those that are served at once. So the places are
bounded, and a client loses its own when it has neither read nor asked for some time.
"""

import asyncio
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS: Final = 100
"""How many connections are served at once; further ones are answered that it is too busy."""

PATIENCE_S: Final = 10.0
"""Seconds in which a client has to read what is on its way to it, or to ask for something."""


def bounded(app: Any, *, most: int = MOST_CONNECTIONS, patience: float = PATIENCE_S) -> Any:
    """The server of an application, as uvicorn has it.

    Args:
        app: the application.
        most: how many connections are served at once.
        patience: seconds after which a client is dropped that neither reads nor asks.
    """
    config = uvicorn.Config(
        app,
        http=type("PatientConnection", (_Connection,), {"patience": patience}),
        ws="none",
        log_level="error",  # a line for each refused connection would be of no use
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=2,
        limit_concurrency=most,
    )
    return uvicorn.Server(config)


class _Connection(H11Protocol):
    """A connection that is cut when its client does nothing."""

    patience = PATIENCE_S
    _unread: asyncio.TimerHandle | None = None
    _unasked: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        # With no allowance `pause_writing` tells of everything that a client has not read.
        transport.set_write_buffer_limits(high=0)
        self._wait_for_request(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        for timer in (self._unread, self._unasked):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read: cut it off if it goes on like that."""
        super().pause_writing()
        self._wait_for_reading(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """The client has read everything."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def _wait_for_reading(self, size: int) -> None:
        self._unread = self.loop.call_later(self.patience, self._look_at_reading, size)

    def _look_at_reading(self, before: int) -> None:
        """Cut off a client that has read nothing since the last look.

        Args:
            before: how many bytes were on their way at the last look.
        """
        size = self.transport.get_write_buffer_size()
        if size < before:
            self._wait_for_reading(size)
        else:
            # To close it would wait for the client to read the rest.
            self.transport.abort()

    def _wait_for_request(self, last: Any) -> None:
        """Cut off a client that has asked for nothing since the last look, and waits for nothing.

        Args:
            last: the request that there was at the last look.
        """
        if self._unasked is not None and self.cycle is last and _is_over(last):
            self.transport.abort()
            return
        self._unasked = self.loop.call_later(self.patience, self._wait_for_request, self.cycle)


def _is_over(cycle: Any) -> bool:
    return cycle is None or bool(cycle.response_complete)
