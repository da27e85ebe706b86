"""Converting servers' wall-clock milliseconds to a run's monotonic clock."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise, starmap

STEP_NS = 3_000_000
"""How many ns the two clocks may drift apart between neighbouring readings.

If they drift apart by more, the wall clock was set in between.
"""


_MOST_LATEST = 4096


class WallClock:
    """A piecewise linear map between two clocks, from readings taken side by side.

    Args:
        anchors: pairs (monotonic ns, wall ns) read at the same moment; at least one. Between
            two readings the map interpolates, so a wall clock that is slewed during the run
            does no harm; before the first and after the last it assumes that both clocks run
            at one rate. If the wall clock was set meanwhile, no time can be relied upon: see
            ``steady``.

    Raises:
        ValueError: there is no reading.
    """

    def __init__(self, anchors: Iterable[tuple[int, int]]) -> None:
        self._anchors = sorted(anchors, key=lambda anchor: anchor[1])
        if not self._anchors:
            raise ValueError("no reading of the clocks: cannot lay server times on the run's clock")
        self._latest: dict[int, int] = {}
        self._walls = [wall for _, wall in self._anchors]

    def monotonic(self, wall_ms: int) -> int:
        """The monotonic nanoseconds of a wall-clock time in milliseconds."""
        # A cache: the same time is often asked for twice, as one hold's end and the next's start.
        latest = self._latest
        time = latest.get(wall_ms)
        if time is None:
            if len(latest) >= _MOST_LATEST:
                latest.clear()
            time = latest[wall_ms] = self._monotonic(wall_ms)
        return time

    def _monotonic(self, wall_ms: int) -> int:
        wall = wall_ms * 1_000_000
        at = bisect_right(self._walls, wall)
        if at in (0, len(self._anchors)):
            mono0, wall0 = self._anchors[0 if at == 0 else -1]
            return mono0 + wall - wall0
        (mono0, wall0), (mono1, wall1) = self._anchors[at - 1], self._anchors[at]
        return mono0 + (wall - wall0) * (mono1 - mono0) // (wall1 - wall0)

    @property
    def steady(self) -> bool:
        """Whether the wall clock ran steadily between all readings.

        Else its time cannot be told from that of a server on another host, or of one that saw
        another step: before the step, after it, and by how much.
        """
        return not any(starmap(_jumped, pairwise(sorted(self._anchors))))


def _jumped(earlier: tuple[int, int], later: tuple[int, int]) -> bool:
    return abs((later[1] - earlier[1]) - (later[0] - earlier[0])) > STEP_NS
