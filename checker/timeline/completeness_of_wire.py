"""Whether the record of the wire lacks a part of what it shows the rest of.

Its own numbers, and counts in the history that say more than how much there is, tell of records
that were cut out, also where the counts of all records were made to fit.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rumpus.checker.history import History
from rumpus.checker.wire.records import COUNTED_AS, Handshake, Request, Wire

_MALFORMED = "malformed"

Connection = tuple[int, int]
"""Client, and the number of the connection among its."""


@dataclass
class _Numbers:
    """The numbers of the requests on a connection, without pings and others below zero."""

    lowest: int
    highest: int
    seen: int = 1

    def add(self, xid: int) -> None:
        self.lowest, self.highest = min(self.lowest, xid), max(self.highest, xid)
        self.seen += 1


@dataclass
class Shares:
    """What passed on each connection, and of each kind.

    Args:
        history: all of its records.

    Attributes:
        kinds: client -> kind -> requests that had passed when they were counted; two of these: what
            had passed for certain, and that with what passed while they were counted.
    """

    history: History
    kinds: tuple[dict[int, Counter[str]], dict[int, Counter[str]]] = field(init=False)
    _numbers: dict[Connection, _Numbers] = field(default_factory=dict)
    _shakes: dict[Connection, Handshake] = field(default_factory=dict)
    _used: dict[Connection, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kinds = defaultdict(Counter), defaultdict(Counter)
        self._counts: dict[int, tuple[int | None, int, Mapping[str, Any]]] = {}
        before = None
        for op in self.history.events("control", "phase-end"):
            before = op.time
        for op in self.history.events("link", "requests"):
            self._counts[op.value["client"]] = before, op.time, op.value["requests"]
            before = op.time

    def add(self, record: Wire) -> None:
        """Take the next record of the wire."""
        place = record.client, record.connection
        if isinstance(record, Handshake):
            self._shakes.setdefault(place, record)
            return
        self._used.setdefault(place)
        if isinstance(record, Request):
            self._add(place, record)

    def _add(self, place: Connection, request: Request) -> None:
        if request.xid > 0:
            if (numbers := self._numbers.get(place)) is not None:
                numbers.add(request.xid)
            else:
                self._numbers[place] = _Numbers(request.xid, request.xid)
        if (count := self._counts.get(request.client)) is not None:
            since, until, _ = count
            name = request.name.removeprefix(f"{_MALFORMED} ")
            kind = COUNTED_AS.get(name, name)
            if request.sent <= until:
                self.kinds[1][request.client][kind] += 1
            if since is not None and request.sent < since:
                self.kinds[0][request.client][kind] += 1

    def lacking(self, *, kazoo: bool | None) -> Iterator[str]:
        """What is missing, in words.

        Args:
            kazoo: whether the clients count their requests anew on each connection, as kazoo does;
                otherwise as Java's; None: nobody knows how they count.
        """
        yield from self._without_handshake()
        yield from self._of_the_auditor()
        yield from self._of_kinds()
        yield from self._gaps(kazoo)

    def _without_handshake(self) -> Iterator[str]:
        """The first thing that passes on a connection is its handshake."""
        for client, connection in self._used:
            if (client, connection) not in self._shakes:
                yield (
                    f"connection {connection} of {self._who(client)} carried requests or events, "
                    "and no handshake of it is recorded"
                )
                return

    def _of_the_auditor(self) -> Iterator[str]:
        """If its walks succeeded, the auditor was greeted on each of its connections."""
        walks = [*self.history.events("control", "walk")]
        if not walks or any(op.value.get("error") is not None for op in walks):
            return
        greeted = {at for client, at in self._shakes if client == self.history.clients}
        for connection in range(1, max(greeted, default=0)):
            if connection not in greeted:
                yield f"no handshake is recorded of connection {connection} of the auditor"
                return

    def _of_kinds(self) -> Iterator[str]:
        """The links counted the clients' requests by kind."""
        for client, (_, _, counted) in self._counts.items():
            certain, there = (side[client] for side in self.kinds)
            for kind in sorted(counted.keys() | there.keys()):
                number = counted.get(kind, 0)
                if kind != _MALFORMED and not certain[kind] <= number <= there[kind]:
                    yield (
                        f"the links carried {number} requests {kind} of {self._who(client)}, and "
                        f"{there[kind]} are recorded"
                    )
                    return

    def _gaps(self, kazoo: bool | None) -> Iterator[str]:
        """A client numbers the requests on a connection without a gap.

        In a new session it begins with 1. What a fault loses is the end of its connection.
        """
        for place, numbers in self._numbers.items():
            client, connection = place
            own = client >= self.history.clients
            if kazoo is None and not own:
                continue
            missing = numbers.highest - numbers.lowest + 1 - numbers.seen
            shake = self._shakes.get(place)
            if shake is not None and (not shake.asked or (kazoo and not own)):
                missing += numbers.lowest - 1
            if missing > 0:
                yield (
                    f"{missing} requests of {self._who(client)} are missing on its connection "
                    f"{connection}: their numbers have gaps"
                )
                return

    def _who(self, client: int) -> str:
        return f"c{client}" if client < self.history.clients else "the auditor"
