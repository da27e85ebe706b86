"""Faults of packets between servers: ``packet-loss`` and ``packet-delay``.

Packets are lost at random, or all of them are late, as on a long, a crowded, or a narrow line. TCP
sends lost ones again, later and later, so both make links slow, and silent for a while now and
then; nobody is told. One direction can be bad alone.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, get_args

import msgspec

from rumpus.harness.ensemble import Packets, Slowness
from rumpus.nemesis.entry import PlanError
from rumpus.nemesis.fault import FORCE_BOUND, Draft, FaultOptions, Turn
from rumpus.nemesis.fault_context import Finding, NeverActed
from rumpus.nemesis.server_fault import ServerFault

Direction = Literal["both", "to", "from"]
"""Which packets are concerned: those that go to the servers chosen, those from them, or both."""

DIRECTIONS: Final[tuple[Direction, ...]] = get_args(Direction)

DRAWN: Final = (10.0, 25.0, 40.0)
"""Percentages in random plans. Of two servers that lose 40 % both ways, a third get through."""

DELAYS_S: Final = (0.05, 0.2, 0.6)
"""Delays in random plans: syncLimit is 5 ticks of 0.5 s, and a message takes a round trip."""


class PacketOptions(FaultOptions, frozen=True, kw_only=True):
    """``direction``: seen from the servers chosen; see ``Direction``."""

    direction: Direction = "both"


class PacketFault(ServerFault):
    """Do something to packets between the servers chosen and all others."""

    works_on = "the servers' network"
    usual = False
    drawn = False
    several_nodes = "a single server sends nothing to others"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._count = 0
        """How many packets it happened to, by the end."""

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw servers, a direction and what happens."""
        draft = super().draw(turn)
        options = {"direction": turn.rng.choice(DIRECTIONS)}
        return draft._replace(options=options | cls.drawn_options(turn), lasting=True)

    @classmethod
    @abstractmethod
    def drawn_options(cls, turn: Turn) -> dict[str, Any]:
        """Draw the options beside the direction."""

    @property
    def _packets(self) -> Packets:
        packets = self.context.ensemble.packets
        assert packets is not None  # ``registry.require`` saw to it
        return packets

    @property
    def _way(self) -> str:
        way = "to and from" if self.options.direction == "both" else self.options.direction
        return f"{way} {', '.join(self.chosen)}"

    def links(self) -> dict[str, set[str]]:
        """Node -> the nodes from which it gets packets to which this happens."""
        found: dict[str, set[str]] = {}
        for node in self.chosen:
            for other in self.context.ensemble.nodes:
                if other != node and self.options.direction != "from":
                    found.setdefault(node, set()).add(other)
                if other != node and self.options.direction != "to":
                    found.setdefault(other, set()).add(node)
        return found


class LossOptions(PacketOptions, frozen=True, kw_only=True):
    """Which packets are lost; see also ``PacketOptions``.

    Args:
        percent: how many of a hundred.
    """

    percent: Annotated[float, msgspec.Meta(ge=1, le=99)] = 25.0


class PacketLoss(PacketFault):
    """Lose packets at random."""

    kind = "packet-loss"
    summary = (
        "packets between servers are lost at random, in one direction or both; TCP sends them "
        "again, so that links are slow"
    )
    needs = "loss"
    takes = LossOptions

    @classmethod
    def drawn_options(cls, turn: Turn) -> dict[str, Any]:
        """Draw a percentage."""
        return {"percent": turn.rng.choice(DRAWN)}

    def losses(self) -> dict[str, dict[str, float]]:
        """Node -> the node from which it loses packets -> their share."""
        share = round(self.options.percent / 100, 4)  # as packet filters are told it
        return {node: dict.fromkeys(others, share) for node, others in self.links().items()}

    def inject(self) -> None:
        """Have packets lost from now on."""
        self._packets.lose(self.losses())

    def in_force(self) -> Finding:
        """Wait until the network says of all these links how much they lose."""
        wanted = self.losses()
        words = f"{self.options.percent:g} % of packets {self._way} are lost"
        if self.context.until(lambda: self._packets.losses() == wanted, FORCE_BOUND):
            return Finding(True, words)
        return Finding(False, f"not in force after {FORCE_BOUND:g} s: {self._packets.losses()}")

    def heal(self) -> None:
        """Let all packets pass again, and note how many were lost."""
        self._count = self._packets.lost()
        self._packets.lose({})

    def healed(self, timeout: float) -> Finding:
        """No packets are lost any more, some were, and the servers serve."""
        if left := self._packets.losses():
            return Finding(False, f"packets are still lost: {left}")
        back = super().healed(timeout)
        if back.ok and not self._count:
            return NeverActed(False, "no packet was lost")
        return Finding(back.ok, f"{self._count} packets lost; {back.detail}")

    def record(self) -> dict[str, Any]:
        """Which packets were lost, and how many by the end."""
        return {
            "direction": self.options.direction,
            "percent": self.options.percent,
            "lost": self._count,
        }


class DelayOptions(PacketOptions, frozen=True, kw_only=True):
    """How late packets are; see also ``PacketOptions``.

    Args:
        seconds: by how much all of them are.
        jitter: by how many seconds more, at most, each is at random.
        bytes_per_second: how many pass; 0: no limit.
    """

    seconds: Annotated[float, msgspec.Meta(ge=0, le=60)] = 0.2
    jitter: Annotated[float, msgspec.Meta(ge=0, le=60)] = 0.0
    bytes_per_second: Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)] = 0

    def check(self, nodes: Sequence[str]) -> None:
        """Refuse what changes nothing."""
        del nodes
        if not (self.seconds or self.jitter or self.bytes_per_second):
            raise PlanError(
                'fields "options.seconds", "options.jitter" and "options.bytes_per_second" are 0; '
                "one of them must be more"
            )


class PacketDelay(PacketFault):
    """Have packets arrive late."""

    kind = "packet-delay"
    summary = (
        "packets between servers arrive late, in one direction or both: by a time, by a random one "
        "(`options.jitter`), or because few pass in a second (`options.bytes_per_second`)"
    )
    needs = "delay"
    takes = DelayOptions

    @classmethod
    def drawn_options(cls, turn: Turn) -> dict[str, Any]:
        """Draw a delay, every second time with as much jitter."""
        seconds = turn.rng.choice(DELAYS_S)
        return {"seconds": seconds, "jitter": turn.rng.choice((0.0, seconds))}

    def slowness(self) -> dict[str, dict[str, Slowness]]:
        """Node -> the node from which packets arrive late -> how late."""
        options = self.options
        slow = Slowness(options.seconds, options.jitter, options.bytes_per_second)
        return {node: dict.fromkeys(others, slow) for node, others in self.links().items()}

    def inject(self) -> None:
        """Have packets late from now on."""
        for node, links in self.slowness().items():
            self._packets.slow_down(node, links)

    def in_force(self) -> Finding:
        """Wait until the network says of all these links how slow they are."""
        wanted, options = self.slowness(), self.options
        words = f"packets {self._way} are {1000 * options.seconds:g} ms late"
        if options.jitter:
            words += f", and up to {1000 * options.jitter:g} ms more"
        if options.bytes_per_second:
            words += f", {options.bytes_per_second} bytes a second"

        def found() -> bool:
            now = self._packets.slowness()
            return all(now.get(node) == links for node, links in wanted.items())

        if self.context.until(found, FORCE_BOUND):
            return Finding(True, words)
        return Finding(False, f"not in force after {FORCE_BOUND:g} s: {self._packets.slowness()}")

    def heal(self) -> None:
        """Let all packets pass at once again, and note how many were late."""
        self._count = self._packets.slowed()
        for node in self.links():
            self._packets.slow_down(node, {})

    def healed(self, timeout: float) -> Finding:
        """No packets are late any more, some were, and the servers serve."""
        now = self._packets.slowness()
        if left := sorted(now.keys() & self.links().keys()):
            return Finding(False, f"packets still arrive late at {', '.join(left)}")
        back = super().healed(timeout)
        if back.ok and not self._count:
            return NeverActed(False, "no packet was late")
        return Finding(back.ok, f"{self._count} packets late; {back.detail}")

    def record(self) -> dict[str, Any]:
        """How late packets were, and how many by the end."""
        options = self.options
        return {
            "direction": options.direction,
            "seconds": options.seconds,
            "jitter": options.jitter,
            "bytes_per_second": options.bytes_per_second,
            "late": self._count,
        }
