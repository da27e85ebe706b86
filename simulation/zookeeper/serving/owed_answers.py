"""What a server owes all its clients together, where that has a bound.

Real clients may ask for much and read nothing. Each may be owed a bounded number of bytes
(``Settings.most_owed``), but there may be many of them. So where there is a bound for all
(``Settings.most_owed_in_all``) requests wait for it, those of who has read most first:

- All bytes count that clients have not taken, wherever the simulated network keeps them.
- A connection that is owed little always gets a short answer: who asks for little is not held up by
  those who do not read. All else waits until there is room.
- While anybody waits, a connection whose client has read nothing for `STALLED` is reset.
- What is sent without being asked for (watch events), or is longer than was foreseen, counts when
  it is sent: who is owed more than `LITTLE` is reset then if all are owed too much.

ZooKeeper has no such bound, and runs out of memory.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

from rumpus.simulation.kernel.process import Process
from rumpus.simulation.network.transport import Transport

SECOND = 1_000_000_000
LOOKED_AT = SECOND // 4
"""How often what clients have read is looked at while any is owed something."""
ADMITTED_AFTER = SECOND // 100
"""How long after something was freed those that wait are admitted."""
STALLED = 5 * SECOND
"""How long a client may read nothing while others wait: less than the two thirds of a usual session
after which a client that waits gives up its connection."""
LONGEST_ORDINARY = 1 << 20
"""Bytes that an answer which is not ready yet is taken to have: those of the longest znode."""
LITTLE = 16 * 1024
"""Bytes that any client may be owed."""

_log = logging.getLogger(__name__)


class Debtor(Protocol):
    """What is needed of a connection."""

    transport: Transport
    session: int
    written: int
    """Bytes that were written to the client."""

    def admit(self) -> None:
        """Read requests again, for which there may be room now."""

    def still_waits(self) -> None:
        """It goes on waiting, and its client may have nothing to say for that."""


class _Seen:
    """How many bytes a client had taken at the last look, and since when it has taken none."""

    __slots__ = ("since", "taken")

    def __init__(self, taken: int, since: int) -> None:
        self.taken = taken
        self.since = since


class OwedAnswers:
    """The sum of what is owed to all clients of a server, and the connections that wait for room.

    Args:
        process: the server's.
        most: bytes that are owed at most, apart from `LITTLE` for each connection.

    Attributes:
        expected: ordinary answers that are not ready yet; a long one counts as several.
    """

    def __init__(self, process: Process, most: int) -> None:
        self._process = process
        self._most = most
        self.expected = 0
        self._owed: dict[Debtor, _Seen] = {}
        """Connections whose clients have to read, also those that are closed already."""
        self._bytes = 0
        """What they are owed: it may be less by what was read since it was counted."""
        self._counted_at = -1
        self._waiting: dict[Debtor, None] = {}
        self._looking = self._admitting = False

    def sent(self, connection: Debtor, size: int) -> None:
        """So many bytes have been sent, and the client may not have read them."""
        self._bytes += size
        if connection not in self._owed:
            taken = connection.written - connection.transport.untaken()
            self._owed[connection] = _Seen(taken, self._now)
        if not self._looking:
            self._looking = True
            self._later(LOOKED_AT, self._look)
        if self._exceeds(0) and connection.transport.untaken() > LITTLE:
            self._later(0, partial(self._reset, connection, "all clients are owed too much"))

    def has_room(self, answers: int) -> bool:
        """Whether answers that count as so many may be owed too, and nobody waits for room."""
        if self._waiting and not self._admitting:
            return False
        return not self._exceeds(answers + self.expected)

    def wait(self, connection: Debtor) -> None:
        """Have a connection read again once there may be room for what it asks."""
        self._waiting.setdefault(connection)

    def left(self, connection: Debtor) -> None:
        """A connection has been closed; what it was sent may still be unread."""
        self._waiting.pop(connection, None)
        self.freed()

    def freed(self) -> None:
        """There may be room now: admit those that wait."""
        if self._waiting and not self._admitting:
            self._admitting = True
            self._later(ADMITTED_AFTER, self._admit)

    @property
    def _now(self) -> int:
        return self._process.simulator.now

    def _later(self, delay: int, callback: Callable[[], object]) -> None:
        self._process.call_later(delay, callback)

    def _exceeds(self, answers: int) -> bool:
        """Whether the bound would be exceeded by so many ordinary answers more."""
        most = self._most - answers * LONGEST_ORDINARY
        if self._bytes > most and self._counted_at != self._now:
            self._count()
        return self._bytes > most

    def _count(self) -> None:
        self._counted_at = self._now
        self._bytes = 0
        for connection, seen in list(self._owed.items()):
            untaken = connection.transport.untaken()
            if not untaken:
                del self._owed[connection]
                continue
            taken = connection.written - untaken
            if taken > seen.taken:
                seen.since = self._now
            seen.taken = taken
            self._bytes += connection.transport.kept()

    def _admit(self) -> None:
        self._count()
        for connection in sorted(self._waiting, key=_unread):
            if self._exceeds(self.expected + 1):
                break
            del self._waiting[connection]
            connection.admit()
        self._admitting = False

    def _look(self) -> None:
        self._count()
        self._looking = bool(self._owed or self._waiting)
        if self._looking:
            self._later(LOOKED_AT, self._look)
        if not self._waiting:
            return
        for connection in self._waiting:
            connection.still_waits()
        for connection, seen in list(self._owed.items()):
            if self._now - seen.since >= STALLED:
                self._reset(connection, f"nothing for {STALLED // SECOND} s while others wait")
        self.freed()

    def _reset(self, connection: Debtor, why: str) -> None:
        untaken = connection.transport.untaken()
        if self._owed.pop(connection, None) is None or not untaken:
            return
        _log.warning(
            "session 0x%x: its client has not read %s bytes, and %s: connection reset",
            connection.session & (2**64 - 1),
            f"{untaken:,}",
            why,
        )
        connection.transport.discard()


def _unread(connection: Debtor) -> int:
    """The less, the more the client has read."""
    return connection.transport.untaken() - connection.written
