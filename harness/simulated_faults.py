"""What only simulated machines and networks suffer on command.

Power, disks, clocks, threads and single requests.

An ensemble, clients and links that offer it say so by attributes of these types; where they are
None, faults that need them are refused by name (``nemesis.registry.require``).
"""

from collections.abc import Iterable
from typing import Literal, Protocol

import msgspec

DiskTrouble = Literal["slow", "full", "lying"]
"""``slow``: every fsync takes fifty times as long. ``full``: nothing more can be written, so that a
server ends. ``lying``: fsync reports success and keeps nothing safe."""

RequestAction = Literal["drop-reply", "hold-reply", "cut-before", "cut-after"]
"""What is done about a request: its reply is swallowed and the connection reset; its reply, and all
after it, is held back for a while; the connection is reset before it passes; or just after."""


class RequestTrigger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is done about one request of a client, and which.

    Args:
        action: what is done.
        request: kind of request, a name of ``harness.links.zookeeper_frames.REQUESTS``.
        number: which one of that kind, counted over all of a client's links from now on; 1: the
            next.
        milliseconds: for how long ``hold-reply`` holds; healing ends it, too.
    """

    action: RequestAction
    request: str = "create"
    number: int = 1
    milliseconds: float = 1000.0


class ArmedTrigger(Protocol):
    """A trigger that waits for its request."""

    acted: int | None
    """When it acted, in monotonic nanoseconds; None: not yet."""

    def withdraw(self) -> None:
        """Take it away, whether it has acted or not."""


class Machines(Protocol):
    """The machines that servers run on."""

    def power_off(self, node: str) -> None:
        """Cut the power: the server is gone, and so is what was not synced, or part of it."""

    def trouble_disk(self, node: str, trouble: DiskTrouble) -> None:
        """Let a disk have this trouble, in place of any earlier one."""

    def disk_trouble(self, node: str) -> DiskTrouble | None:
        """What is wrong with a disk now."""

    def mend_disk(self, node: str) -> None:
        """End it."""

    def skew_clock(self, node: str, *, step: float, rate: float) -> None:
        """Set the wall clock forward by seconds, and have both clocks run at this rate."""

    def clock_rate(self, node: str) -> float:
        """How fast its clocks run; 1: right."""

    def delay_replication(self, node: str, seconds: float) -> None:
        """Have what other servers send to a server arrive so much later; 0: no later than ever."""

    def replication_delay(self, node: str) -> float:
        """By how many seconds it arrives later now."""

    def applied(self, node: str) -> int:
        """The zxid of the last transaction that a server has applied; 0: it has never run."""


class ClientMachines(Protocol):
    """The insides of client processes."""

    def stall(self, client: int, choice: float) -> str:
        """Keep one of its threads from running; which one.

        Args:
            client: its number.
            choice: from 0 to below 1, decides which.
        """

    def unstall(self, client: int) -> None:
        """Let all its threads run again."""

    def stalled(self, client: int) -> str | None:
        """Which of its threads does not run."""

    def skew_clock(self, client: int, *, step: float, rate: float) -> None:
        """Set its wall clock forward by seconds, and have its clocks run at this rate."""

    def clock_rate(self, client: int) -> float:
        """How fast its clocks run; 1: right."""


class TriggerLinks(Protocol):
    """Links on which triggers can be armed."""

    def arm(
        self, client: int, trigger: RequestTrigger, nodes: Iterable[str] | None = None
    ) -> ArmedTrigger:
        """Arm a trigger for a client, on its links to some servers (all by default).

        Raises:
            ValueError: no such kind of request, or a number below 1.
        """
