"""Mistakes that every lock, semaphore or election can have, as classes to put before a sound one.

Each takes one step of ``recipes.contests.contender`` and its kin and gets it wrong.
"""

from rumpus.recipes.contests.contender import Contender
from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.election.contest_election import ContestElection
from rumpus.recipes.lock.contest_lock import ContestLock


class NeverBelieves(Contender):
    """``held`` is always false: the flag that the listener sets is read the wrong way round."""

    @property
    def _believes(self) -> bool:
        return False


class BelievesForGood(Contender):
    """No listener: neither SUSPENDED nor LOST ends the belief."""

    @property
    def _believes(self) -> bool:
        return self._grant is not None


class IgnoresTimeout(ContestLock):
    """The timeout is not handed on."""

    def acquire(self, timeout: float | None = None) -> bool:
        return super().acquire(None)


class HalvesTimeout:
    """The timeout is handed on twice, and each half of the way takes half of it."""

    def acquire(self, timeout: float | None = None) -> bool:
        half = None if timeout is None else timeout / 2
        return bool(super().acquire(half))  # type: ignore[misc]  # it is put before what has it


class CampaignsForHalf(ContestElection):
    """As ``HalvesTimeout``."""

    def campaign(self, timeout: float | None = None) -> bool:
        return super().campaign(None if timeout is None else timeout / 2)


class CampaignsForEver(ContestElection):
    """The timeout is not handed on."""

    def campaign(self, timeout: float | None = None) -> bool:
        return super().campaign(None)


class WaitsForItself(ContestLock):
    """A thread that holds the lock and acquires again waits for its own release."""

    def acquire(self, timeout: float | None = None) -> bool:
        owner, self._owner = self._owner, None
        granted = False
        try:
            granted = super().acquire(timeout)
        finally:
            if not granted:
                self._owner = owner
        return granted


class RunsAgainstItself(ContestElection):
    """A leader that campaigns again joins the line behind its own node."""

    def campaign(self, timeout: float | None = None) -> bool:
        grant, self._grant = self._grant, None
        won = False
        try:
            won = super().campaign(timeout)
        finally:
            if not won:
                self._grant = grant
        return won


class CountsItsOwnGrants(Contender):
    """The token is the number of the client's own grants: it knows nothing of other clients'."""

    _counted: Entry | None = None
    _grants = 0

    @property
    def token(self) -> int | None:
        if self._grant is not None and self._grant is not self._counted:
            self._counted = self._grant
            self._grants += 1
        return None if self._grant is None else self._grants
