"""Latches with one known mistake each, which the harness must find."""

import uuid

from rumpus.recipes.latch.tally_latch import Latch


class CountsAgainLatch(Latch):
    def _mark(self) -> str:
        return uuid.uuid4().hex


class LastOneMissingLatch(Latch):
    def _is_open(self, counted: list[str], count: int) -> bool:
        return len(counted) >= count - 1


class ExactLatch(Latch):
    def _is_open(self, counted: list[str], count: int) -> bool:
        return len(counted) == count
