"""Double barriers with one known mistake each, which the harness must find."""

from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier, NotInside, Roll, Stay


class ReadyStaysBarrier(DoubleBarrier):
    def _is_in(self, stay: Stay, roll: Roll) -> bool:
        return roll.number > 0


class CountsReadyBarrier(DoubleBarrier):
    def _have_come(self, waiting: int, roll: Roll) -> bool:
        return super()._have_come(waiting + (roll.number > 0), roll)


class WaitsForOneBarrier(DoubleBarrier):
    def _all_gone(self, there: list[str], roll: Roll, stay: Stay) -> bool:
        watched = min(roll.members - {stay.name}, default="")
        return watched not in there


class NeverInsideDoubleBarrier(DoubleBarrier):
    @property
    def inside(self) -> bool:
        return False


class InsideForGoodDoubleBarrier(DoubleBarrier):
    @property
    def inside(self) -> bool:
        return self._stay is not None and not self._stay.gone.is_set()


class HidesLossDoubleBarrier(DoubleBarrier):
    def leave(self, timeout: float | None = None) -> bool:
        try:
            return super().leave(timeout)
        except NotInside:
            return True
