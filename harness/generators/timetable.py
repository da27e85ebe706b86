"""Actions at fixed times, of which those that are still to come can be exchanged."""

from collections.abc import Sequence

import msgspec

from rumpus.harness.generators.generator import Answer, Context, Generator, Invocation, Pending


class Timetable:
    """Actions in order of time, one after the other.

    Other generators are values. What this one gives depends on ``replace``, which a run calls
    where it branches: there it goes on with other faults than it began with.

    Args:
        actions: what to do, each with its ``time``.
    """

    def __init__(self, actions: Sequence[Invocation]) -> None:
        self.actions = tuple(actions)
        self.given = 0
        """How many were given out."""

    def generator(self) -> Generator:
        """The generator of all actions."""
        return _Rest(self, 0)

    def replace(self, actions: Sequence[Invocation]) -> int | None:
        """Exchange the actions that are to come.

        Args:
            actions: all actions, those that were given out included.

        Returns:
            When the first one that is to come is due, in nanoseconds since the start of the run;
            None if there is none.

        Raises:
            ValueError: they differ in those that were given out.
        """
        past, other = self.actions[: self.given], tuple(actions[: self.given])
        if past != other:
            raise ValueError(f"actions that were given out differ: {past} and {other}")
        self.actions = tuple(actions)
        return actions[self.given].time if len(actions) > self.given else None


class _Rest(msgspec.Struct, frozen=True):
    """The actions from a position on."""

    timetable: Timetable
    position: int

    def op(self, ctx: Context) -> Answer:
        actions = self.timetable.actions
        if self.position >= len(actions):
            return None
        answer = actions[self.position].op(ctx)
        if answer is None:
            return None
        operation, _ = answer
        if isinstance(operation, Pending):
            return operation, self
        self.timetable.given = self.position + 1
        return operation, _Rest(self.timetable, self.position + 1)

    def update(self, ctx: Context, event: object) -> Generator:  # noqa: ARG002 - the protocol's
        return self
