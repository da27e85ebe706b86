"""Jobs that are each done once."""

from rumpus.recipes.jobs.job_queue import Jobs
from rumpus.recipes.outcomes import ClaimLost

__all__ = ["ClaimLost", "Jobs"]
