"""Double barriers."""

from collections.abc import Mapping
from typing import Final

from recipes.double_barrier import DoubleBarrier
from recipes.faulty.double_barriers import (
    CountsReadyBarrier,
    ReadyStaysBarrier,
    SleepsThroughDoubleBarrier,
    WaitsForOneBarrier,
)
from recipes.kazoo_double_barrier import KazooDoubleBarrier

DOUBLE_BARRIERS: Final[Mapping[str, type[DoubleBarrier]]] = {
    "roll": DoubleBarrier,
    "kazoo": KazooDoubleBarrier,
    "ready-stays": ReadyStaysBarrier,
    "counts-ready": CountsReadyBarrier,
    "waits-for-one": WaitsForOneBarrier,
    "sleeps-through": SleepsThroughDoubleBarrier,
}
