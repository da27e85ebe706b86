"""What every queue here can do, whatever it is built from.

Times are seconds. Objects may be shared by threads, which take in turns, and must not be used
from kazoo's own callbacks.
"""

from typing import ClassVar, Literal, Protocol

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import OutcomeUnknown

Delivery = Literal["at-most-once", "at-least-once"]


class QueueUnknown(OutcomeUnknown):
    """Nobody can say whether an element was put, taken or acknowledged.

    ``element`` is the element that may have been taken, None if that is not known.
    """

    def __init__(self, words: str, element: bytes | None = None) -> None:
        super().__init__(words)
        self.element = element


class Claim(Protocol):
    """An element that a consumer works on. If its session ends, others may claim the element."""

    @property
    def element(self) -> bytes:
        """What was put."""

    @property
    def node(self) -> str | None:
        """Full path of the element's node, None where that is not known."""

    def acknowledge(self, timeout: float | None = None) -> None:
        """Remove the element for good. May be called again after an unknown outcome.

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
    """Whether a result of None means that the queue was empty at some moment of the call."""

    @classmethod
    def elements(cls, path: str) -> str:
        """The znode whose children are the elements of the queue at ``path``."""

    @classmethod
    def claims(cls, path: str) -> str | None:
        """The znode whose children are the claims (named as their elements); None if no claims."""

    def put(self, element: bytes, timeout: float | None = None) -> None:
        """Add an element.

        Raises:
            QueueUnknown: no answer in time, or never.
            NotDone: it was not added.
        """


class TakingQueue(Queue, Protocol):
    """At most once: a take removes the element, which is lost if its consumer then dies."""

    def take(self, timeout: float | None = None) -> bytes | None:
        """Wait for an element, for ever or for ``timeout`` seconds, and remove it.

        Returns:
            What was put. None: timed out without one.

        Raises:
            QueueUnknown: the element named may have been removed.
            NotDone: nothing was removed; whether there was something cannot be said.
        """


class ClaimingQueue(Queue, Protocol):
    """At least once: a consumer claims an element, and removes it when it is done with it."""

    def claim(self, timeout: float | None = None) -> Claim | None:
        """Wait for an element, for ever or for ``timeout`` seconds, and keep others from it.

        Returns:
            The claim. None: timed out, and there was nothing that others had not claimed.

        Raises:
            QueueUnknown: the element named may have been claimed; it is being given back.
            NotDone: nothing was claimed; whether there was something cannot be said.
        """
