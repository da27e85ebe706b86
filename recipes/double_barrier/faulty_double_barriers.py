"""Double barriers with one known mistake each, which the harness must find."""

from typing import ClassVar

from rumpus.recipes.contests.deaf_call import DeafCall
from rumpus.recipes.contests.endless_call import EndlessCall
from rumpus.recipes.contests.hasty_call import HastyCall
from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier, NotInside, Roll, Stay


class ReadyStaysBarrier(DoubleBarrier):
    """Once open, it is never closed again."""

    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 3.2"
    mistake: ClassVar[str] = (
        "what says that the barrier is open is never taken away, as in the published recipe, whose "
        "node 'ready' nobody removes: from the second round on everybody walks in"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"early-entry"})

    def _is_in(self, stay: Stay, roll: Roll) -> bool:  # noqa: ARG002 - the recipe's signature
        return roll.number > 0


class CountsReadyBarrier(DoubleBarrier):
    """It counts one too many."""

    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 3.2"
    mistake: ClassVar[str] = (
        "counts the node that says that the barrier is open among the members, once there is one"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"early-entry"})

    def _have_come(self, waiting: int, roll: Roll) -> bool:
        return super()._have_come(waiting + (roll.number > 0), roll)


class WaitsForOneBarrier(DoubleBarrier):
    """It leaves with the first that it sees leave."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "watches one of the others when it leaves, and when that one has gone leaves too, without "
        "looking whether there are more: it may have died"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"early-exit"})

    def _all_gone(self, there: list[str], roll: Roll, stay: Stay) -> bool:
        watched = min(roll.members - {stay.name}, default="")
        return watched not in there


class SleepsThroughDoubleBarrier(DoubleBarrier):
    """It waits for notifications only."""

    call = DeafCall
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "waits for the notification of its watch, and does not look again after a reconnect: a "
        "watch that was lost with its connection never tells"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter"})


class IgnoresTimeoutDoubleBarrier(DoubleBarrier):
    """Its waiters do not give up."""

    call = EndlessCall
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "enter and leave take a timeout and wait for ever"
    expected: ClassVar[frozenset[str]] = frozenset({"overdue-call"})


class NeverInsideDoubleBarrier(DoubleBarrier):
    """Its members do not know that they are in."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "says of every member that it is not inside, from the beginning"
    expected: ClassVar[frozenset[str]] = frozenset({"unbelieving-holder"})

    @property
    def inside(self) -> bool:
        """Never."""
        return False


class InsideForGoodDoubleBarrier(DoubleBarrier):
    """Its members stay in, come what may."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "says that it is inside until it leaves, whatever became of its session"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"unaware-holder"})

    @property
    def inside(self) -> bool:
        """From being let in to leaving."""
        return self._stay is not None and not self._stay.gone.is_set()


class HidesLossDoubleBarrier(DoubleBarrier):
    """It leaves as if nothing had happened."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "leave answers yes too when the session had ended inside, and the others went on without it"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"false-exit"})

    def leave(self, timeout: float | None = None) -> bool:
        """Leave; True where the sound one raises NotInside."""
        try:
            return super().leave(timeout)
        except NotInside:
            return True


class HalvesTimeoutDoubleBarrier(DoubleBarrier):
    """Its waiters give up too early."""

    call = HastyCall
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "enter gives up after half of its timeout"
    expected: ClassVar[frozenset[str]] = frozenset({"early-timeout"})
