"""The fault ``client-delay``: what passes between a client and servers arrives late.

A client far away, or behind a busy link: nothing is lost and no session need end, but answers are
old when they come, and several requests are under way at once.
"""

from typing import Any, Final

from rumpus.nemesis.client_fault import ClientFault
from rumpus.nemesis.fault import Draft, LinkOptions, Milliseconds, Turn
from rumpus.nemesis.fault_context import Finding

LEAST_MS: Final = 30.0
MOST_MS: Final = 300.0
"""Milliseconds each way in random plans: a client of a session of 2 s gives a connection up after
1.3 s without an answer."""


class DelayOptions(LinkOptions, frozen=True, kw_only=True):
    """``milliseconds``: how late what passes arrives, each way."""

    milliseconds: Milliseconds = 100.0


class ClientDelay(ClientFault):
    """Delay everything on clients' links, each way."""

    kind = "client-delay"
    summary = "what passes between clients and servers arrives late, each way and in order"
    works_on = "the clients' links"
    usual = False
    drawn = False
    takes = DelayOptions

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw clients and a time; it lasts for most of its slot, as load goes on meanwhile."""
        draft = super().draw(turn)
        options = {"milliseconds": round(turn.rng.uniform(LEAST_MS, MOST_MS), 1)}
        return draft._replace(options=options, lasting=True)

    def _wanted(self) -> dict[str, float]:
        nodes = self.options.nodes or self.context.ensemble.nodes
        return dict.fromkeys(nodes, self.options.milliseconds)

    def inject(self) -> None:
        """Have everything arrive late from now on."""
        for client in self.chosen:
            self.context.links.delay(client, self.options.milliseconds, self.options.nodes)

    def in_force(self) -> Finding:
        """Wait until the links say how late what passes is."""
        words = f"{self.options.milliseconds:g} ms each way"
        return self.wait_until_all(self.context.links.delays, self._wanted(), words)

    def heal(self) -> None:
        """Let everything pass at once."""
        for client in self.chosen:
            self.context.links.delay(client, 0.0)

    def healed(self, timeout: float) -> Finding:
        """No link is slow any more, and the clients are connected."""
        if left := self.still_wrong(self.context.links.delays, {}):
            return Finding(False, f"links still slow: {left}")
        return super().healed(timeout)

    def record(self) -> dict[str, Any]:
        """How late everything was."""
        return {"milliseconds": self.options.milliseconds}
