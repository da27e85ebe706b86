"""kazoo's own Counter behind the interface of ``recipes.counter.receipt_counter``.

A thin wrapper that repairs nothing, so there is no bare variant: kazoo adds. Its requests have no
timeout, and the client's retry policy, which by default never gives up, repeats them: ``add``
blocks until a server answers.
"""

from typing import ClassVar

from kazoo.recipe.counter import Counter as TheirCounter
from kazoo.retry import RetryFailedError

from rumpus.recipes.counter.receipt_counter import AdditionUnknown, Counter
from rumpus.recipes.promises import Promises


class KazooCounter(Counter):
    """``kazoo.recipe.counter.Counter``; see the module's docstring."""

    promises: ClassVar[Promises] = Promises(
        prevents=Counter.promises.prevents - {"overdue-call"},
        notes=(
            "kazoo promises that changes are atomic, and repeats requests by its retry policy. It "
            "promises nothing about lost replies. kazoo reads its value from any server, which may "
            "lag: this adapter sends a write without effect before each read."
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
