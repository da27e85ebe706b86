"""Latches with one known mistake each, which the harness must find."""

import uuid

from rumpus.recipes.latch.tally_latch import Latch
from rumpus.recipes.mistake import given, made


class CountsAgainLatch(Latch):
    _tried = False

    def _mark(self) -> str:
        if self._tried:
            made()
        self._tried = True
        return uuid.uuid4().hex


class LastOneMissingLatch(Latch):
    def _is_open(self, counted: list[str], count: int) -> bool:
        return given(len(counted) >= count - 1, super()._is_open(counted, count))


class ExactLatch(Latch):
    def _is_open(self, counted: list[str], count: int) -> bool:
        return given(len(counted) == count, super()._is_open(counted, count))


class EphemeralLatch(Latch):
    _ephemeral = True

    def _mark(self) -> str:
        mark = super()._mark()
        made(f"{self._path}/{mark}")
        return mark
