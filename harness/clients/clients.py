"""The client processes of a run, as something that can be broken, and who of them matters."""

from typing import Literal, Protocol

from rumpus.harness.simulated_faults import ClientMachines

ClientState = Literal["running", "paused", "dead"]


class Clients(Protocol):
    """One process a client, numbered from 0. All calls block until done."""

    count: int
    machines: ClientMachines | None
    """Their insides, where these can be troubled; None with real processes."""

    def pause(self, client: int) -> None:
        """Freeze a client's process (SIGSTOP)."""

    def resume(self, client: int) -> None:
        """Unfreeze it (SIGCONT)."""

    def kill(self, client: int) -> None:
        """Kill its process (SIGKILL): its open operation ends unknown, its session lingers."""

    def restart(self, client: int) -> None:
        """Start a killed client anew, as a new process with a new session."""

    def state(self, client: int) -> ClientState:
        """What the operating system says of the process."""


class Roles(Protocol):
    """Who plays which part in the recipe at this moment, as far as the control process saw."""

    def holder(self) -> int | None:
        """The client that was granted last and has not begun to let go; None if nobody."""

    def next_in_line(self) -> int | None:
        """The client that has been waiting longest; None if nobody waits."""
