"""Jobs that are done once each."""

from rumpus.recipes.jobs.job_queue import ClaimLost, Jobs

__all__ = ["ClaimLost", "Jobs"]
