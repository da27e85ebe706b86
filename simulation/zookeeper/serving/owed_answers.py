"""What a server owes all its clients together, where that has a bound.

Real clients may ask for much and read nothing. Each may be owed a bounded number of bytes
(``Settings.most_owed``), but there may be many of them. So where there is a bound for all
(``Settings.most_owed_in_all``) requests wait for it, those of who has read most first:

- A connection that is owed nothing always gets one ordinary answer: who reads is not held up by
  those who do not.
- All else, and each multiRead, whose answer may be as long as 64 others, waits until there is room.
- While anybody waits, a connection whose client has read nothing for `STALLED` is reset.

ZooKeeper has no such bound, and runs out of memory.
"""

import logging
from collections.abc import Callable
from typing import Protocol

from rumpus.simulation.kernel.process import Process
from rumpus.simulation.network.transport import Transport

SECOND = 1_000_000_000
LOOKED_AT = 1 * SECOND
"""How often clients that do not read are looked for while anybody waits."""
STALLED = 10 * SECOND
"""How long a client may read nothing while others wait."""
LONGEST_ORDINARY = 1 << 20
"""Bytes that an answer which is not ready yet is taken to have: those of the longest znode."""

_log = logging.getLogger(__name__)


class Debtor(Protocol):
    """What is needed of a connection."""

    transport: Transport
    session: int
    written: int
    """Bytes that were written to the client."""

    def admit(self) -> None:
        """Read requests again, for which there may be room now."""


class _Seen:
    """How many bytes a client had not read at the last look, and since when it has read none."""

    __slots__ = ("since", "unsent")

    def __init__(self, unsent: int, since: int) -> None:
        self.unsent = unsent
        self.since = since


class OwedAnswers:
    """The sum of what is owed to all clients of a server, and the connections that wait for room.

    Args:
        process: the server's.
        most: bytes that are owed at most, apart from one ordinary answer for each connection.

    Attributes:
        expected: ordinary answers that are not ready yet; a long one counts as several.
    """

    def __init__(self, process: Process, most: int) -> None:
        self._process = process
        self._most = most
        self.expected = 0
        self._owed: dict[Debtor, _Seen] = {}
        """Connections whose clients have to read, also those that are closed already."""
        self._waiting: dict[Debtor, None] = {}
        self._looking = self._admitting = False

    def sent(self, connection: Debtor) -> None:
        """Something has been sent, and the client may not have read it."""
        if connection not in self._owed and (unsent := connection.transport.unsent()):
            self._owed[connection] = _Seen(unsent, self._now)

    def has_room(self, answers: int) -> bool:
        """Whether answers that count as so many may be owed too, and nobody waits for room."""
        if self._waiting and not self._admitting:
            return False
        return self._bytes() + answers * LONGEST_ORDINARY <= self._most

    def wait(self, connection: Debtor) -> None:
        """Have a connection read again once there may be room for what it asks."""
        if not self._waiting and not self._looking:
            for other, seen in self._owed.items():
                seen.unsent, seen.since = other.transport.unsent(), self._now
            self._looking = True
            self._later(LOOKED_AT, self._look)
        self._waiting.setdefault(connection)

    def left(self, connection: Debtor) -> None:
        """A connection has been closed; what it was sent may still be unread."""
        self._waiting.pop(connection, None)
        self.freed()

    def freed(self) -> None:
        """There may be room now: admit those that wait."""
        if self._waiting and not self._admitting:
            self._admitting = True
            self._later(0, self._admit)

    @property
    def _now(self) -> int:
        return self._process.simulator.now

    def _later(self, delay: int, callback: Callable[[], object]) -> None:
        self._process.call_later(delay, callback)

    def _bytes(self) -> int:
        for connection in [each for each in self._owed if not each.transport.unsent()]:
            del self._owed[connection]
        unsent = sum(connection.transport.unsent() for connection in self._owed)
        return unsent + self.expected * LONGEST_ORDINARY

    def _admit(self) -> None:
        waiting = sorted(self._waiting, key=_unread)
        self._waiting.clear()
        for connection in waiting:
            connection.admit()
        self._admitting = False

    def _look(self) -> None:
        self._looking = bool(self._waiting)
        if not self._looking:
            return
        self._later(LOOKED_AT, self._look)
        self._bytes()
        for connection, seen in list(self._owed.items()):
            unsent = connection.transport.unsent()
            if unsent < seen.unsent:
                seen.since = self._now
            seen.unsent = unsent
            if self._now - seen.since >= STALLED:
                _log.warning(
                    "session 0x%x: its client has not read %s bytes for %d s while others wait: "
                    "connection reset",
                    connection.session & (2**64 - 1),
                    f"{unsent:,}",
                    STALLED // SECOND,
                )
                del self._owed[connection]
                connection.transport.abort()
        self.freed()


def _unread(connection: Debtor) -> int:
    """The less, the more the client has read."""
    return connection.transport.unsent() - connection.written
