"""Handoffs: one client puts an element, then another takes it, and nobody else does anything.

Operations one after the other have only one right answer. So a client that lists the queue at a
server that is behind is wrong then; among concurrent operations most stale lists can be explained.
"""

from dataclasses import dataclass, field
from typing import Any

from rumpus.checker.history import Op
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client, Steps

PATIENCE_S = 1.5
"""How long a put may take. When a leader is lost the connection breaks, the put is tried again and
waits for the next connection, and the client gives it up before that. So it takes effect later."""

LITTLE_S = (0.02, 0.12)
"""How long a take waits, at least and at most: less than servers lag."""

LONG_S = 1.0
"""A client that waits for an element with a timeout above this must be given one before the
handoffs can begin."""

TRICKLE_NS = 500_000_000
"""After this time without a handoff any client may act, so that some act during every fault."""

LATE_NS = 100_000_000
"""A client whose answer took this long may be connected to a server that is behind."""


@dataclass
class Handoffs:
    """Whose turn it is to hand over: state that the scripts of all clients share.

    Handoffs begin when no client is busy with an earlier operation. First one element is put for
    every client that waits long for one; then few are put, and none is taken, until nobody is busy.
    Then the queue is emptied, unless the elements handed over are the most urgent ones.

    A client that is answered quickly empties the queue, and puts while its answers stay quick. Slow
    ones may come from a server that was behind: by the answer it has caught up, and its clients see
    no stale list any more. The putter stays the same, so that, if its first write's reply is lost,
    that write is a put.
    """

    urgent: bool  # whether elements handed over come out before all others
    period: float | None = None
    calls: dict[int, Invocation] = field(default_factory=dict)  # what each client is busy with
    own: set[int] = field(default_factory=set)  # clients that are busy with a handoff
    called: int = 0  # when the last handoff operation was called
    owed: int = 0  # elements still to be put for clients that wait long
    puts: int = 0
    standing: int = 0  # elements put as handoffs and not known to be taken
    empty: bool = False  # whether the queue has no other element that could come out first
    putter: int | None = None  # the client that puts, while it is answered quickly
    taker: int = 0  # any other client

    def noting(self, client: Client, steps: Steps) -> Steps:
        """A client's script, while the client's calls and the elements taken are noted here."""
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
        """A client's next step in the handoffs of a period: one operation, or a rest."""
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
        """Whether a client may call now; after ``TRICKLE_NS`` without a call any client may."""
        if client.time >= self.called + TRICKLE_NS:
            return True
        if self.calls:
            return self.owed > 0 and not self.own
        its = self.putter is not None and (puts or not self.empty)
        return client.number == (self.putter if its else self.taker)


def element_of(came: Op) -> Any:
    """The element that a successful dequeue took; None if none, or for any other operation."""
    return (came.value or {}).get("value") if (came.f, came.type) == ("dequeue", "ok") else None
