"""kazoo's own Counter behind the interface of ``recipes.counter.receipt_counter``.

A thin wrapper: kazoo does the adding. Its requests have no timeout, and the client's retry policy,
which by default never gives up, sends them again: ``add`` blocks until a server answers.
"""

from typing import ClassVar

from kazoo.recipe.counter import Counter as TheirCounter
from kazoo.retry import RetryFailedError

from rumpus.recipes.counter.receipt_counter import AdditionUnknown, Counter
from rumpus.recipes.promises import Promises


class KazooCounter(Counter):
    """``kazoo.recipe.counter.Counter``; see the module's docstring."""

    promises: ClassVar[Promises] = Promises(
        prevents=Counter.promises.prevents,
        notes=(
            "kazoo promises that changes are atomic, and tries again by its retry policy. It says "
            "nothing of lost replies. Its value is read from whatever server answers: a write of "
            "no effect is sent before each read here."
        ),
    )

    def add(self, amount: int, timeout: float | None = None, *, key: str = "") -> int:  # noqa: ARG002 - kazoo has none
        """Add, however long it takes: ``timeout`` is ignored. Returns the total that kazoo wrote.

        Raises:
            AdditionUnknown: kazoo gave up.
        """
        theirs = TheirCounter(self._client, self._path)
        try:
            theirs += amount
        except RetryFailedError as error:
            raise AdditionUnknown(f"{self._path}: {error}", key) from error
        return int(theirs.post_value)
