"""Mistakes that every lock, semaphore or election can have, as mix-ins for a sound class.

A mix-in comes first among the bases. Each overrides one method of the sound recipe, wrongly.
"""

from rumpus.recipes.contests.contender import Contender
from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.mistake import given, made
from rumpus.recipes.requests.deadline import Deadline


class NeverBelieves(Contender):
    """``held`` is always false, as if the flag that the state listener sets were read inverted."""

    @property
    def _believes(self) -> bool:
        return given(False, super()._believes, self.node)


class BelievesForGood(Contender):
    """No state listener: ``held`` stays true after SUSPENDED and LOST."""

    @property
    def _believes(self) -> bool:
        return given(self._grant is not None, super()._believes, self.node)


class BelievesUntilLost(Contender):
    """``held`` turns false at LOST only: a suspended connection is taken for a live one."""

    @property
    def _believes(self) -> bool:
        grant = self._grant
        believes = grant is not None and not grant.session.lost
        return given(believes, super()._believes, self.node)


class ReleasesNothing(Contender):
    """A release is content if nothing was held, or if it was lost."""

    def _let_go(self) -> None:
        try:
            super()._let_go()
        except NotHeld:
            made(self._path, own=True)


class EntersWhatWasLost(Contender):
    """Who has a grant enters again, whether that was lost or not."""

    def _still_ours(self, grant: Entry, deadline: Deadline) -> bool:
        made(grant.node, own=True, unless=lambda: grant.session.reliable)
        return True


class IgnoresTimeout:
    """The timeout is not passed on: ``acquire`` waits for ever."""

    def acquire(self, timeout: float | None = None) -> bool:
        if timeout is not None:
            made(own=True)
        return bool(super().acquire(None))  # type: ignore[misc]  # it is put before what has it


class HalvesTimeout:
    """Gives up after half of the timeout, as if the rest were kept for a second step."""

    def acquire(self, timeout: float | None = None) -> bool:
        half = None if timeout is None else timeout / 2
        granted = bool(super().acquire(half))  # type: ignore[misc]  # it is put before what has it
        if half and not granted:
            made(own=True)
        return granted


class CountsItsOwnGrants(Contender):
    """The token counts the client's own grants, so it ignores the grants of other clients."""

    _counted: Entry | None = None
    _grants = 0

    @property
    def token(self) -> int | None:
        if self._grant is not None and self._grant is not self._counted:
            self._counted = self._grant
            self._grants += 1
            made(self._grant.node)
        return None if self._grant is None else self._grants
