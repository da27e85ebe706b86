"""Leader elections."""

from rumpus.recipes.election.contest_election import FairElection, UnfairElection

__all__ = ["FairElection", "UnfairElection"]
