"""Double barriers with one known mistake each, which the harness must find."""

from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier, NotInside, Roll, Stay


class ReadyStaysBarrier(DoubleBarrier):
    """Once open, it is never closed again."""

    def _is_in(self, stay: Stay, roll: Roll) -> bool:
        return roll.number > 0


class CountsReadyBarrier(DoubleBarrier):
    """It counts one too many."""

    def _have_come(self, waiting: int, roll: Roll) -> bool:
        return super()._have_come(waiting + (roll.number > 0), roll)


class WaitsForOneBarrier(DoubleBarrier):
    """It leaves with the first that it sees leave."""

    def _all_gone(self, there: list[str], roll: Roll, stay: Stay) -> bool:
        watched = min(roll.members - {stay.name}, default="")
        return watched not in there


class NeverInsideDoubleBarrier(DoubleBarrier):
    """Its members do not know that they are in."""

    @property
    def inside(self) -> bool:
        """Never."""
        return False


class InsideForGoodDoubleBarrier(DoubleBarrier):
    """Its members stay in, come what may."""

    @property
    def inside(self) -> bool:
        """From being let in to leaving."""
        return self._stay is not None and not self._stay.gone.is_set()


class HidesLossDoubleBarrier(DoubleBarrier):
    """It leaves as if nothing had happened."""

    def leave(self, timeout: float | None = None) -> bool:
        """Leave; True where the sound one raises NotInside."""
        try:
            return super().leave(timeout)
        except NotInside:
            return True
