"""Faults that only simulated machines and networks can be given.

They concern clocks, delays and threads.

An ensemble, clients and links that support them have attributes of these types; where an attribute
is None, faults that need it are refused by name (``nemesis.registry.require``).
"""

from typing import Protocol

from rumpus.harness.links.triggers import ArmedTrigger, FrameSeen


class Machines(Protocol):
    """The machines that servers run on."""

    def skew_clock(self, node: str, *, step: float, rate: float) -> None:
        """Set the wall clock ``step`` seconds forward; both clocks then run at this rate."""

    def clock_rate(self, node: str) -> float:
        """How fast its clocks run; 1: at the right speed."""

    def reseed(self, number: int) -> None:
        """Draw the world's random choices anew from now on; a number gives a future."""


class ClientThreads(Protocol):
    """The threads of client processes, where one can be stopped while the others run."""

    def stall(self, client: int, choice: float) -> str:
        """Keep one of the client's threads from running; returns which one.

        Args:
            client: its number.
            choice: from 0 to below 1, decides which.
        """

    def unstall(self, client: int) -> None:
        """Let all its threads run again."""

    def stalled(self, client: int) -> str | None:
        """Which of its threads is stalled; None if none is."""


class ClientMachines(ClientThreads, Protocol):
    """Client processes whose threads and clocks can be given faults."""

    def hold_back(self, client: int, number: int, seconds: float) -> ArmedTrigger:
        """Keep the client's thread from running for a while that is the n-th to run from now on.

        The harness's own threads do not count.

        Args:
            client: its number.
            number: which switch; 1: the next.
            seconds: for how long.
        """

    def switches(self) -> list[FrameSeen]:
        """The threads of all clients that were to run since this was first called."""

    def skew_clock(self, client: int, *, step: float, rate: float) -> None:
        """Set its wall clock ``step`` seconds forward; its clocks then run at this rate."""

    def clock_rate(self, client: int) -> float:
        """How fast its clocks run; 1: at the right speed."""
