"""The path from one host to another: its latency, and its faults."""

from collections.abc import Callable
from typing import Protocol

SECOND = 1_000_000_000


class Sender(Protocol):
    """The end of a connection whose packets go along a path."""

    def probe_if_cut(self) -> None:
        """The path, or the path back, has been cut: start probing if unsent data wait for room."""

    def break_off_reset(self, _: object = None) -> None:
        """End the connection as if a reset had arrived, even through cuts and gates."""


class Path:
    """One direction between two hosts. Times in nanoseconds.

    A packet takes ``shortest`` plus a random, mostly small part of ``spread``. ``troubled`` says
    whether any fault is in force, so that senders need to check one attribute only.
    """

    __slots__ = (
        "_busy_until",
        "_random",
        "bytes_per_second",
        "corruption",
        "cut",
        "delay",
        "delayed",
        "dropped",
        "duplicated",
        "duplication",
        "fragmentation",
        "jitter",
        "loss",
        "reordering",
        "senders",
        "shortest",
        "source",
        "spread",
        "target",
        "troubled",
    )

    def __init__(
        self, source: str, target: str, shortest: int, spread: int, random: Callable[[], float]
    ) -> None:
        self.source = source
        self.target = target
        self.shortest = shortest
        self.spread = spread
        self._random = random
        self._busy_until = 0
        self.dropped = 0
        """How many packets have been lost so far."""
        self.delayed = 0
        """How many packets have been made late so far."""
        self.duplicated = 0
        """How many packets have arrived twice so far; the receiver's kernel drops the second."""
        self.senders: dict[Sender, None] = {}
        """The ends of connections whose packets take this path."""
        self.mend()

    def mend(self) -> None:
        """End all faults."""
        self.cut = False
        self.loss = 0.0
        self.corruption = 0.0
        self.duplication = 0.0
        self.reordering = 0.0
        self.fragmentation = 0.0
        self.delay = 0
        self.jitter = 0
        self.bytes_per_second: int | None = None
        self.troubled = False

    def refresh(self) -> None:
        """Update ``troubled``; to be called after faults were set."""
        self.troubled = bool(
            self.cut
            or self.loss
            or self.corruption
            or self.duplication
            or self.reordering
            or self.fragmentation
            or self.delay
            or self.jitter
            or self.bytes_per_second
        )

    def latency(self) -> int:
        """How long the next packet takes, faults aside."""
        chance = self._random()
        return self.shortest + int(chance * chance * chance * self.spread)

    def troubled_latency(self, now: int, size: int) -> int:
        """How long the next packet of so many bytes takes under the faults in force.

        Reordering only makes a packet late: later packets that overtake it wait at the receiver,
        as TCP delivers in order.
        """
        time = self.latency() + self.delay
        self.delayed += bool(self.delay or self.jitter or self.bytes_per_second)
        if self.jitter:
            time += int(self._random() * self.jitter)
        if self.reordering and self._random() < self.reordering:
            time += self.latency()
        if self.bytes_per_second:
            begin = max(now, self._busy_until)
            self._busy_until = begin + size * SECOND // self.bytes_per_second
            time += self._busy_until - now
        return time

    def loses(self) -> bool:
        """Whether the next packet is lost (and count it). A corrupt packet is lost, too."""
        if (
            self.cut
            or (self.loss and self._random() < self.loss)
            or (self.corruption and self._random() < self.corruption)
        ):
            self.dropped += 1
            return True
        if self.duplication and self._random() < self.duplication:
            self.duplicated += 1
        return False

    def fragments(self, data: bytes) -> list[bytes]:
        """Split bytes into packets: one, or more under the fault fragmentation."""
        parts = []
        while len(data) > 1 and self.fragmentation and self._random() < self.fragmentation:
            place = 1 + int(self._random() * (len(data) - 1))
            parts.append(data[:place])
            data = data[place:]
        parts.append(data)
        return parts
