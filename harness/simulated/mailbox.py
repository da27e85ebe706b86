"""The driver's mailbox in a simulated world: waiting takes virtual time."""

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rumpus.harness.simulated.waiting import park
from rumpus.simulation.kernel.simulator import Simulator

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Task


class SimMailbox:
    """Implements ``clients.mailbox.Mailbox``; messages are passed as objects, not serialised."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._messages: deque[Any] = deque()
        self._watched: dict[int, None] = {}
        self._speakers: dict[int, None] = {}
        self._reader: Task | None = None

    def put(self, message: Any) -> None:
        """Leave a message and wake the driver."""
        self._messages.append(message)
        self._wake()

    def watch(self, client: int, stream: Any) -> None:  # noqa: ARG002 - there are no streams here
        """Let ``wait`` return also when this client has said something."""
        self._watched[client] = None
        if client in self._speakers:
            self._wake()

    def unwatch(self, client: int) -> None:
        """Stop watching this client; that it has said something is forgotten."""
        del self._watched[client]
        self._speakers.pop(client, None)

    def heard(self, client: int, *, urgent: bool = True) -> None:
        """Note that a client has said something or its channel has ended; called by ``SimWorkers``.

        Unless it is urgent, the driver is not woken: it finds out when it next stops waiting.
        """
        self._speakers[client] = None
        if urgent and client in self._watched:
            self._wake()

    def wait(self, seconds: float) -> list[int]:
        """Wait until a watched client or a message is there, at most so many virtual seconds.

        Returns:
            The watched clients that have said something.
        """
        if seconds > 0 and not self._messages and self._speakers.keys().isdisjoint(self._watched):
            self._reader = self._simulator.current
            try:
                park(self._simulator, seconds, "clients and messages")
            finally:
                self._reader = None
        speakers = [client for client in self._speakers if client in self._watched]
        for client in speakers:
            del self._speakers[client]
        return speakers

    def messages(self) -> Iterator[Any]:
        """Take out all messages that were put, in order."""
        while self._messages:
            yield self._messages.popleft()

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _wake(self) -> None:
        if self._reader is not None:
            self._reader.wake()
