"""Quantiles of measured durations."""

import math
from collections.abc import Sequence


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """The smallest value that at least ``share`` of the values do not exceed (nearest rank)."""
    if not ordered:
        return None
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]
