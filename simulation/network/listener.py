"""Listeners: where a process accepts connections."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rumpus.simulation.kernel.process import Process
    from rumpus.simulation.network.transport import Receiver, Transport


class Listener:
    """Accepts connections on a port; made by ``Network.listen``.

    Args:
        process: the process that listens.
        address: host and port.
        accept: called in the process for each connection; returns its receiver.
        forget: called when the listener is closed.
    """

    __slots__ = ("_forget", "accept", "address", "closed", "process")

    def __init__(
        self,
        process: "Process",
        address: tuple[str, int],
        accept: "Callable[[Transport], Receiver]",
        forget: "Callable[[Listener], None]",
    ) -> None:
        self.process = process
        self.address = address
        self.accept = accept
        self.closed = False
        self._forget = forget

    def close(self) -> None:
        """Accept no more; connections that were accepted stay."""
        if not self.closed:
            self.closed = True
            self._forget(self)

    def end_with_process(self) -> None:
        """The program has died."""
        self.close()

    def vanish(self) -> None:
        """The host has lost power."""
        self.close()
