"""Any object that adds to a number and tells it, as a counter.

Additions: ``add(amount)``, ``increment(amount)``, or ``+=``. Of a negative amount it is
``subtract(amount)``, ``decrement(amount)`` or ``-=``, where the object has one of these. If the
method takes ``key``, it is an idempotency key, and an addition of unknown outcome is tried again
with it. The total after an addition is what the method returns, or the attribute ``post_value``; if
there is neither, only the totals that are read are judged. Reads: ``read()``, ``get()``, or the
attribute ``value``.
"""

import uuid
from collections.abc import Callable
from typing import Any, Final

from kazoo.exceptions import KazooException

from rumpus.recipes.counter.receipt_counter import AdditionUnknown
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.promises import Promises
from rumpus.workloads.own.own_recipe import Method, OwnRecipe, catch_up, has
from rumpus.workloads.own.tolerant_calls import TIMEOUTS, call, first, takes

ADD: Final = Method(("add", "increment", "+="), "add(amount) -> int")
SUBTRACT: Final = ("subtract", "decrement", "__isub__", "__sub__")
OPERATORS: Final = ("__iadd__", "__add__")
READ: Final = Method(("read", "get", "value"), "read() -> int")


class OwnCounter(OwnRecipe):
    """See the module."""

    ways = ((ADD, READ),)

    @classmethod
    def missing(cls, kind: Any) -> str:
        """As in every family; an operator counts as an addition, as ``+=`` uses either."""
        if any(hasattr(kind, each) for each in OPERATORS) and has(kind, *READ.names):
            return ""
        return super().missing(kind)

    @classmethod
    def derived(cls, factory: Any, promises: Promises) -> list[str]:  # noqa: ARG003 - the base's
        """Whether reads of servers that lag are judged."""
        if getattr(factory, "fresh_reads", False):
            return []
        how = "A write without effect is sent before each read, for a server may lag; declare "
        return [how + "`fresh_reads = True` if its own reads never show an old total."]

    def add(self, amount: int, timeout: float, *, key: str = "") -> int | None:
        """The total after the addition; None if the object does not tell.

        Raises:
            AdditionUnknown: kazoo raised an error; the addition can be tried again with its key.
            OutcomeUnknown: the same, where it cannot.
        """
        with self.lent() as own:
            change, amount = self._change(own, amount)
            keyed = takes(change, "key")
            key = key or uuid.uuid4().hex
            try:
                told = call(change, amount, timeout=timeout, key=key)
                if told is None or type(told) is type(own):
                    told = getattr(own, "post_value", None)
            except (KazooException, *TIMEOUTS) as error:
                why = f"{type(error).__name__}: {error}"
                raise (AdditionUnknown(why, key) if keyed else OutcomeUnknown(why)) from error
        return None if told is None else int(told)

    @staticmethod
    def _change(own: Any, amount: int) -> tuple[Callable[..., Any], int]:
        """The method that changes the total by so much, and what it takes."""
        if amount < 0 and any(callable(getattr(own, name, None)) for name in SUBTRACT):
            return first(own, SUBTRACT), -amount
        return first(own, (*ADD.names, *OPERATORS)), amount

    def read(self, timeout: float) -> int:
        """The total; raises OutcomeUnknown if kazoo raised an error."""
        with self.lent() as own:
            try:
                if not getattr(own, "fresh_reads", False):
                    catch_up(self.client, self.path, timeout)
                # Looked for in the class: `hasattr` of an object would call its properties.
                name = next(each for each in READ.names if hasattr(type(own), each))
                told = getattr(own, name)
                return int(call(told, timeout=timeout) if callable(told) else told)
            except (KazooException, *TIMEOUTS) as error:
                raise OutcomeUnknown(f"{type(error).__name__}: {error}") from error
