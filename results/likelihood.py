"""When a failure became likely: how many futures of each moment of a run show it."""

from typing import Annotated, Final

import msgspec

from rumpus.checker.bounds import LONGEST_S

LEAST_STEP: Final = 0.3
"""By how much the share of failing futures must rise for there to be a step."""

MOST_FUTURES: Final = 1_000_000
"""A bound for files that anybody has made."""


class Moment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Futures of one moment of a run.

    Attributes:
        at: when, in seconds of load.
        futures: how many runs went on from there, each with other random choices and without the
            faults that were still to come.
        failed: how many of them showed the failure.
    """

    at: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_S)]
    futures: Annotated[int, msgspec.Meta(ge=0, le=MOST_FUTURES)]
    failed: Annotated[int, msgspec.Meta(ge=0, le=MOST_FUTURES)]

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.failed > self.futures:
            raise ValueError(f"of {self.futures} futures {self.failed} failed")

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
        shares = [moment.share for moment in self.moments]
        before, after = _Shares(), _Shares()
        for share in shares:
            after.add(share, 1)
        best: tuple[float, int] | None = None
        for place, share in enumerate(shares[:-1], 1):
            before.add(share, 1)
            after.add(share, -1)
            if after.mean - before.mean < LEAST_STEP:
                continue
            error = before.error + after.error
            if best is None or error < best[0]:
                best = (error, place)
        if best is None:
            return None
        return self.moments[best[1] - 1].at, self.moments[best[1]].at


class _Shares:
    """Shares whose mean and squared distances from it are known, in one pass over a long list."""

    def __init__(self) -> None:
        self.count = 0
        self._sum = self._squares = 0.0

    def add(self, share: float, times: int) -> None:
        """Add a share, or take it away (-1)."""
        self.count += times
        self._sum += times * share
        self._squares += times * share**2

    @property
    def mean(self) -> float:
        return self._sum / self.count

    @property
    def error(self) -> float:
        return self._squares - self._sum**2 / self.count
