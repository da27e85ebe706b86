"""When a failure became likely: how many futures of each moment of a run show it."""

from collections.abc import Sequence
from typing import Final

import msgspec

LEAST_STEP: Final = 0.3
"""By how much the share of failing futures must rise for there to be a step."""


class Moment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Futures of one moment of a run.

    Attributes:
        at: when, in seconds of load.
        futures: how many runs went on from there, each with other random choices and without the
            faults that were still to come.
        failed: how many of them showed the failure.
    """

    at: float
    futures: int
    failed: int

    @property
    def share(self) -> float:
        """The share of futures that failed."""
        return self.failed / self.futures if self.futures else 0.0


class Likelihood(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The moments of a run, in order of time.

    Attributes:
        failure: what failed, in words.
        moments: at least one.
    """

    failure: str
    moments: tuple[Moment, ...]

    def step(self) -> tuple[float, float] | None:
        """Between which moments the failure became likely, in seconds of load.

        The step function that is nearest to the shares (least squares) has its step there. None if
        they do not rise: the failure was as likely at the beginning, or never became so.
        """
        moments = self.moments
        best: tuple[float, int] | None = None
        for place in range(1, len(moments)):
            before, after = moments[:place], moments[place:]
            if _mean(after) - _mean(before) < LEAST_STEP:
                continue
            error = _error(before) + _error(after)
            if best is None or error < best[0]:
                best = (error, place)
        if best is None:
            return None
        return moments[best[1] - 1].at, moments[best[1]].at


def _mean(moments: Sequence[Moment]) -> float:
    return sum(moment.share for moment in moments) / len(moments)


def _error(moments: Sequence[Moment]) -> float:
    mean = _mean(moments)
    return sum((moment.share - mean) ** 2 for moment in moments)
