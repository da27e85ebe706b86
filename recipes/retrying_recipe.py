"""What recipes have in common whose calls are retried over lost connections and sessions."""

from collections.abc import Callable
from typing import ClassVar, TypeVar

from kazoo.client import KazooClient

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.paths import absolute
from rumpus.recipes.requests.retrying_call import RetryingCall

Found = TypeVar("Found")


class RetryingRecipe(Recipe):
    """One client's side of a recipe whose calls are ``RetryingCall``s.

    Args:
        client: a started client with kazoo's threading handler.
        path: the recipe's znode.
        grace: seconds by which a call may exceed its timeout, to await late answers.

    Raises:
        ValueError: ``path`` is not an absolute znode path.
    """

    _call_class: ClassVar[type[RetryingCall]] = RetryingCall

    def __init__(self, client: KazooClient, path: str, *, grace: float = 2.0) -> None:
        self._client = client
        self._path = absolute(path)
        self._grace = grace

    def _call(self, timeout: float | None) -> RetryingCall:
        """A call with a timeout in seconds; None is for ever."""
        return self._call_class(self._client, timeout, self._grace)

    def _complete(
        self, call: RetryingCall, one: Callable[[], Found | None], doubt: str = "no answer in time"
    ) -> Found:
        """Make a call's rounds until one finds something.

        Args:
            call: the call.
            one: makes one round; returns None to be called again.
            doubt: what the error says if the time is over.

        Raises:
            OutcomeUnknown: the time is over.
        """
        found = call.rounds(one)
        if found is None:
            raise OutcomeUnknown(f"{self._path}: {doubt}")
        return found
