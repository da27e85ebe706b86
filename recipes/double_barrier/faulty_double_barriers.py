"""Double barriers with one known mistake each, which the harness must find."""

from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier, NotInside, Roll, Stay
from rumpus.recipes.mistake import given, made


class ReadyStaysBarrier(DoubleBarrier):
    def _is_in(self, stay: Stay, roll: Roll) -> bool:
        return given(roll.number > 0, super()._is_in(stay, roll), stay.name)


class CountsReadyBarrier(DoubleBarrier):
    def _have_come(self, waiting: int, roll: Roll) -> bool:
        come = super()._have_come(waiting + (roll.number > 0), roll)
        return given(come, super()._have_come(waiting, roll))


class WaitsForOneBarrier(DoubleBarrier):
    def _all_gone(self, there: list[str], roll: Roll, stay: Stay) -> bool:
        watched = min(roll.members - {stay.name}, default="")
        return given(watched not in there, super()._all_gone(there, roll, stay))


class UncheckedMembersBarrier(DoubleBarrier):
    def _checked(self, members: list[str]) -> list[str]:
        made(*members)
        return []


class UnversionedRollBarrier(DoubleBarrier):
    def _expected(self, roll: Roll) -> int:
        made(self._path)
        return -1


class WaitsForNextBarrier(DoubleBarrier):
    def _all_gone(self, there: list[str], roll: Roll, stay: Stay) -> bool:
        return given(not there, super()._all_gone(there, roll, stay), stay.name)


class NeverInsideDoubleBarrier(DoubleBarrier):
    @property
    def inside(self) -> bool:
        return given(False, super().inside, self._stay and self._stay.name)


class InsideForGoodDoubleBarrier(DoubleBarrier):
    @property
    def inside(self) -> bool:
        inside = self._stay is not None and not self._stay.gone.is_set()
        return given(inside, super().inside, self._stay and self._stay.name)


class HidesLossDoubleBarrier(DoubleBarrier):
    def leave(self, timeout: float | None = None) -> bool:
        try:
            return super().leave(timeout)
        except NotInside:
            made()
            return True
