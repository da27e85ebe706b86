"""Leader election as documents print it."""

from typing import ClassVar

from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.election.contest_election import FairElection


class _WatchesSmallest(FairContest):
    def _watched(self, blocking: list[str]) -> list[str]:
        return blocking[:1]


class WatchesSmallestElection(FairElection):
    """By the pseudo-code: the smallest number below the own one is watched, not the next."""

    contest = _WatchesSmallest
    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "P Leader Election"
    mistake: ClassVar[str] = (
        "candidates watch the smallest of the lower nodes, which is the leader's, though the prose "
        "above the pseudo-code says the next lower one: every resignation wakes all of them"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"herd"})
