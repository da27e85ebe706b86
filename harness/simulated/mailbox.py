"""The driver's mailbox in a simulated world: it waits on virtual time."""

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rumpus.harness.simulated.waiting import park
from rumpus.simulation.kernel.simulator import Simulator

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Task


class SimMailbox:
    """Fulfils ``clients.mailbox.Mailbox``; messages are handed over as the objects they are."""

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
        """Wait for what this client says, too."""
        self._watched[client] = None
        if client in self._speakers:
            self._wake()

    def unwatch(self, client: int) -> None:
        """Not any more; what it has said is forgotten."""
        del self._watched[client]
        self._speakers.pop(client, None)

    def heard(self, client: int, *, urgent: bool = True) -> None:
        """A client has said something, or its channel has ended; told by ``SimWorkers``.

        What is not urgent wakes nobody: it is found when the driver next stops waiting.
        """
        self._speakers[client] = None
        if urgent and client in self._watched:
            self._wake()

    def wait(self, seconds: float) -> list[int]:
        """The clients that have said something, at the latest after so many virtual seconds."""
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
        """What has been put, in order, until nothing is left."""
        while self._messages:
            yield self._messages.popleft()

    def close(self) -> None:
        """Nothing was lent."""

    def _wake(self) -> None:
        if self._reader is not None:
            self._reader.wake()
