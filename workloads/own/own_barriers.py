"""Any object with ``create``, ``remove`` and ``wait`` as a barrier, and others like it.

A call that takes no ``timeout`` is given up by its client all the same, and goes on meanwhile. So
every call of a barrier has an object that no other call uses at that time.
"""

from typing import Any, ClassVar

from rumpus.recipes.double_barrier.counted_barrier import NotInside
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.session import Session
from rumpus.workloads.own.own_recipe import OwnRecipe, has, method
from rumpus.workloads.own.tolerant_calls import attribute, call, first

WAIT = method("wait(timeout) -> bool", "wait_for", "await_")
PARTIES = ("parties", "num_clients", "count", "members", "clients", "size", "n")
"""Names of the parameter that says how many clients there are."""


class OwnBarrier(OwnRecipe):
    """A barrier: closed by ``create``, opened by ``remove``; ``wait`` returns once it is open."""

    ways = ((method("create()", "close"), method("remove()", "open"), WAIT),)

    def create(self, timeout: float) -> None:
        """Close it; raises OutcomeUnknown if kazoo raised an error."""
        self._change("create", "close", timeout=timeout)

    def remove(self, timeout: float) -> None:
        """Open it; raises OutcomeUnknown if kazoo raised an error."""
        self._change("remove", "open", timeout=timeout)

    def _change(self, *names: str, timeout: float) -> None:
        with self.lent() as own:
            change = first(own, names)
            self.translated(lambda: call(change, timeout=timeout))()

    def wait(self, timeout: float | None) -> bool:
        """Wait until it is open; without bound if the timeout is None. False when timed out.

        Raises:
            OutcomeUnknown: kazoo raised an error.
        """
        with self.lent() as own:
            wait = first(own, WAIT.names)
            return self.waited(wait, lambda: call(wait, timeout=timeout))


class OwnLatch(OwnRecipe):
    """A latch: ``count_down``; ``wait`` returns once so many clients have counted down."""

    ways = ((method("count_down()", "countdown", "arrive"), WAIT),)
    further = (("count", *PARTIES),)

    def count_down(self, timeout: float) -> None:
        """Count down; raises OutcomeUnknown if kazoo raised an error."""
        count = first(self.own, self.ways[0][0].names)
        self.translated(lambda: call(count, timeout=timeout))()

    def wait(self, timeout: float) -> bool:
        """Wait until it is open; False when timed out.

        Raises:
            OutcomeUnknown: kazoo raised an error.
        """
        wait = first(self.own, WAIT.names)
        return self.waited(wait, lambda: call(wait, timeout=timeout))


class OwnDoubleBarrier(OwnRecipe):
    """A double barrier: ``enter`` once all have come, ``leave`` once all have left.

    ``inside``: an attribute or method, whether it believes that the client is inside; else that is
    derived, as the belief of locks is. ``participating``: if it is there and false after ``enter``,
    the call has failed, as in kazoo's. ``more_clients``: if the class says so, there may be more
    clients than parties, of which so many at a time are in a round; else there never are.
    """

    ways = ((method("enter(timeout) -> bool"), method("leave(timeout) -> bool")),)
    further = (PARTIES,)
    more_clients: ClassVar[bool] = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._since: Session | None = None

    @classmethod
    def attributes_of(cls, factory: Any) -> dict[str, Any]:
        """``more_clients``: whether more clients than parties may use it, if the class says so."""
        return {"more_clients": bool(getattr(factory, "more_clients", False))}

    @classmethod
    def derived(cls, factory: Any, promises: Promises) -> list[str]:  # noqa: ARG003 - the base's
        """How it is told whether a client is inside."""
        if has(factory, "inside"):
            return []
        taken = (
            "a client is taken to be inside from `enter` to `leave`, or until kazoo reports LOST."
        )
        return [f"It has no `inside`: {taken}"]

    @property
    def session(self) -> int | None:
        """The session (signed 64 bits) in which it was let in; None if in none."""
        return None if self._since is None else self._since.begun_in

    @property
    def inside(self) -> bool:
        """Whether the client believes that it is inside."""
        if self._since is None or self._made is None:
            return False
        told = attribute(self._made, ("inside",))
        return not self._since.lost if told is None else bool(told)

    def enter(self, timeout: float | None) -> bool:
        """Go in, and wait for the others; False when timed out.

        Raises:
            OutcomeUnknown: kazoo raised an error, or the object says that it does not take part.
        """
        self._forget()
        self.begin_asking()
        entered = self.waited(self.own.enter, lambda: call(self.own.enter, timeout=timeout))
        if entered and getattr(self.own, "participating", True) is False:
            raise OutcomeUnknown(f"{self.path}: it does not take part")
        if entered:
            self._since = Session(self.answering())
        return entered

    def leave(self, timeout: float | None) -> bool:
        """Go out, and wait for the others; False when timed out.

        Raises:
            NotInside: the client was not inside, or its session has ended.
            OutcomeUnknown: kazoo raised an error.
        """
        since = self._since
        if since is None:
            raise NotInside(f"{self.path}: not entered")
        lost = since.lost
        left = self.waited(self.own.leave, lambda: call(self.own.leave, timeout=timeout))
        lost = lost or since.lost
        self._forget()
        if lost:
            raise NotInside(f"{self.path}: the session has ended; others may have left already")
        return left

    def _forget(self) -> None:
        if self._since is not None:
            self._since.close()
        self._since = None
