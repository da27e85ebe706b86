"""Handoffs: one client puts, then another takes, and nobody else does anything.

What happens one after the other has one right answer only, so a client that lists by a server that
is behind is wrong then; among concurrent operations most stale lists can be explained.
"""

from dataclasses import dataclass, field
from typing import Any

from rumpus.checker.history import Op
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client, Steps

PATIENCE_S = 1.5
"""How long a put may take: it outlasts its connection when a leader is lost, is sent again, waits
for the next connection, and is given up before there is one. It happens later."""

LITTLE_S = (0.02, 0.12)
"""How long a take waits: less than a server that is behind is behind."""

LONG_S = 1.0
"""Whoever has asked for an element for so long has to be fed before the handoffs can begin."""

TRICKLE_NS = 500_000_000
"""So often something is put while others are busy, so that something is done in every fault."""

LATE_NS = 100_000_000
"""Whose answer took so long may be on a server that is behind."""


@dataclass
class Handoffs:
    """Whose turn it is: what the scripts of all clients share.

    Handoffs begin when nobody is busy any more. For everybody who waits for an element one is put
    first; then few are put, and none is taken, until nobody is busy. Unless what is handed over is
    most urgent, the queue is emptied before.

    Whoever was answered soon empties the queue, and puts for as long as that is so: when an answer
    comes from a server that is behind, that server has caught up, and nobody who asks it is wrong
    any more. It is always the same one, so that a lost reply to its first write is one to a put.
    """

    urgent: bool  # whether what is handed over comes out before all else
    period: float | None = None
    calls: dict[int, Invocation] = field(default_factory=dict)  # what each client is busy with
    own: set[int] = field(default_factory=set)  # those who hand over
    called: int = 0  # when the last of them did
    owed: int = 0  # elements that are still to be put for those who waited
    puts: int = 0
    standing: int = 0  # elements handed over that have not come out, as far as is known
    empty: bool = False  # whether nothing else is in the queue that could come out first
    putter: int | None = None  # who has been answered soon ever since it puts
    taker: int = 0  # any other

    def noting(self, client: Client, steps: Steps) -> Steps:
        """A client's script; who is busy is noted, and what comes out."""
        came: Any = None
        while True:
            try:
                step = steps.send(came)
            except StopIteration:
                return
            if isinstance(step, Invocation):
                self.calls[client.number] = step
            came = yield step
            if self.calls.pop(client.number, None) and str(element_of(came)).startswith("handed."):
                self.standing = max(0, self.standing - 1)

    def turn(self, client: Client, workload: Any, period: float) -> Steps:
        """A client's part in a period of handoffs: one operation, or a rest."""
        if period != self.period:
            waits = [call.f == "dequeue" and call.value["timeout"] for call in self.calls.values()]
            self.period, self.called = period, client.time
            self.owed, self.empty = sum(wait > LONG_S for wait in waits), self.urgent
            self._choose_taker(client)
        busy = bool(self.calls)
        puts = busy or (self.empty and not self.standing)
        if not self._may(client, puts=puts):
            yield client.rest(0.0, 0.02)
            return
        called = self.called = client.time
        self.own.add(client.number)
        patience = client.draws.uniform(*LITTLE_S)
        if puts:
            self.puts, self.owed = self.puts + 1, max(0, self.owed - 1)
            if not busy or self.puts % 2:
                patience = PATIENCE_S
            came = yield workload.put(client, f"handed.{self.puts}", patience, urgent=True)
            self.standing += came.type != "fail"
        else:
            came = yield workload.dequeue(timeout=round(patience, 3))
            if came.type == "ok" and element_of(came) is None and called == self.called:
                self.empty, self.standing = True, 0
        self.own.remove(client.number)
        if came.type == "ok" and came.time - called < LATE_NS:
            self.putter = client.number if self.putter is None else self.putter
        elif self.putter == client.number:
            self.putter = None
        self._choose_taker(client)

    def _choose_taker(self, client: Client) -> None:
        others = [number for number in range(client.clients) if number != self.putter]
        self.taker = client.draws.choose(others or [client.number])

    def _may(self, client: Client, *, puts: bool) -> bool:
        """Whether a client may call now; where nothing has been called for long, anybody may."""
        if client.time >= self.called + TRICKLE_NS:
            return True
        if self.calls:
            return self.owed > 0 and not self.own
        its = self.putter is not None and (puts or not self.empty)
        return client.number == (self.putter if its else self.taker)


def element_of(came: Op) -> Any:
    """What an acknowledged dequeue took; None if nothing."""
    return (came.value or {}).get("value") if (came.f, came.type) == ("dequeue", "ok") else None
