"""Leader elections."""

from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.election.contest_election import FairElection, UnfairElection

__all__ = ["FairElection", "NotHeld", "UnfairElection"]
