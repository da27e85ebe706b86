"""The fault ``packet-loss``: packets between servers are lost at random.

TCP sends them again, later and later, so a link that loses many is slow, and silent for a while now
and then; nobody is told. One direction can be bad alone.
"""

from typing import Annotated, Any, Final, Literal, get_args

import msgspec

from rumpus.harness.ensemble import Packets
from rumpus.nemesis.fault import FORCE_BOUND, Draft, FaultOptions, Turn
from rumpus.nemesis.fault_context import Finding, NeverActed
from rumpus.nemesis.server_fault import ServerFault

Direction = Literal["both", "to", "from"]
"""Which packets are lost: those that go to the servers chosen, those that come from them, both."""

DIRECTIONS: Final[tuple[Direction, ...]] = get_args(Direction)

DRAWN: Final = (10.0, 25.0, 40.0)
"""Percentages in random plans. Of two servers that lose 40 % both ways, a third get through."""


class LossOptions(FaultOptions, frozen=True, kw_only=True):
    """Which packets are lost.

    Args:
        direction: seen from the servers chosen; see ``Direction``.
        percent: how many of a hundred.
    """

    direction: Direction = "both"
    percent: Annotated[float, msgspec.Meta(ge=1, le=99)] = 25.0


class PacketLoss(ServerFault):
    """Lose packets between the servers chosen and all others."""

    kind = "packet-loss"
    summary = (
        "packets between servers are lost at random, in one direction or both; TCP sends them "
        "again, so that links are slow"
    )
    works_on = "the servers' network"
    needs = "loss"
    usual = False
    drawn = False
    several_nodes = "a single server sends nothing to others"
    takes = LossOptions

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._lost = 0

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw servers, a direction and a percentage."""
        draft = super().draw(turn)
        options = {
            "direction": turn.rng.choice(DIRECTIONS),
            "percent": turn.rng.choice(DRAWN),
        }
        return draft._replace(options=options, lasting=True)

    @property
    def _packets(self) -> Packets:
        packets = self.context.ensemble.packets
        assert packets is not None  # ``registry.require`` saw to it
        return packets

    def losses(self) -> dict[str, dict[str, float]]:
        """Node -> the node from which it loses packets -> their share."""
        share = round(self.options.percent / 100, 4)  # as packet filters are told it
        found: dict[str, dict[str, float]] = {}
        for node in self.chosen:
            for other in self.context.ensemble.nodes:
                if other != node and self.options.direction != "from":
                    found.setdefault(node, {})[other] = share
                if other != node and self.options.direction != "to":
                    found.setdefault(other, {})[node] = share
        return found

    def inject(self) -> None:
        """Have packets lost from now on."""
        self._packets.lose(self.losses())

    def in_force(self) -> Finding:
        """Wait until the network says of all these links how much they lose."""
        wanted = self.losses()
        way = "to and from" if self.options.direction == "both" else self.options.direction
        words = f"{self.options.percent:g} % of packets {way} {', '.join(self.chosen)} are lost"
        if self.context.until(lambda: self._packets.losses() == wanted, FORCE_BOUND):
            return Finding(True, words)
        return Finding(False, f"not in force after {FORCE_BOUND:g} s: {self._packets.losses()}")

    def heal(self) -> None:
        """Let all packets pass again, and note how many were lost."""
        self._lost = self._packets.lost()
        self._packets.lose({})

    def healed(self, timeout: float) -> Finding:
        """No packets are lost any more, some were, and the servers serve."""
        if left := self._packets.losses():
            return Finding(False, f"packets are still lost: {left}")
        back = super().healed(timeout)
        if back.ok and not self._lost:
            return NeverActed(False, "no packet was lost")
        return Finding(back.ok, f"{self._lost} packets lost; {back.detail}")

    def record(self) -> dict[str, Any]:
        """Which packets were lost, and how many by the end."""
        return {
            "direction": self.options.direction,
            "percent": self.options.percent,
            "lost": self._lost,
        }
