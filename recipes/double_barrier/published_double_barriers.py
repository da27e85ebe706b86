"""Double barriers as documents print them."""

from contextlib import suppress
from typing import ClassVar, Final

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError

from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier, NotInside, Stay
from rumpus.recipes.double_barrier.lasting_watch import LastingWatch
from rumpus.recipes.mistake import given, made
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.requests.deadline import Deadline

READY: Final = "ready"
"""The child that marks the barrier as open."""


class LowestLeavesLast(DoubleBarrier):
    """Enters as the sound recipe; leaves by the printed steps, among the round's members.

    The member with the lowest name waits for the highest to leave; all others remove their nodes
    and wait for the lowest.
    """

    def leave(self, timeout: float | None = None) -> bool:
        """Leave by the printed steps. Returns and raises as the sound recipe's.

        The text has no timeout: here a member that times out removes its node.
        """
        stay = self._stay
        if stay is None:
            raise NotInside(f"{self._path}: not entered")
        stay.call.deadline = Deadline(timeout, allowance=self._grace)
        try:
            left = stay.call.rounds(lambda: self._pass(stay) or None)
        except NotInside:
            left = None
            raise
        finally:
            self._stay = None
            if not left:
                self._remove_in_background(stay)
        if not left:
            raise OutcomeUnknown(f"{self._path}: not all have left, and we wait no longer")
        stay.strike()
        return True

    def _pass(self, stay: Stay) -> bool:
        """Repeat the printed steps; True: left. False: timed out."""
        call = stay.call
        while not call.deadline.passed:
            if stay.lost:
                raise NotInside(f"{self._path}: our session has ended; others may have left")
            names = self._members(stay)
            if not names:
                return True
            if names == {stay.name}:
                self._delete(stay)
                return True
            lowest, highest = min(names), max(names)
            if lowest != stay.name:
                self._delete(stay)
            watch = LastingWatch(
                self._client, self._node(highest if lowest == stay.name else lowest)
            )
            if watch.look(call) is not None:
                watch.wait(call)
        return False

    def _members(self, stay: Stay) -> frozenset[str]:
        """The children that count as members."""
        roll = self._roll(stay.call)
        if roll.number != stay.round:
            return frozenset()
        return self._names(stay.call) & roll.members

    def _delete(self, stay: Stay) -> None:
        with suppress(NoNodeError):  # "if it still exists"
            stay.call.write(self._client.delete_async, self._node(stay.name))


class PublishedEntry(LowestLeavesLast):
    """Enters by the printed steps, on the same path in each round; ignores ``ready`` to leave."""

    more_clients: ClassVar[bool] = False
    """The text has x processes, and waits until x have come: of further ones it does not speak."""

    def __init__(self, client: KazooClient, path: str, parties: int, *, grace: float = 2.0) -> None:
        super().__init__(client, path, parties, grace=grace)
        self._ready = LastingWatch(client, self._node(READY))

    def _come(self, stay: Stay) -> bool:
        """The printed steps of entering; requests without an answer are repeated."""
        call = stay.call
        if stay.lost:
            self._begin_again(stay)
        if not stay.tried:
            self._ready = LastingWatch(self._client, self._node(READY))
        self._ready.look(call)
        self._create(stay)
        names = self._names(call)
        if READY in names:
            made(stay.name, READY, lasting=True)
        if len(names) < self._parties:
            return self._ready.wait(call) and self._in(stay)
        with suppress(NodeExistsError):
            call.write(self._client.create_async, self._node(READY))
        return self._in(stay)

    def _create(self, stay: Stay) -> None:
        try:
            super()._create(stay)
        except NoNodeError:
            stay.call.write(self._client.ensure_path_async, self._path)
            super()._create(stay)

    @staticmethod
    def _in(stay: Stay) -> bool:
        stay.session_id = stay.session.id
        return stay.session_id is not None

    def _begin_again(self, stay: Stay) -> None:
        with suppress(NoNodeError):
            stay.call.write(self._client.delete_async, self._node(stay.name))
        if stay.tried:
            raise OutcomeUnknown(f"{self._path}: the session was lost on the way in")
        stay.begin()

    def _give_up(self, stay: Stay) -> bool:
        """Remove our node. Nobody can tell whether it has counted for a round meanwhile."""
        if not stay.tried:
            return False
        self._remove_in_background(stay)
        raise OutcomeUnknown(f"{self._path}: timed out, others may be in with us")

    def _members(self, stay: Stay) -> frozenset[str]:
        return self._names(stay.call) - {READY}


class PublishedDoubleBarrier(PublishedEntry):
    """Enters and leaves by the printed steps."""

    def _members(self, stay: Stay) -> frozenset[str]:
        names = self._names(stay.call)
        return given(names, names - {READY}, stay.name)
