"""What every fault is: a way to inject it, to heal it, and to tell that either is so."""

from abc import ABC, abstractmethod
from random import Random
from typing import Any, ClassVar

from rumpus.nemesis.plan import Entry
from rumpus.nemesis.scene import Finding, Scene

FORCE_BOUND = 5.0
"""Seconds within which an injected fault must be seen to be in force."""


class Fault(ABC):
    """One fault of a plan, from its beginning to its end. Made anew for every entry.

    All calls block. They are made in the order ``choose``, ``inject``, ``in_force``, ``heal``,
    ``healed``; any may raise what the parts of the run raise, and ``heal`` and ``healed`` must
    make sense after an earlier one failed half-way.
    """

    kind: ClassVar[str]
    """Its name in plans and reports."""
    label: ClassVar[str]
    """What a picture calls it."""
    colour: ClassVar[str]
    """What a picture shades its window with, ``#rrggbb``."""

    def __init__(self, entry: Entry, scene: Scene, rng: Random) -> None:
        self.entry = entry
        self.scene = scene
        self.rng = rng
        self.injected: float | None = None
        self.words = ""

    @property
    @abstractmethod
    def targets(self) -> list[str]:
        """Names of those struck, ``n2`` or ``c3``; empty before ``choose``."""

    @abstractmethod
    def choose(self) -> None:
        """Decide whom to strike, and say in ``words`` why them.

        Raises:
            TargetError: there is nobody.
        """

    @abstractmethod
    def inject(self) -> None:
        """Strike."""

    @abstractmethod
    def in_force(self) -> Finding:
        """Wait until the fault is seen to be in force, at most ``FORCE_BOUND`` seconds."""

    @abstractmethod
    def heal(self) -> None:
        """Undo what ``inject`` did, however far it came."""

    @abstractmethod
    def healed(self, timeout: float) -> Finding:
        """Wait until those struck are of use again, at most ``timeout`` seconds."""

    def record(self) -> dict[str, Any]:
        """What the history keeps of it beside kind and targets."""
        return {}
