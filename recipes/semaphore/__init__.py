"""A semaphore."""

from rumpus.recipes.semaphore.contest_semaphore import Semaphore

__all__ = ["Semaphore"]
