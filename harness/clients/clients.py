"""The client processes of a run, as targets of faults, and their roles in the recipe."""

from typing import Literal, Protocol

from rumpus.harness.simulated_faults import ClientMachines, ClientThreads

ClientState = Literal["running", "paused", "dead"]


class Clients(Protocol):
    """One process per client, numbered from 0. All calls block until done."""

    count: int
    machines: ClientMachines | None
    """What injects faults into simulated processes; None with real ones."""
    threads: ClientThreads | None
    """The processes' threads, where one can be stopped by itself; else None."""

    def pause(self, client: int) -> None:
        """Freeze a client's process (SIGSTOP)."""

    def resume(self, client: int) -> None:
        """Unfreeze it (SIGCONT)."""

    def kill(self, client: int) -> None:
        """Kill its process (SIGKILL): its open operation ends unknown, its session only expires."""

    def restart(self, client: int, *, wait: bool = True) -> None:
        """Start a killed client anew, as a new process with a new session.

        Args:
            client: its number.
            wait: whether to wait until it is open; not for ever.
        """

    def state(self, client: int) -> ClientState:
        """What the operating system says of the process."""


class Roles(Protocol):
    """Which client has which role in the recipe now, as far as the control process has seen."""

    def holder(self) -> int | None:
        """The holder that was granted last and has not begun its release; None if nobody holds."""

    def next_in_line(self) -> int | None:
        """The client that has been waiting longest; None if nobody waits."""
