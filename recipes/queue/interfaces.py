"""What every queue here can do, whatever it is built from.

Times are seconds. Objects may be shared by threads, which take in turns, and must not be used
from kazoo's own callbacks.
"""

from typing import ClassVar, Literal, Protocol

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import OutcomeUnknown

Delivery = Literal["at-most-once", "at-least-once"]


class QueueUnknown(OutcomeUnknown):
    """Nobody can say: an element may have been put, taken or acknowledged, or may not.

    ``element`` is the one that may have been taken, None where that is not known.
    """

    def __init__(self, words: str, element: bytes | None = None) -> None:
        super().__init__(words)
        self.element = element


class Claim(Protocol):
    """An element that a consumer works on. It is others' again once its session ends."""

    @property
    def element(self) -> bytes:
        """What was put."""

    @property
    def node(self) -> str | None:
        """Full path of the element's node, None where that is not known."""

    def acknowledge(self, timeout: float | None = None) -> None:
        """Remove the element for good. To be called again after an unknown outcome.

        Raises:
            ClaimLost: the claim had ended.
            QueueUnknown: no answer in time, or never.
        """

    def release(self, timeout: float | None = None) -> None:
        """Give the element back, to whoever comes next. Errors are those of ``acknowledge``."""


class Queue(Recipe, Protocol):
    """What every queue can do; how elements are taken depends on ``delivery``."""

    delivery: ClassVar[Delivery]
    sees_empty: ClassVar[bool]
    """Whether finding nothing means that at some moment of the call there was nothing."""

    @classmethod
    def elements(cls, path: str) -> str:
        """The znode whose children are the elements of the queue at ``path``."""

    @classmethod
    def claims(cls, path: str) -> str | None:
        """The znode whose children are the claims, by their elements' names; None without any."""

    def put(self, element: bytes, timeout: float | None = None) -> None:
        """Add an element.

        Raises:
            QueueUnknown: no answer in time, or never.
            NotDone: it was not added.
        """


class TakingQueue(Queue, Protocol):
    """At most once: who takes an element has removed it, and loses it if it dies then."""

    def take(self, timeout: float | None = None) -> bytes | None:
        """Wait for an element, for ever or for ``timeout`` seconds, and remove it.

        Returns:
            What was put. None: timed out without one.

        Raises:
            QueueUnknown: the element named may have been removed.
            NotDone: nothing was removed; whether there was something cannot be said.
        """


class ClaimingQueue(Queue, Protocol):
    """At least once: who claims an element removes it once it is done with it."""

    def claim(self, timeout: float | None = None) -> Claim | None:
        """Wait for an element, for ever or for ``timeout`` seconds, and keep others from it.

        Returns:
            The claim. None: timed out, and there was nothing that others had not claimed.

        Raises:
            QueueUnknown: the element named may have been claimed; it is being given back.
            NotDone: nothing was claimed; whether there was something cannot be said.
        """
