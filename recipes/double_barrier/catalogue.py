"""Double barriers."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier
from rumpus.recipes.double_barrier.faulty_double_barriers import (
    CountsReadyBarrier,
    HalvesTimeoutDoubleBarrier,
    HidesLossDoubleBarrier,
    IgnoresTimeoutDoubleBarrier,
    InsideForGoodDoubleBarrier,
    NeverInsideDoubleBarrier,
    ReadyStaysBarrier,
    SleepsThroughDoubleBarrier,
    WaitsForOneBarrier,
)
from rumpus.recipes.double_barrier.kazoo_double_barrier import KazooDoubleBarrier
from rumpus.recipes.double_barrier.published_double_barriers import (
    LowestLeavesLast,
    PublishedDoubleBarrier,
    PublishedEntry,
)

DOUBLE_BARRIERS: Final[Mapping[str, type[DoubleBarrier]]] = {
    "roll": DoubleBarrier,
    "lowest-last": LowestLeavesLast,
    "kazoo": KazooDoubleBarrier,
    "ready-stays": ReadyStaysBarrier,
    "counts-ready": CountsReadyBarrier,
    "waits-for-one": WaitsForOneBarrier,
    "sleeps-through": SleepsThroughDoubleBarrier,
    "ignores-timeout": IgnoresTimeoutDoubleBarrier,
    "halves-timeout": HalvesTimeoutDoubleBarrier,
    "never-inside": NeverInsideDoubleBarrier,
    "inside-for-good": InsideForGoodDoubleBarrier,
    "hides-loss": HidesLossDoubleBarrier,
    "published": PublishedDoubleBarrier,
    "published-entry": PublishedEntry,
}
